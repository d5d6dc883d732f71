from pathlib import Path

import pytest
from tests.mock_backend import MockBackend

from weft.bench.live.failure import HangError
from weft.bench.model import Launch, Sample, Trial
from weft.catalog.load import benchmark, benchmark_names
from weft.core.errors import BenchmarkError, InputError

NODES = ("n001", "n002", "n003")


def _launch(name: str, repeat: int = 0, **fields: object) -> Launch:
    sizes = (0,) if name == "barrier" else (8, 1 << 20)
    trial = Trial(f"t-{name}", name, sizes, NODES, 1, **fields)  # type: ignore[arg-type]
    return Launch(trial, repeat, repeat)


def _samples(launch: Launch, backend: MockBackend | None = None) -> list[Sample]:
    return list((backend or MockBackend()).measure(launch))


@pytest.mark.parametrize("name", benchmark_names())
def test_every_benchmark_of_the_catalogue_has_its_headline(name: str) -> None:
    samples = _samples(_launch(name))
    last = max(samples, key=lambda sample: sample.size_bytes)
    assert last.metrics[benchmark(name).headline] > 0


@pytest.mark.parametrize("name", benchmark_names())
def test_the_same_launch_is_the_same_samples(name: str) -> None:
    assert _samples(_launch(name)) == _samples(_launch(name))
    assert _samples(_launch(name)) != _samples(_launch(name, repeat=1))
    assert _samples(_launch(name)) != _samples(_launch(name), MockBackend(seed=2))


def test_an_effect_is_planted_in_its_arm_only() -> None:
    backend = MockBackend(effects={"ar=on": 2.0}, noise=0.0)
    plain = _samples(_launch("latency", arm={"ar": "off"}), backend)
    slowed = _samples(_launch("latency", arm={"ar": "on"}), backend)
    for a, b in zip(plain, slowed, strict=True):
        assert b.metrics["latency_us_p50"] == pytest.approx(
            2 * a.metrics["latency_us_p50"], rel=1e-3
        )


def test_every_pair_is_measured_once_and_a_slow_node_slows_all_of_its_pairs() -> None:
    samples = _samples(_launch("pairs"), MockBackend(slow_nodes={"n002": 3.0}, noise=0.0))
    large = {(s.pair.a, s.pair.b): s for s in samples if s.pair and s.size_bytes > 8}
    assert set(large) == {("n001", "n002"), ("n001", "n003"), ("n002", "n003")}
    good = large["n001", "n003"].metrics["bandwidth_mb_s"]
    for pair in (("n001", "n002"), ("n002", "n003")):
        assert large[pair].metrics["bandwidth_mb_s"] == pytest.approx(good / 3, rel=0.01)


def test_pairs_run_the_rounds_they_are_given() -> None:
    rounds = [[[0, 2]], [[1, 2]]]
    samples = _samples(_launch("pairs", options={"rounds": rounds}))
    pairs = [(s.pair.a, s.pair.b, s.pair.round) for s in samples if s.pair and s.size_bytes == 8]
    assert pairs == [("n001", "n003", 0), ("n002", "n003", 1)]


@pytest.mark.parametrize("name", ["t-latency", "t-latency.r00", "latency"])
def test_failures_and_hangs_are_scripted(name: str) -> None:
    with pytest.raises(BenchmarkError, match="rank 1 exited with code 134"):
        _samples(_launch("latency"), MockBackend(failing=[name]))
    with pytest.raises(HangError, match="no result within 300 s"):
        _samples(_launch("latency"), MockBackend(hanging=[name]))


def test_a_benchmark_no_one_knows_is_refused_before_anything_runs(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no benchmark 'nap'"):
        MockBackend().prepare([Trial("t", "nap", (0,), NODES, 1)], tmp_path)


def test_pairs_have_the_phases_they_are_asked_for() -> None:
    samples = _samples(_launch("pairs", options={"phases": ["bidirectional"]}))
    assert {name for s in samples for name in s.metrics} == {"bidirectional_mb_s"}
    with pytest.raises(InputError, match="option 'phases' cannot be"):
        MockBackend().prepare([_launch("pairs", options={"phases": []}).trial], Path())
