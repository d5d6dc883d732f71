"""Collectives node by node: what the engine is told, and that its times are the expected ones."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from weft.bench.model import Launch, Trial
from weft.bench.twin.backend import TwinBackend
from weft.bench.twin.scenario import work
from weft.catalog.load import benchmark, platform
from weft.core.errors import InputError
from weft.expect.model import Conditions
from weft.expect.prediction import predict

FRONTERA = platform("frontera")


def trial(name: str, tasks: int, *sizes: int, **options: Any) -> Trial:
    nodes = tuple(f"n{number:03}" for number in range(1, 65))
    return Trial("t", name, sizes, nodes, tasks, options={"iterations": 1, "warmup": 0, **options})


def step(trial_: Trial) -> Mapping[str, Any]:
    (found,) = work(FRONTERA, benchmark(trial_.benchmark), trial_)
    keys = ("algorithm", "between", "tasks_per_node", "window")
    return {key: found[key] for key in keys if key in found}


def test_the_platforms_library_decides_by_tasks_a_node() -> None:
    assert step(trial("allreduce", 56, 8)) == {
        "algorithm": "two_level",
        "between": "recursive_doubling",
    }
    assert step(trial("allreduce", 1, 8)) == {"algorithm": "recursive_doubling"}
    assert step(trial("allreduce", 56, 1 << 20)) == {"algorithm": "rabenseifner"}


def test_a_row_of_the_platform_may_hold_from_so_many_tasks_on() -> None:
    row = FRONTERA.mpi.algorithms[0].model_copy(
        update={"algorithm": "two_level", "leaders": 2, "tasks_per_node": 4}
    )
    mpi = FRONTERA.mpi.model_copy(update={"choice": "", "algorithms": (row,)})
    own = FRONTERA.model_copy(update={"mpi": mpi})
    assert row.benchmark == "barrier"
    found = [work(own, benchmark("barrier"), trial("barrier", n, 0))[0] for n in (2, 4)]
    assert "algorithm" not in found[0]
    assert (found[1]["algorithm"], found[1]["tasks_per_node"]) == ("two_level", 2)


def test_a_trial_may_ask_for_several_leaders_of_a_node() -> None:
    asked = {"algorithm": "two_level", "between": "ring", "leaders": 4}
    assert step(trial("allreduce", 56, 8, **asked)) == {
        "algorithm": "two_level",
        "between": "ring",
        "tasks_per_node": 14,
    }
    with pytest.raises(InputError, match="5 leaders of 56 tasks a node"):
        step(trial("allreduce", 56, 8, algorithm="two_level", leaders=5))
    with pytest.raises(InputError, match="option 'leaders' is 0"):
        step(trial("allreduce", 56, 8, algorithm="two_level", leaders=0))


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("barrier", (0,)),
        ("allreduce", (8, 64, 512, 1024, 2048, 4096)),
        ("broadcast", (8, 64, 512, 4096)),
        ("reduce", (8, 64, 512, 4096)),
    ],
)
def test_an_idle_twin_of_64_nodes_of_56_tasks_takes_the_expected_time(
    name: str, sizes: tuple[int, ...]
) -> None:
    """Within a fifth: the twin counts nothing for adding up, and neighbours on a leaf are near."""
    twin = TwinBackend(FRONTERA, 64)
    asked = replace(trial(name, 56, *sizes), nodes=twin.nodes)
    for sample in twin.measure(Launch(asked, 0, 0)):
        expected = predict(FRONTERA, Conditions(name, sample.size_bytes, 64, 56))
        assert sample.metrics["latency_us_p50"] == pytest.approx(expected.value, rel=0.2)


def test_several_leaders_save_steps_in_the_node_and_share_its_adapter() -> None:
    """Eight leaders of eight tasks: in a ring one of them sends over the adapter at a time, in
    recursive doubling all do."""
    twin = TwinBackend(FRONTERA, 8)

    def us(between: str, n_leaders: int) -> float:
        options = {"algorithm": "two_level", "between": between, "leaders": n_leaders}
        asked = replace(trial("allreduce", 8, 1 << 20, **options), nodes=twin.nodes)
        (sample,) = twin.measure(Launch(asked, 0, 0))
        return sample.metrics["latency_us_p50"]

    assert us("ring", 8) < us("ring", 1)
    assert us("recursive_doubling", 8) > us("recursive_doubling", 1)


def test_messages_inside_a_node_cost_their_share_of_the_overhead() -> None:
    """Frontera's share is a half; without a share both ranks take all of it, and its bytes."""
    host = FRONTERA.host
    assert host is not None
    assert host.intra_node.overhead_share is not None
    share, channel = host.intra_node.overhead_share.value, host.intra_node
    regime = host.regime(4096)
    whole = channel.model_copy(update={"overhead_share": None})
    other = FRONTERA.model_copy(update={"host": host.model_copy(update={"intra_node": whole})})
    copied_us = channel.latency.value / 1e3 + 4096 * 8 / channel.rate.value / 1e3
    overheads_us = {
        "share": share * (regime.send_overhead_ns + regime.recv_overhead_ns) / 1e3,
        "whole": sum(regime.overheads_ns(4096)) / 1e3,
    }
    for name, one in (("share", FRONTERA), ("whole", other)):
        twin = TwinBackend(one, 2)
        asked = replace(trial("latency", 2, 4096), nodes=twin.nodes[:1])
        (sample,) = twin.measure(Launch(asked, 0, 0))
        wanted = overheads_us[name] + copied_us
        assert sample.metrics["latency_us_p50"] == pytest.approx(wanted, rel=1e-3)
