"""What must hold whatever the constants nobody published are, and what the seed decides."""

from typing import Any

import pytest

from weft.bench.model import Launch, Sample, Trial
from weft.bench.twin.backend import TwinBackend
from weft.bench.twin.fault import parse_fault
from weft.catalog.load import platform
from weft.catalog.machine.platform import Platform

pytest.importorskip("weft._engine", reason="weft._engine is not built (make setup)")

ASSUMED = ["switch.delay", "switch.buffer", "host.adapter_latency", "links.switch.delay"]
JITTER = {"value": 200, "unit": "ns", "class": "assumed", "source": "assumed: for this test"}


def changed(key: str, factor: float) -> Platform:
    """The generic fat-tree with one figure scaled."""
    record: dict[str, Any] = platform("fat-tree").model_dump(mode="json", by_alias=True)
    table = record
    for part in key.split("."):
        table = table[part]
    table["value"] = round(table["value"] * factor)
    return Platform.model_validate(record)


def with_jitter() -> Platform:
    record: dict[str, Any] = platform("fat-tree").model_dump(mode="json", by_alias=True)
    record["host"]["start_jitter"] = JITTER
    return Platform.model_validate(record)


def measure(twin: TwinBackend, benchmark: str, size: int, repeat: int = 0) -> list[Sample]:
    sizes = (8, size) if benchmark == "pairs" else (size,)
    options = {"window": 4} if benchmark == "pairs" else {}
    trial = Trial("t", benchmark, sizes, twin.nodes, 1, options=options)
    return list(twin.measure(Launch(trial, repeat, 0)))


@pytest.mark.parametrize("key", ASSUMED)
@pytest.mark.parametrize("factor", [0.5, 2, 4])
def test_a_slow_cable_stands_out_at_half_and_twice_each_assumed_constant(
    key: str, factor: float
) -> None:
    fault = parse_fault("n003/hca0[1] rate=0.5")
    twin = TwinBackend(changed(key, factor), 8, faults=[fault])
    through, beside = [], []
    for sample in measure(twin, "pairs", 1 << 20):
        if sample.pair is not None and sample.size_bytes > 8:
            crosses = "n003" in (sample.pair.a, sample.pair.b)
            (through if crosses else beside).append(sample.metrics["bandwidth_mb_s"])
    assert max(through) < 0.6 * min(beside)


def test_jitter_differs_between_repeats_and_seeds_and_comes_back_with_them() -> None:
    def times(seed: int, repeat: int) -> tuple[int, ...]:
        (sample,) = measure(TwinBackend(with_jitter(), 4, seed=seed), "barrier", 0, repeat)
        assert sample.times_ns is not None
        return sample.times_ns

    assert times(1, 0) == times(1, 0)
    assert len({times(1, 0), times(1, 1), times(2, 0), times(2, 1)}) == 4


def test_without_jitter_or_noise_every_iteration_is_alike() -> None:
    (sample,) = measure(TwinBackend(platform("fat-tree"), 4), "latency", 8)
    assert sample.times_ns is not None
    assert len(set(sample.times_ns)) == 1
