"""Rounds of pairs on the twin."""

import json
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest

from weft.bench.model import Launch, Sample, Trial
from weft.bench.twin import backend as twin_module
from weft.bench.twin import independent_rounds as rounds_apart
from weft.bench.twin.backend import TwinBackend
from weft.bench.twin.fault import parse_fault
from weft.catalog.load import platform
from weft.core.errors import InputError

try:
    from weft import _engine as engine
except ImportError:
    engine = None

needs_engine = pytest.mark.skipif(engine is None, reason="weft._engine is not built (make setup)")

FAT_TREE = platform("fat-tree")


def pairs_of(nodes: tuple[str, ...], sizes: tuple[int, int], **options: Any) -> Trial:
    return Trial("t-pairs", "pairs", sizes, nodes, 1, options=options)


def measure(twin: TwinBackend, asked: Trial) -> list[Sample]:
    return list(twin.measure(Launch(asked, repeat=0, order=0)))


@needs_engine
def test_a_slow_cable_lowers_only_the_pairs_that_cross_it() -> None:
    fault = parse_fault("n003/hca0[1] rate=0.25")
    twin = TwinBackend(FAT_TREE, 8, faults=[fault])
    samples = measure(twin, pairs_of(twin.nodes, (8, 1 << 20), window=4))
    bandwidths = {s.pair: s.metrics["bandwidth_mb_s"] for s in samples if s.size_bytes > 8}
    best = max(bandwidths.values())
    for pair, bandwidth in bandwidths.items():
        assert pair is not None
        if "n003" in (pair.a, pair.b):
            assert bandwidth < 0.3 * best
        else:
            assert bandwidth > 0.9 * best


@needs_engine
def test_all_pairs_of_sixteen_nodes_are_measured_once() -> None:
    twin = TwinBackend(FAT_TREE, 16)
    samples = measure(twin, pairs_of(twin.nodes, (8, 65536), window=4))
    for size in (8, 65536):
        pairs = [
            frozenset((s.pair.a, s.pair.b)) for s in samples if s.pair and s.size_bytes == size
        ]
        assert len(pairs) == len(set(pairs)) == 16 * 15 // 2


@needs_engine
def test_a_pair_that_sends_in_both_directions_carries_twice_what_it_carries_in_one_direction() -> (
    None
):
    twin = TwinBackend(FAT_TREE, 4)
    asked = pairs_of(twin.nodes, (8, 1 << 20), phases=["bandwidth", "bidirectional"])
    samples = measure(twin, asked)
    assert len(samples) == 4 * 3 // 2
    for sample in samples:
        ratio = sample.metrics["bidirectional_mb_s"] / sample.metrics["bandwidth_mb_s"]
        assert ratio == pytest.approx(2, rel=0.02)


@needs_engine
def test_a_round_gives_each_of_its_pairs_its_own_times() -> None:
    """Three rails a node: one pair of each round has a slow node, in another place each time."""
    twin = TwinBackend(FAT_TREE, 8, faults=[parse_fault("n003 slow=5")])
    rounds = [[[6, 9], [0, 3]], [[0, 3], [6, 9], [12, 15]], [[12, 15]]]
    asked = replace(pairs_of(twin.nodes, (8, 65536), rounds=rounds, iterations=2), tasks_per_node=3)
    for size, metric in ((8, "latency_us"), (65536, "bandwidth_mb_s")):
        found = [s for s in measure(twin, asked) if s.size_bytes == size]
        rounds_found = [(s.pair.round, s.pair.a, s.pair.n_concurrent) for s in found if s.pair]
        assert rounds_found == [
            (0, "n003:6", 2),
            (0, "n001:0", 2),
            (1, "n001:0", 3),
            (1, "n003:6", 3),
            (1, "n005:12", 3),
            (2, "n005:12", 1),
        ]
        slow = {s.metrics[metric] for s in found if s.pair and s.pair.a == "n003:6"}
        fast = {s.metrics[metric] for s in found if s.pair and s.pair.a != "n003:6"}
        assert len(slow) == len(fast) == 1
        ratio = min(slow) / min(fast)
        assert ratio > 1.2 if metric == "latency_us" else ratio < 0.9


@needs_engine
@pytest.mark.parametrize("platform_name", ["frontera", "azure-ndv4"])
def test_what_is_not_left_to_chance_takes_the_same_time_in_every_iteration(
    platform_name: str,
) -> None:
    """Why one iteration of pairs is enough there: all ranks in random pairs, colliding."""
    assert engine is not None
    twin = TwinBackend(platform(platform_name), 48, faults=[parse_fault("n005 slow=3")])
    ranks = list(range(48))
    Random(4).shuffle(ranks)
    asked = pairs_of(twin.nodes, (8, 65536), rounds=[np.reshape(ranks, (-1, 2)).tolist()])
    document = twin.scenario(Launch(asked, 0, 0))
    for step in document["work"]:
        step.update(iterations=4, warmup=0)
    rows = engine.simulate(json.dumps(document))
    by_iteration = rows["duration_ps"].reshape(3, 4, 24)
    assert (by_iteration == by_iteration[:, :1, :]).all()


