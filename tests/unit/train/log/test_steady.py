import numpy as np
import pytest
from tests.unit.train.log.drawn_runs import log_of, run_of, times

from weft.train.log.given_figures import GivenFigures
from weft.train.log.judged_run import judge_run, straggler_words
from weft.train.log.left_out import left_out_words
from weft.train.log.steady import steady_state


def test_checkpoints_are_told_from_the_steady_state_by_their_period() -> None:
    drawn = times(300)
    drawn[:3] *= [9, 2, 1.5]
    drawn[20::20] += 1.5
    steady = steady_state(run_of(log_of(drawn, every=20)))
    assert steady is not None
    (group,) = steady.groups
    assert (group.n, group.period, group.first_step) == (14, 20, 21)
    assert group.causes == (("checkpoint", 14),)
    assert group.median_excess_s == pytest.approx(1.5, abs=0.05)
    assert steady.straggler_share == pytest.approx(14 * 1.5 / drawn[3:].sum(), rel=0.05)
    assert steady.summary.median == pytest.approx(3.0, rel=0.002)


def test_two_periods_and_a_single_slow_step_are_three_groups() -> None:
    drawn = times(600)
    drawn[19::20] += 1.5
    drawn[52::150] += 9
    drawn[432] += 30
    steady = steady_state(run_of(log_of(drawn)))
    assert steady is not None
    assert [(group.period, group.n) for group in steady.groups] == [(20, 30), (150, 4), (0, 1)]
    words = straggler_words(steady.groups[-1])
    assert words.startswith("1 slow step (line 435), +30.0")


def test_slow_steps_at_random_have_no_period() -> None:
    rng = np.random.default_rng(5)
    with_period = 0
    for seed in range(40):
        drawn = times(200, seed=seed)
        drawn[rng.choice(np.arange(5, 200), 12, replace=False)] += 2
        steady = steady_state(run_of(log_of(drawn)))
        assert steady is not None
        with_period += any(group.period for group in steady.groups)
    assert with_period <= 1


def test_slow_steps_without_a_period_are_in_the_headline() -> None:
    """A third of the steps take twice the time: a quarter of the time, of which the median shows
    nothing."""
    drawn = times(300)
    slow = np.random.default_rng(4).permutation(300) < 100
    drawn[slow] *= 2
    (first, *_) = judge_run(run_of(log_of(drawn)), GivenFigures()).findings
    assert first.severity == "warning"
    assert f"but the mean is {drawn.mean():.4g}"[:20] in first.sentence
    assert "33 % of the steps, without a period, are slow and cost 25 % of" in first.sentence


def test_slow_steps_that_no_outlier_test_finds_are_in_the_headline() -> None:
    drawn = 3 * np.exp(0.35 * np.random.default_rng(3).standard_normal(400))
    (first, *_) = judge_run(run_of(log_of(drawn)), GivenFigures()).findings
    assert "without a period, are slow and cost" in first.sentence


def test_checkpoints_and_healthy_steps_leave_the_headline_alone() -> None:
    drawn = times(300)
    drawn[20::20] += 3
    for one in (drawn, times(300, noise=0.05)):
        (first, *_) = judge_run(run_of(log_of(one)), GivenFigures()).findings
        assert (first.severity, "mean" in first.sentence) == ("note", False)


def test_two_checkpoints_have_no_period_and_a_cause() -> None:
    drawn = times(100)
    drawn[[40, 80]] += 30
    (first, *_) = judge_run(run_of(log_of(drawn, every=40)), GivenFigures()).findings
    assert (first.severity, "mean" in first.sentence) == ("note", False)
    (first, *_) = judge_run(run_of(log_of(drawn)), GivenFigures()).findings
    assert "without a period, are slow and cost" in first.sentence


def test_a_level_that_changes_is_dated_and_warned_of() -> None:
    drawn = times(400)
    drawn[300:] *= 1.05
    judged = judge_run(run_of(log_of(drawn)), GivenFigures())
    first = judged.findings[0]
    assert first.severity == "warning"
    assert first.sentence.startswith("not steady: steps take 5")
    assert "longer from step 301 on (line 303)" in first.sentence


def test_a_long_slow_end_is_a_level_not_a_hundred_stragglers() -> None:
    drawn = times(400)
    drawn[300:] *= 1.3
    judged = judge_run(run_of(log_of(drawn)), GivenFigures())
    assert judged.steady is not None
    assert judged.steady.groups == ()
    assert [(one.at, round(one.ratio, 2)) for one in judged.steady.levels] == [(300, 1.3)]


def test_a_level_that_changes_right_behind_the_middle_is_warned_of_too() -> None:
    drawn = times(240)
    drawn[125:] *= 1.05
    judged = judge_run(run_of(log_of(drawn)), GivenFigures())
    assert judged.findings[0].sentence.startswith("not steady: steps take")


def test_steady_runs_are_hardly_ever_called_unsteady() -> None:
    kinds = [
        judge_run(run_of(log_of(times(150, seed=seed))), GivenFigures()).findings[0].kind.value
        for seed in range(40)
    ]
    assert kinds.count("answer") >= 39


def test_another_batch_begins_another_steady_state() -> None:
    small, large = log_of(times(40, 1.0), batch=64), log_of(times(80, 3.0), batch=256)
    steps = [line for line in large.split("\n") if "iteration" in line]
    later = [
        line.replace(f"iteration {i:8d}", f"iteration {i + 40:8d}")
        for i, line in enumerate(steps, 1)
    ]
    judged = judge_run(run_of(small + "\n".join(later) + "\n"), GivenFigures())
    assert judged.steady is not None
    assert judged.steady.summary.median == pytest.approx(3.0, rel=0.002)
    assert "those before 41, where the batch changes" in left_out_words(judged)


def test_too_few_steps_have_no_verdict() -> None:
    judged = judge_run(run_of(log_of(times(5))), GivenFigures())
    assert judged.severity == "unknown"
    assert judged.findings[0].sentence == (
        "cannot tell: the steady step time: 5 usable steps, 6 needed; what would tell: the log of "
        "a longer run"
    )
