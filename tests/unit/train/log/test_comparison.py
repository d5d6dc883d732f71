import numpy as np
import pytest
from tests.unit.train.log.drawn_runs import log_of, run_of, times

from weft.core.errors import InputError
from weft.train.log.comparison import SpeedUpFacts, compare_runs
from weft.train.log.given_figures import GivenFigures
from weft.train.log.judged_run import JudgedRun, judge_run


def judged(drawn: np.ndarray, given: GivenFigures | None = None, **stated: int) -> JudgedRun:
    return judge_run(run_of(log_of(drawn, **stated)), given or GivenFigures())


def facts_of(first: JudgedRun, second: JudgedRun) -> SpeedUpFacts:
    found = compare_runs(first, second).findings[0].facts
    assert isinstance(found, SpeedUpFacts)
    return found


def test_work_a_second_is_compared_not_step_times() -> None:
    """Twice the GPUs and twice the batch in a step 2 % longer: 1.96 x the tokens, 98 %."""
    first = judged(times(100, 3.0), gpus=64, batch=256)
    second = judged(times(100, 3.06, seed=2), gpus=128, batch=512)
    facts = facts_of(first, second)
    assert facts.unit == "tokens"
    assert facts.ratio == pytest.approx(2 / 1.02, rel=0.002)
    assert facts.low < 2 / 1.02 < facts.high
    assert facts.efficiency == pytest.approx(1 / 1.02, rel=0.002)


def test_the_interval_covers_the_ratio_of_the_levels() -> None:
    covered = 0
    for seed in range(100):
        facts = facts_of(judged(times(60, 3.0, seed=seed)), judged(times(40, 2.5, seed=seed + 500)))
        covered += facts.low <= 1.2 <= facts.high
    assert covered >= 90


def test_a_slower_log_is_a_warning_and_the_same_is_no_difference() -> None:
    first = judged(times(100))
    slower = compare_runs(first, judged(times(100, 3.3, seed=2))).findings[0]
    same = compare_runs(first, judged(times(100, 3.01, seed=3))).findings[0]
    assert (slower.kind, slower.severity) == ("regression", "warning")
    assert slower.sentence.startswith("the second is slower: 0.909 x the tokens/s")
    assert (same.kind, same.severity) == ("no-difference", "note")


def test_too_few_steady_steps_are_refused() -> None:
    found = compare_runs(judged(times(100)), judged(times(5))).findings
    assert [one.severity for one in found] == ["unknown"]
    assert "the second log has 0 steady readings, 6 needed of each" in found[0].sentence


def test_a_batch_that_only_one_log_states_is_asked_for() -> None:
    text = log_of(times(50)).replace("global batch size", "batch").replace("consumed samples", "s")
    second = judge_run(run_of(text), GivenFigures())
    with pytest.raises(InputError, match="the second log states no global batch"):
        compare_runs(judged(times(50)), second)
    given = judge_run(run_of(text), GivenFigures(batch=256))
    assert facts_of(judged(times(50)), given).unit == "tokens"