@needs_engine
def test_the_recipe_of_thousands_of_pairs_has_a_line_a_step() -> None:
    twin = TwinBackend(FAT_TREE, 16)
    launch = Launch(pairs_of(twin.nodes, (8, 4096)), 0, 0)
    recipe = twin.recipe(launch)
    assert json.loads(recipe) == twin.scenario(launch)
    steps = [line for line in recipe.splitlines() if '"rounds"' in line]
    assert len(steps) == 3
    assert len(recipe.splitlines()) < 150


@needs_engine
@pytest.mark.parametrize("platform_name", ["frontera", "azure-ndv4"])
def test_rounds_apart_take_the_time_they_take_one_after_the_other(platform_name: str) -> None:
    assert engine is not None
    twin = TwinBackend(platform(platform_name), 64, faults=[parse_fault("n005 slow=3")])
    ranks = list(range(64))
    rounds = []
    for seed in range(9):
        Random(seed).shuffle(ranks)
        rounds.append(np.reshape(ranks[: 64 - 2 * seed], (-1, 2)).tolist())
    phases = ["latency", "bandwidth", "bidirectional"]
    asked = pairs_of(twin.nodes, (8, 65536), rounds=rounds, phases=phases)
    document = twin.scenario(Launch(asked, 0, 0))
    parts = [rounds_apart._only(document, first, first + 3) for first in (0, 3, 6)]
    together = rounds_apart.joined([document], [engine.simulate(json.dumps(document))])
    one_by_one = [engine.simulate(json.dumps(part)) for part in parts]
    found = [_by_place(together), _by_place(rounds_apart.joined(parts, one_by_one))]
    assert len(found[0]) == 4 * sum(map(len, rounds))
    assert found[0] == found[1]


def _by_place(columns: dict[str, Any]) -> dict[tuple[int, int, int], int]:
    place = zip(*(columns[name].tolist() for name in ("step", "round", "pair")), strict=True)
    return dict(zip(place, columns["duration_ps"].tolist(), strict=True))


@pytest.mark.parametrize(
    ("n_rounds", "n_pairs", "n_cores", "lengths"),
    [
        (8, 1880, 2, [2, 2, 2, 2]),
        (8, 1880, 16, [1] * 8),
        (7, 1880, 2, [1, 2, 2, 2]),
        (8, 1880, 1, [8]),
        (1, 1880, 8, [1]),
        (8, 30, 8, [8]),
        (100, 30, 8, [9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 10]),
    ],
)
def test_rounds_are_dealt_to_cores_in_order(
    n_rounds: int, n_pairs: int, n_cores: int, lengths: list[int]
) -> None:
    rounds = [[[2 * i, 2 * i + 1] for i in range(n_pairs)] for _ in range(n_rounds)]
    for number, pairs in enumerate(rounds):
        pairs[0] = [number, 10_000]
    whole = {"seed": 1, "work": [{"kind": "latency", "rounds": rounds}]}
    parts = rounds_apart.apart(whole, n_cores)
    assert [len(part["work"][0]["rounds"]) for part in parts] == lengths
    assert [pairs for part in parts for pairs in part["work"][0]["rounds"]] == rounds


@needs_engine
def test_many_rounds_are_measured_as_few_are_and_refused_by_their_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    twin = TwinBackend(FAT_TREE, 32)
    whole = measure(twin, pairs_of(twin.nodes, (8, 4096)))
    monkeypatch.setattr(rounds_apart, "FEWEST_PAIRS", 32)
    monkeypatch.setattr(rounds_apart.os, "sched_getaffinity", lambda _: {0, 1})
    calls: list[int] = []
    simulate_parts = twin_module.simulate_parts

    def counted(document: Any, parts: Any) -> Any:
        calls.append(len(parts))
        return simulate_parts(document, parts)

    monkeypatch.setattr(twin_module, "simulate_parts", counted)
    assert measure(twin, pairs_of(twin.nodes, (8, 4096))) == whole
    assert calls == [4]
    rounds = [[[i, i + 16] for i in range(16)] for _ in range(8)]
    rounds[6] = [[0, 99]]
    with pytest.raises(InputError, match=r"there is no rank 99") as refused:
        measure(twin, pairs_of(twin.nodes, (8, 4096), rounds=rounds))
    assert refused.value.where == "work[0].rounds[6]"
