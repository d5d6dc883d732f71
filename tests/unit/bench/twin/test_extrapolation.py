"""A twin that simulates in part what repeats itself: what its samples say of it."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from weft.bench.model import Launch, Sample, Trial
from weft.bench.twin.backend import TwinBackend
from weft.bench.twin.fault import parse_fault
from weft.bench.twin.port_counters import COUNTERS_FILE
from weft.catalog.load import platform
from weft.core.errors import MissingError

FAT_TREE = platform("fat-tree")
TOLERANCE = 0.01


@pytest.fixture(autouse=True, scope="module")
def engine() -> None:
    try:
        TwinBackend(FAT_TREE, 2)
    except MissingError as error:
        pytest.skip(str(error))


def samples(twin: TwinBackend, name: str, *sizes: int, **options: Any) -> list[Sample]:
    trial = Trial(
        id=f"t-{name}",
        benchmark=name,
        sizes_bytes=sizes,
        nodes=twin.nodes,
        tasks_per_node=1,
        options=options,
    )
    return list(twin.measure(Launch(trial=trial, repeat=0, order=0)))


def twin(n_nodes: int = 8, extrapolate: float | None = TOLERANCE, **more: Any) -> TwinBackend:
    return TwinBackend(FAT_TREE, n_nodes, extrapolate=extrapolate, **more)


@pytest.mark.parametrize("algorithm", ["ring", "recursive_doubling", "double_binary_tree"])
def test_a_part_says_the_whole_within_its_estimated_error(algorithm: str) -> None:
    size = 256 << 20
    (part,) = samples(twin(), "allreduce", size, algorithm=algorithm)
    (whole,) = samples(twin(extrapolate=None), "allreduce", size, algorithm=algorithm)
    assert part.flags == ("extrapolated",)
    assert part.times_ns is not None
    assert whole.times_ns is not None
    assert len(part.times_ns) == len(whole.times_ns)
    error = abs(part.times_ns[0] / whole.times_ns[0] - 1)
    # Times are whole nanoseconds of tens of milliseconds.
    assert error <= part.evidence["estimated_error"] + 1e-6
    assert part.evidence["simulated_share"] < 0.5
    assert whole.flags == ()
    assert "simulated_share" not in whole.evidence


def test_each_size_says_for_itself_what_was_simulated() -> None:
    small, large = samples(twin(), "allreduce", 4096, 1 << 30, algorithm="ring")
    assert small.flags == ()
    assert small.evidence["simulated_whole"] == "it is too short for anything to repeat itself"
    assert large.flags == ("extrapolated",)
    assert "simulated_whole" not in large.evidence
    whole, part = sorted(large.evidence["notes"])[::-1]
    assert part.startswith("steady state: 1 of 2 phases are extrapolated, from up to ")
    assert whole.startswith("steady state: 1 of 2 phases are simulated whole: it is too short")


def test_rings_of_one_size_are_one_sample() -> None:
    several = samples(twin(), "random_ring_bandwidth", 1 << 22, 1 << 26, rings=2, iterations=2)
    assert len(several) == 2
    assert all("estimated_error" in sample.evidence for sample in several)


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        ("n003 noise=0.1,500", "chance lengthens what processors do"),
        ("leaf-01[3] corrected=0.01,300", "cables change, or lose or correct packets"),
    ],
)
def test_what_chance_decides_is_simulated_whole(fault: str, why: str) -> None:
    faults = [parse_fault(fault)]
    (asked,) = samples(twin(faults=faults), "allreduce", 1 << 20)
    (whole,) = samples(twin(extrapolate=None, faults=faults), "allreduce", 1 << 20)
    assert asked.evidence["simulated_whole"] == why
    assert replace(asked, evidence={}) == replace(whole, evidence={})


def test_counters_of_a_part_are_not_kept(tmp_path: Path) -> None:
    for name, extrapolate in (("part", TOLERANCE), ("whole", None)):
        backend = twin(4, extrapolate)
        trial = Trial("t", "pairs", (8, 1 << 25), backend.nodes, 1, {}, {}, {"window": 2})
        (tmp_path / name).mkdir()
        backend.prepare([trial], tmp_path / name)
        found = list(backend.measure(Launch(trial, 0, 0)))
        backend.close()
        assert found
        assert (tmp_path / name / COUNTERS_FILE).exists() is (name == "whole")


def test_runs_that_differ_in_it_are_not_one_run() -> None:
    assert twin().facts()["extrapolate"] == TOLERANCE
    assert twin(extrapolate=None).facts()["extrapolate"] is None
