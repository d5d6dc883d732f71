import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.mock_backend import MockBackend

from weft.bench.model import State
from weft.core.errors import InputError
from weft.core.finding import Finding, FindingKind, Severity
from weft.stats.nodesets import CannotBeKnown, SetsRatio
from weft.stats.ratio import Ratio
from weft.study.comparison.comparison import Comparison, compare_arms, compare_runs
from weft.study.comparison.rows import RowOutcome
from weft.study.run.store import StudyRun

RunStudy = Callable[..., StudyRun]


def _kinds(found: Comparison, kind: FindingKind) -> list[Finding]:
    return [finding for finding in found.findings if finding.kind is kind]


def _ratios(found: Comparison) -> dict[str, float]:
    return {row.cell.text: row.effect.ratio for row in found.rows if isinstance(row.effect, Ratio)}


def test_a_slower_arm_is_a_regression_with_its_size_and_exit_1(
    run_study: RunStudy, two_arms: str
) -> None:
    backend = MockBackend(effects={"routing=adaptive": 1.25})
    found = compare_arms(run_study(factors=two_arms, backend=backend))
    assert found.exit_code == 1
    assert found.arms == (("routing=static", "routing=adaptive"),)
    assert found.interleaved
    assert {row.outcome for row in found.rows} == {RowOutcome.SLOWER}
    for ratio in _ratios(found).values():
        assert ratio == pytest.approx(1.25, rel=0.02)
    answer, worst, *_ = found.findings
    assert answer.sentence.startswith(
        "allreduce and latency with routing=adaptive are slower in all"
    )
    assert worst.kind is FindingKind.REGRESSION
    assert "slower with" in worst.sentence
    assert "with routing=adaptive than with routing=static at both sizes" in worst.sentence
    assert "over 12 launches" in worst.evidence[0]


@pytest.mark.parametrize("benchmark", ["bandwidth", "message_rate", "latency", "pairs"])
def test_faster_is_a_speed_up_whichever_way_the_metric_counts(
    run_study: RunStudy, two_arms: str, benchmark: str
) -> None:
    text = f'[[benchmarks]]\nname = "{benchmark}"\nsizes = "8,64K"\n'
    backend = MockBackend(effects={"routing=adaptive": 0.8})
    found = compare_arms(run_study(factors=two_arms, backend=backend, benchmarks=text))
    assert {row.outcome for row in found.rows} == {RowOutcome.FASTER}
    assert found.exit_code == 0
    assert all(f.severity is Severity.GOOD for f in _kinds(found, FindingKind.SPEED_UP))


def test_equal_arms_are_equal_within_the_margin_stated(run_study: RunStudy, two_arms: str) -> None:
    run = run_study(factors=two_arms)
    found = compare_arms(run)
    assert found.exit_code == 0
    assert {row.outcome for row in found.rows} == {RowOutcome.EQUIVALENT}
    (finding, _) = _kinds(found, FindingKind.NO_DIFFERENCE)
    assert finding.severity is Severity.GOOD
    assert "equals routing=static within 5 %" in finding.sentence
    assert "5 % slower or more" in found.would_show[0]


def test_without_evidence_a_setting_that_was_not_in_force_looks_equal(
    run_study: RunStudy, two_arms: str
) -> None:
    bare = two_arms.replace(', evidence = { transport = "mock" }', "")
    found = compare_arms(run_study(factors=bare))
    assert found.exit_code == 5
    assert found.would_show == ()
    assert {row.outcome for row in found.rows} == {RowOutcome.UNPROVED}
    assert found.findings[0].sentence.endswith(
        "equal if routing was in force; what would tell: evidence of routing in the study."
    )
    moved = MockBackend(effects={"routing=adaptive": 0.8})
    assert compare_arms(run_study("moved", moved, factors=bare)).exit_code == 0


def test_equal_arms_are_accused_in_at_most_one_run_in_twenty(
    run_study: RunStudy, two_arms: str
) -> None:
    n_runs, accused = 60, 0
    for seed in range(n_runs):
        backend = MockBackend(seed=seed, noise=0.1, iterations=3)
        found = compare_arms(run_study(f"s{seed}", backend, factors=two_arms, repeats=7))
        moved = (RowOutcome.FASTER, RowOutcome.SLOWER)
        accused += any(row.outcome in moved for row in found.rows)
    assert accused <= 7  # 5 % of 60 is 3; more than 7 happens once in a hundred times


