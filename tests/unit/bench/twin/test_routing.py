"""How a twin routes: as its platform says, unless a trial asks for something else."""

import pytest

from weft.bench.model import Trial
from weft.bench.twin.routing import routes_adaptively, routing
from weft.catalog.load import platform
from weft.core.errors import InputError

GROUPS = {"routing": {"engine": "dragonfly"}}


def trial(**options: str) -> Trial:
    return Trial("t", "alltoall", (8,), ("n1", "n2"), 1, options=options)


def test_a_dragonfly_takes_detours_by_load_unless_a_trial_says_no() -> None:
    machine = platform("alps-a100")
    adaptive = {"grade_bytes": 8192, "non_minimal": "ugal"}
    assert routes_adaptively(machine, trial())
    assert routing(machine, GROUPS, trial()) == {"adaptive": adaptive}
    assert routing(machine, GROUPS, trial(adaptive_routing="off")) == {}


def test_flows_and_written_tables_have_no_detours() -> None:
    machine = platform("alps-a100")
    least = {"adaptive": {"grade_bytes": 8192}}
    assert routing(machine, GROUPS, trial(), "flow") == least
    assert routing(machine, {"lfts": {}}, trial()) == least
    assert routing(machine, GROUPS, trial(routing="minhop")) == {"engine": "minhop", **least}


def test_a_tree_routes_statically_unless_a_trial_asks() -> None:
    machine = platform("fat-tree")
    assert not routes_adaptively(machine, trial())
    assert routing(machine, {}, trial()) == {"engine": "dmodk"}
    assert "adaptive" in routing(machine, {}, trial(adaptive_routing="on"))
    with pytest.raises(InputError, match="option 'adaptive_routing' is 'maybe'"):
        routes_adaptively(machine, trial(adaptive_routing="maybe"))
