"""Cells whose launches are gone are never good news."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from tests.mock_backend import MockBackend

from weft.bench.model import Sample
from weft.study.comparison.comparison import compare_arms, compare_runs
from weft.study.run.store import StudyRun

RunStudy = Callable[..., StudyRun]


def _without(run: StudyRun, gone: Callable[[Sample], bool]) -> StudyRun:
    return replace(run, samples=tuple(s for s in run.samples if not gone(s)))


def test_a_size_without_samples_in_one_arm_is_no_verdict(
    run_study: RunStudy, two_arms: str
) -> None:
    run = run_study(factors=two_arms)
    assert compare_arms(run).exit_code == 0
    trial = next(one.trial for one in run.launches if "adaptive" in one.trial.arm.values())

    def gone(sample: Sample) -> bool:
        return sample.trial == trial.id and sample.size_bytes == 65536

    found = compare_arms(_without(run, gone))
    assert found.exit_code == 5
    answer, missing = found.findings[:2]
    assert answer.sentence.endswith("equal within 5 % in 3 of 4 cells; 1 is not decided.")
    assert missing.sentence.startswith(
        "cannot tell: latency on 2 nodes x 1 rank with routing=adaptive against routing=static "
        "at 64 KiB: no launch counts on both sides"
    )


def test_a_size_that_only_the_first_run_has_is_no_verdict(run_study: RunStudy) -> None:
    both = '[[benchmarks]]\nname = "latency"\nsizes = "8,64K"\n'
    one = '[[benchmarks]]\nname = "latency"\nsizes = "8"\n'
    whole = run_study("whole", benchmarks=both)
    part = run_study("part", MockBackend(seed=2), benchmarks=one)
    assert compare_runs(whole, part).exit_code == 5
    assert compare_runs(part, whole).exit_code == 0


def test_a_benchmark_that_only_the_first_run_has_is_no_verdict(run_study: RunStudy) -> None:
    one = '[[benchmarks]]\nname = "latency"\nsizes = "8,64K"\n'
    found = compare_runs(run_study("a"), run_study("b", MockBackend(seed=2), benchmarks=one))
    assert found.exit_code == 5
    assert "allreduce on 2 nodes x 1 rank with b against a" in found.findings[0].sentence


def test_an_arm_that_only_the_first_run_has_is_no_verdict(
    run_study: RunStudy, two_arms: str
) -> None:
    three = two_arms.replace("}]", '}, { name = "hashed" }]')
    first = run_study("a", factors=three)
    second = run_study("b", MockBackend(seed=2), factors=two_arms)
    found = compare_runs(first, second)
    assert found.exit_code == 5
    assert any(
        "with b:routing=hashed against a:routing=hashed" in f.sentence for f in found.findings
    )


def test_two_sizes_of_pairs_are_all_it_measures(run_study: RunStudy, two_arms: str) -> None:
    pairs = '[[benchmarks]]\nname = "pairs"\nsizes = "8:64K"\n'
    found = compare_arms(run_study(benchmarks=pairs, factors=two_arms, nodes=(4,)))
    assert not [f for f in found.findings if "no launch counts" in f.sentence]


@pytest.mark.parametrize(("n_lost", "code"), [(0, 0), (1, 0), (4, 5), (6, 5)])
def test_lost_launches_of_the_second_arm_may_be_the_slowest(
    run_study: RunStudy, two_arms: str, n_lost: int, code: int
) -> None:
    run = run_study(factors=two_arms)
    trials = {one.trial.id for one in run.launches if "adaptive" in one.trial.arm.values()}
    found = compare_arms(_without(run, lambda s: s.trial in trials and s.repeat < n_lost))
    assert found.exit_code == code
    lost = [f for f in found.findings if "are lost and may be slow" in f.sentence]
    assert bool(lost) == (code == 5)
    if lost:
        assert f"{n_lost} of 12 launches of routing=adaptive" in lost[0].sentence