def test_no_difference_amid_noise_is_not_decided(run_study: RunStudy, two_arms: str) -> None:
    found = compare_arms(run_study(factors=two_arms, backend=MockBackend(noise=0.3)))
    assert found.exit_code == 5
    assert found.would_show == ()
    assert {row.outcome for row in found.rows} == {RowOutcome.UNDECIDED}
    for finding in _kinds(found, FindingKind.TOO_WIDE):
        assert finding.severity is Severity.UNKNOWN
        assert finding.sentence.startswith("cannot tell: ")
        assert re.search(r"ratio 0\.\d+|ratio 1\.\d+", finding.sentence)
        assert finding.facts.n_units_needed > 12


def test_a_simulation_without_noise_is_said_to_repeat_itself(
    run_study: RunStudy, two_arms: str
) -> None:
    backend = MockBackend(noise=0.0, effects={"routing=adaptive": 1.5})
    found = compare_arms(run_study(factors=two_arms, backend=backend))
    assert any("gave exactly the same values" in f.sentence for f in found.findings)
    noisy = compare_arms(run_study("noisy", factors=two_arms))
    assert not any("gave exactly the same values" in f.sentence for f in noisy.findings)


def test_a_certain_but_tiny_difference_is_none_until_asked_for(
    run_study: RunStudy, two_arms: str
) -> None:
    run = run_study(
        factors=two_arms, backend=MockBackend(effects={"routing=adaptive": 1.005}, noise=1e-4)
    )
    assert {row.outcome for row in compare_arms(run).rows} == {RowOutcome.EQUIVALENT}
    strict = compare_arms(run, tolerance=0.001)
    assert {row.outcome for row in strict.rows} == {RowOutcome.SLOWER}


def test_five_repeats_are_not_enough_whatever_the_effect(
    run_study: RunStudy, two_arms: str
) -> None:
    backend = MockBackend(effects={"routing=adaptive": 5.0})
    found = compare_arms(run_study(factors=two_arms, backend=backend, repeats=5))
    assert found.exit_code == 5
    assert {row.outcome for row in found.rows} == {RowOutcome.TOO_FEW}
    (finding, *_) = _kinds(found, FindingKind.NOT_ENOUGH_DATA)
    assert "5 launches; what would tell: at least 6 launches" in finding.sentence
    record = found.rows[0].to_record()
    assert record["ratio"] == pytest.approx(5, rel=0.05)
    assert (record["ratio_low"], record["p_adjusted"]) == (None, None)


def test_where_launches_are_too_few_the_scales_of_a_benchmark_share_a_finding(
    run_study: RunStudy, two_arms: str
) -> None:
    text = '[[benchmarks]]\nname = "latency"\nsizes = "8,64K"\n'
    changes = {"repeats": 1, "benchmarks": text, "nodes": (2, 4)}
    found = compare_arms(run_study(factors=two_arms, **changes))
    (finding,) = _kinds(found, FindingKind.NOT_ENOUGH_DATA)
    assert (
        "latency with routing=adaptive against routing=static on 2 placements" in finding.sentence
    )
    assert re.search(r"worst ratio \S+ \(\d nodes x 1 rank, (8 B|64 KiB)\), best", finding.sentence)
    assert "1 launch each; what would tell: at least 6 launches" in finding.sentence


def test_an_arm_that_fails_where_the_baseline_works_is_bad(
    run_study: RunStudy, two_arms: str
) -> None:
    # t003: the second arm of the second benchmark.
    found = compare_arms(
        run_study(factors=two_arms, backend=MockBackend(hanging=["t003-allreduce"]))
    )
    (failure,) = _kinds(found, FindingKind.FAILURE)
    assert failure.severity is Severity.BAD
    assert failure.sentence == "allreduce hung in 12 of 12 launches with routing=adaptive."
    assert found.exit_code == 1
    assert all(row.cell.benchmark == "latency" for row in found.rows)


def test_a_benchmark_that_fails_everywhere_is_no_regression(
    run_study: RunStudy, two_arms: str
) -> None:
    found = compare_arms(run_study(factors=two_arms, backend=MockBackend(failing=["allreduce"])))
    assert found.exit_code == 5
    assert [f.severity for f in _kinds(found, FindingKind.FAILURE)] == [Severity.WARNING] * 2
    assert "no launch counts on both sides" in found.findings[0].sentence


