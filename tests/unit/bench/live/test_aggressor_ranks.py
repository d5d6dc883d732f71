"""Aggressors of a launch on machines: their nodes, ranks and service levels."""

import pytest

from weft.bench.live.aggressor_ranks import with_aggressors
from weft.bench.model import Trial
from weft.core.errors import InputError

NODES = tuple(f"n{at}" for at in range(1, 9))


def trial(*aggressors: str, **env: str) -> Trial:
    options = {"aggressors": list(aggressors)}
    return Trial("t000-allreduce", "allreduce", (8,), NODES[:2], 1, env=env, options=options)


def test_their_ranks_follow_those_of_the_job_on_the_nodes_that_they_name() -> None:
    launched = with_aggressors(trial("fan_in:64K@n[7-8],n5", "alltoall@2,sl=3"), NODES)
    assert launched.nodes[:5] == ("n1", "n2", "n5", "n7", "n8")
    assert set(launched.nodes[5:]) < {"n3", "n4", "n6"}
    assert launched.options["aggressors"] == [("fan_in", 65536, 3), ("alltoall", 4096, 2, 3)]


def test_the_level_of_the_job_is_not_that_of_its_aggressors() -> None:
    both = trial("fan_in@2", "alltoall@2,sl=3", UCX_IB_SL="1")
    launched = with_aggressors(both, NODES)
    assert launched.options["aggressors"] == [("fan_in", 4096, 2, 0), ("alltoall", 4096, 2, 3)]


@pytest.mark.parametrize(
    ("aggressor", "says"),
    [
        ("alltoall@2,pkey=0x21", "has pkey, which a twin alone has"),
        ("alltoall@2,law=rtt", "has law, which a twin alone has"),
        ("alltoall@2,routing=static", "has routing, which a twin alone has"),
        ("alltoall@2,start=1ms", "has start, which a twin alone has"),
        ("alltoall@n[2-3]", "node 'n2' has the job"),
        ("alltoall@n[8-9]", "no node 'n9'"),
    ],
)
def test_what_no_launch_can_do_is_refused(aggressor: str, says: str) -> None:
    with pytest.raises(InputError) as refused:
        with_aggressors(trial(aggressor), NODES)
    assert says in refused.value.describe()


def test_two_aggressors_on_a_node_are_refused() -> None:
    with pytest.raises(InputError, match="node 'n5' has aggressor 'fan_in@n"):
        with_aggressors(trial("fan_in@n[4-5]", "alltoall@n[5-6]"), NODES)


def test_on_one_host_there_are_no_nodes_to_name() -> None:
    with pytest.raises(InputError, match="names nodes: there is one"):
        with_aggressors(trial("alltoall@n[1-2]"), NODES[:1])
