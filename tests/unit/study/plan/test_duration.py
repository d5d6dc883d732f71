"""The work of a launch is counted before it is simulated."""

import json
from typing import Any

import pytest

from weft.bench.model import Launch, Trial
from weft.bench.twin.backend import TwinBackend
from weft.catalog.load import platform
from weft.study.plan.duration import (
    EVENTS_A_HOP,
    EVENTS_A_MOVE,
    Durations,
    durations,
    simulation_seconds,
)
from weft.topology.engine import engine_module


@pytest.fixture(scope="module")
def twin() -> TwinBackend:
    return TwinBackend(platform("frontera"), 128)


def trial(twin: TwinBackend, name: str, n_nodes: int, size: int, **more: Any) -> Trial:
    tasks = more.pop("tasks", 1)
    return Trial(f"t-{name}-{n_nodes}-{tasks}", name, (size,), twin.nodes[:n_nodes], tasks, **more)


@pytest.mark.parametrize(
    ("name", "n_nodes", "tasks", "size"),
    [
        ("latency", 2, 1, 1 << 20),
        ("alltoall", 64, 1, 4096),
        ("allgather", 64, 1, 65536),
        ("allreduce", 64, 1, 8),
        ("barrier", 128, 4, 0),
    ],
)
def test_packet_hops_are_those_of_the_simulation(
    twin: TwinBackend, name: str, n_nodes: int, tasks: int, size: int
) -> None:
    text = json.dumps(
        twin.scenario(Launch(trial(twin, name, n_nodes, size, tasks=tasks), repeat=0, order=0))
    )
    ((hops, moves),) = engine_module().count_work([text])
    assert hops == pytest.approx(engine_module().simulate(text)["hops"], rel=0.05)
    assert moves >= n_nodes * tasks


@pytest.mark.parametrize(
    ("name", "n_nodes", "tasks", "size", "options"),
    [
        ("latency", 2, 1, 1 << 20, {}),
        ("alltoall", 64, 1, 4096, {}),
        ("alltoall", 64, 1, 32768, {"adaptive_routing": "on"}),
        ("allreduce", 64, 56, 8, {}),
        ("allreduce", 64, 8, 4096, {"in_network": "platform"}),
        ("barrier", 128, 14, 0, {"in_network": "platform"}),
        ("random_ring_bandwidth", 64, 1, 1 << 20, {}),
    ],
)
def test_events_are_those_of_the_simulation_within_a_factor_of_two(
    twin: TwinBackend, name: str, n_nodes: int, tasks: int, size: int, options: dict[str, Any]
) -> None:
    one = trial(twin, name, n_nodes, size, tasks=tasks, options=options)
    ((hops, moves),) = engine_module().count_work([json.dumps(twin.scenario(Launch(one, 0, 0)))])
    outcome = engine_module().simulate(json.dumps(twin.scenario(Launch(one, 0, 0))))
    assert 0.5 < (EVENTS_A_HOP * hops + EVENTS_A_MOVE * moves) / outcome["events"] < 2


def test_ranks_that_are_first_on_their_node_are_not_taken_for_all(twin: TwinBackend) -> None:
    """Leaders of 56 ranks make many more moves than the others."""
    text = json.dumps(
        twin.scenario(Launch(trial(twin, "allreduce", 64, 8, tasks=56), repeat=0, order=0))
    )
    ((hops, _),) = engine_module().count_work([text])
    assert 0.5 < hops / engine_module().simulate(text)["hops"] < 2


def test_a_cell_that_was_not_counted_takes_as_long_as_its_nearest(twin: TwinBackend) -> None:
    small, large = (trial(twin, "barrier", n, 0) for n in (8, 32))
    found = durations(twin, [small])
    assert found.of(large) == pytest.approx(4 * found.of(small))


def test_launches_together_take_all_cores_but_no_less_than_the_longest(twin: TwinBackend) -> None:
    counted = durations(twin, [trial(twin, "barrier", 8, 0)])
    events = counted.cells[0].n_events
    found = Durations(counted.cells, 0.5, 0.0, ((events, 1 / events),))  # One second each.
    launches = [Launch(trial(twin, "barrier", 8, 0), n, n) for n in range(8)]
    assert simulation_seconds(found, launches, 4) == pytest.approx(8 / 4 + 8 * 0.5)
    assert simulation_seconds(found, launches[:1], 4) == pytest.approx(1 + 0.5)


def test_a_slow_first_pilot_does_not_make_every_event_slow(
    twin: TwinBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A busy moment while the smallest cell is timed says nothing about an event."""
    times = {"barrier": 0.2, "alltoall": 0.25}

    def pilot(cell: Any) -> tuple[float, float]:
        return times[cell.trial.benchmark], cell.n_events

    monkeypatch.setattr("weft.study.plan.duration._pilot", pilot)
    trials = [trial(twin, "barrier", 2, 0), trial(twin, "alltoall", 64, 4096)]
    found = durations(twin, trials)
    assert found is not None
    assert found.of(trials[1]) == pytest.approx(0.25)


def test_each_benchmark_is_counted_however_long_that_takes(
    twin: TwinBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else one would be scaled from another: by sizes that mean something else there."""
    monkeypatch.setattr("weft.study.plan.duration.COUNTING_SECONDS", 0.0)
    trials = [
        *(trial(twin, "barrier", n, 0) for n in (64, 32, 16)),
        *(trial(twin, "allreduce", n, 1 << 20) for n in (8, 4)),
    ]
    found = durations(twin, trials)
    assert found is not None
    assert {cell.trial.id for cell in found.cells} == {trials[0].id, trials[3].id}