def test_one_failed_launch_costs_its_pair_only(run_study: RunStudy, two_arms: str) -> None:
    run = run_study(factors=two_arms, backend=MockBackend(failing=["t001-latency.r04"]))
    n_pairs = {row.cell.text: row.n_pairs for row in compare_arms(run).rows}
    assert n_pairs["latency 8 B"] == 11
    assert n_pairs["allreduce 8 B"] == 12


def test_a_machine_that_slows_down_is_reported_as_drift(run_study: RunStudy, two_arms: str) -> None:
    run = run_study(factors=two_arms)
    slowing = tuple(
        replace(
            sample,
            metrics={
                name: value * (1 + 0.004 * (sample.started_unix_s - 1.7e9))
                for name, value in sample.metrics.items()
            },
        )
        for sample in run.samples
    )
    assert not _kinds(compare_arms(run), FindingKind.DRIFT)
    found = compare_arms(replace(run, samples=slowing))
    assert "drifted by +" in _kinds(found, FindingKind.DRIFT)[0].sentence
    # Interleaving is what keeps the drift out of the comparison itself.
    assert not _kinds(found, FindingKind.REGRESSION)


def test_a_treatment_without_evidence_is_left_out(run_study: RunStudy) -> None:
    factors = """
[[factors]]
name = "transport"
settings = [
  { name = "usual", evidence = { transport = "mock" } },
  { name = "rdma", evidence = { transport = "rc_mlx5" } },
]
"""
    found = compare_arms(
        run_study(factors=factors, backend=MockBackend(effects={"transport=rdma": 9}))
    )
    assert found.rows == ()
    assert found.exit_code == 5
    assert "no launch counts on both sides" in found.findings[0].sentence
    (finding,) = _kinds(found, FindingKind.MIS_SETTING)
    assert "transport=rdma needs transport='rc_mlx5', found 'mock'" in finding.sentence


def test_a_factor_that_names_no_evidence_is_said(run_study: RunStudy, two_arms: str) -> None:
    bare = two_arms.replace(', evidence = { transport = "mock" }', "")
    found = compare_arms(run_study(factors=bare))
    assert any("no evidence that routing was in force" in f.sentence for f in found.findings)


@pytest.mark.parametrize(
    ("flag", "state"), [("oversubscribed", State.OK), (None, State.NOT_ON_FABRIC)]
)
def test_samples_with_a_caveat_are_shown_but_support_no_verdict(
    run_study: RunStudy, two_arms: str, flag: str | None, state: State
) -> None:
    run = run_study(factors=two_arms, backend=MockBackend(effects={"routing=adaptive": 2}))
    flags = (flag,) if flag else ()
    marked = tuple(replace(sample, flags=flags, state=state) for sample in run.samples)
    found = compare_arms(replace(run, samples=marked))
    assert {row.outcome for row in found.rows} == {RowOutcome.NO_VERDICT}
    assert found.exit_code == 5
    assert (flag or "not_on_fabric") in found.findings[0].sentence


@pytest.mark.parametrize("state", [State.UNTREATED, State.FAILED])
def test_samples_that_do_not_count_are_counted(
    run_study: RunStudy, two_arms: str, state: State
) -> None:
    run = run_study(factors=two_arms)
    first = tuple(replace(sample, state=state) for sample in run.samples[:3])
    found = compare_arms(replace(run, samples=(*first, *run.samples[3:])))
    assert any(f"3 samples left out: {state}" in f.sentence for f in found.findings)


def test_manual_arms_are_compared_with_the_caveat(run_study: RunStudy, two_arms: str) -> None:
    manual = two_arms.replace('name = "routing"', 'name = "routing"\nmanual = true')
    found = compare_arms(run_study(factors=manual))
    assert not found.interleaved
    assert any("not interleaved (switched by hand)" in f.sentence for f in found.findings)


def test_the_second_interval_needs_five_node_sets(run_study: RunStudy, two_arms: str) -> None:
    backend = MockBackend(effects={"routing=adaptive": 1.5})
    few = compare_arms(run_study("few", backend, factors=two_arms, node_sets=2, repeats=6))
    assert all(isinstance(row.sets, CannotBeKnown) for row in few.rows)
    many = compare_arms(run_study("many", backend, factors=two_arms, node_sets=5, repeats=3))
    for row in many.rows:
        assert isinstance(row.sets, SetsRatio)
        assert row.sets.low < 1.5 < row.sets.high
        assert row.n_pairs == 15


def test_any_arm_can_be_the_baseline(run_study: RunStudy, two_arms: str) -> None:
    run = run_study(factors=two_arms, backend=MockBackend(effects={"routing=adaptive": 1.25}))
    found = compare_arms(run, baseline="routing=adaptive")
    assert {row.outcome for row in found.rows} == {RowOutcome.FASTER}
    with pytest.raises(InputError, match="did you mean 'routing=adaptive'"):
        compare_arms(run, baseline="routing=adaptiv")


def test_three_arms_are_each_compared_with_the_first(run_study: RunStudy, two_arms: str) -> None:
    three = two_arms.replace("}]", '}, { name = "hashed" }]')
    backend = MockBackend(effects={"routing=hashed": 1.2})
    found = compare_arms(run_study(factors=three, backend=backend))
    outcomes = {row.second: row.outcome for row in found.rows}
    assert outcomes == {
        "routing=adaptive": RowOutcome.EQUIVALENT,
        "routing=hashed": RowOutcome.SLOWER,
    }


def test_one_arm_has_nothing_to_be_compared_with(run_study: RunStudy) -> None:
    with pytest.raises(InputError, match="one arm only") as error:
        compare_arms(run_study())
    assert "weft compare" in error.value.describe()


def test_a_second_run_is_judged_against_the_first(run_study: RunStudy) -> None:
    before = run_study("before", MockBackend(seed=1))
    after = run_study("after", _Slower(seed=2))
    found = compare_runs(before, after)
    assert found.exit_code == 1
    assert {row.outcome for row in found.rows} == {RowOutcome.SLOWER}
    assert found.rows[0].first == "before"
    assert found.rows[0].second == "after"
    assert any("not interleaved" in f.sentence for f in found.findings)
    assert compare_runs(after, before).exit_code == 0


def test_runs_with_the_same_arms_are_compared_arm_by_arm(
    run_study: RunStudy, two_arms: str
) -> None:
    first = run_study("a", MockBackend(seed=1), factors=two_arms)
    second = run_study("b", MockBackend(seed=2, effects={"routing=adaptive": 2}), factors=two_arms)
    outcomes = {row.second: row.outcome for row in compare_runs(first, second).rows}
    assert outcomes == {
        "b:routing=static": RowOutcome.EQUIVALENT,
        "b:routing=adaptive": RowOutcome.SLOWER,
    }


def test_runs_with_nothing_in_common_are_refused(run_study: RunStudy) -> None:
    other = '[[benchmarks]]\nname = "barrier"\n'
    with pytest.raises(InputError, match="share no arm, benchmark and size"):
        compare_runs(run_study("a"), run_study("b", benchmarks=other))


def test_samples_of_another_run_are_refused(run_study: RunStudy, two_arms: str) -> None:
    run = run_study(factors=two_arms)
    with pytest.raises(InputError, match="not in the plan"):
        compare_arms(replace(run, launches=run.launches[1:]))


def test_a_sample_without_its_headline_is_refused(
    run_study: RunStudy, two_arms: str, tmp_path: Path
) -> None:
    run = run_study(factors=two_arms)
    bare = tuple(replace(sample, metrics={"x": 1.0}) for sample in run.samples)
    with pytest.raises(InputError, match="no metric 'latency_us_p50'"):
        compare_arms(replace(run, samples=bare))


@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), float("inf")])
def test_a_figure_that_is_no_time_is_refused(
    run_study: RunStudy, two_arms: str, value: float
) -> None:
    run = run_study(factors=two_arms)
    first = replace(run.samples[0], metrics={"latency_us_p50": value})
    changed = replace(run, samples=(first, *run.samples[1:]))
    with pytest.raises(InputError, match="expected: a positive number"):
        compare_arms(changed)
    with pytest.raises(InputError, match="expected: a positive number"):
        compare_runs(changed, run)


class _Slower(MockBackend):
    """The same figures, a quarter slower, for an arm without a name."""

    def times_ns(self, launch: object, name: str, base_ns: float) -> list[int]:
        return super().times_ns(launch, name, 1.25 * base_ns)  # type: ignore[arg-type]
