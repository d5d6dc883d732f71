"""The choice is the planted one, and what is in doubt stays the library's."""

from random import Random
from statistics import fmean
from typing import Any

import pytest
from tests.unit.study.tuning.conftest import (
    SETTINGS,
    RunTruth,
    TrueBackend,
    Truth,
    study_of_algorithms,
)

from weft.study.run.store import StudyRun
from weft.study.tuning.algorithm import OPENMPI
from weft.study.tuning.arms import AlgorithmArms, algorithm_arms
from weft.study.tuning.choice import choices_of
from weft.study.tuning.held_out import HeldOutRegret, TooFewLaunches, held_out_regret
from weft.study.tuning.ranges import rank_ranges

SIZES = (8, 4096, 65536, 1 << 20)
LIBRARY = "library"


def arms_of(
    run_truth: RunTruth, backend: TrueBackend, **study: Any
) -> tuple[StudyRun, AlgorithmArms]:
    run = run_truth(backend, study_of_algorithms(**study))
    (arms,) = algorithm_arms(run, OPENMPI)
    return run, arms


def test_the_planted_algorithm_is_chosen_where_it_is_faster_and_nowhere_else(
    run_truth: RunTruth,
) -> None:
    truth = {
        (4, 65536, "ring"): 0.7,
        (4, 1 << 20, "ring"): 0.8,
        (4, 1 << 20, "rabenseifner"): 0.6,
        (4, 8, "ring"): 3.0,
    }
    run, arms = arms_of(run_truth, TrueBackend(truth))
    chosen = {one.size_bytes: one for one in choices_of(run, arms)}
    assert [chosen[size].arm.rpartition("=")[2] for size in SIZES] == [
        "",
        "",
        "ring",
        "rabenseifner",
    ]
    assert chosen[65536].speed_up == pytest.approx(1 / 0.7, rel=0.02)
    low, high = chosen[1 << 20].speed_up_low, chosen[1 << 20].speed_up_high
    assert low < 1 / 0.6 < high
    assert not chosen[8].undecided, "equal arms are a verdict"


def test_neighbouring_sizes_with_one_choice_are_one_range(run_truth: RunTruth) -> None:
    truth = {(4, size, "ring"): 0.7 for size in (4096, 65536)} | {
        (8, size, "ring"): 0.7 for size in SIZES
    }
    run, arms = arms_of(run_truth, TrueBackend(truth), nodes=(4, 8))
    four, eight = rank_ranges(choices_of(run, arms))
    assert (four.first, four.last, eight.first, eight.last) == (4, 7, 8, 8)
    assert [(one.first, one.last, one.end, bool(one.arm)) for one in four.sizes] == [
        (8, 8, 4096, False),
        (4096, 65536, 1 << 20, True),
        (1 << 20, 1 << 20, (1 << 20) + 1, False),
    ]
    (whole,) = eight.sizes
    assert (whole.first, whole.last) == (8, 1 << 20)


def test_under_six_launches_nothing_is_chosen_and_the_reason_is_said(run_truth: RunTruth) -> None:
    truth = {(4, size, "ring"): 0.3 for size in SIZES}
    run, arms = arms_of(run_truth, TrueBackend(truth), repeats=5)
    assert {(one.arm, one.undecided) for one in choices_of(run, arms)} == {("", "not enough data")}
    regret = held_out_regret(run, arms)
    assert isinstance(regret, TooFewLaunches)
    # Three arms: 2 of 2^7 flips times 3 is the first p-value below 0.05, in each half.
    assert (regret.n, regret.needed) == (2, 14)


def drawn_truth(rng: Random) -> Truth:
    """Each algorithm from twice as fast to four times as slow as the library's choice."""
    return {
        (4, size, setting): 2 ** rng.uniform(-1, 2)
        for size in SIZES
        for setting in SETTINGS["allreduce"][1:]
    }


def true_regret(truth: Truth, arms: AlgorithmArms, chosen: dict[int, str]) -> float:
    """The mean loss by the truth itself."""
    losses = []
    for size in SIZES:
        cost = {LIBRARY: 1.0} | {
            name: truth.get((4, size, name), 1.0) for name in SETTINGS["allreduce"][1:]
        }
        taken = chosen[size].rpartition("=")[2] or LIBRARY
        losses.append(cost[taken] / min(cost.values()) - 1)
    return fmean(losses)


@pytest.mark.parametrize("noise", [0.01, 0.05])
def test_held_out_regret_of_drawn_truths_is_at_most_five_percent(
    run_truth: RunTruth, noise: float
) -> None:
    measured, true, of_default = [], [], []
    for seed in range(6):
        truth = drawn_truth(Random(seed))
        backend = TrueBackend(truth, seed=seed, noise=noise)
        run = run_truth(backend, directory=f"run{seed}")
        (arms,) = algorithm_arms(run, OPENMPI)
        regret = held_out_regret(run, arms)
        assert isinstance(regret, HeldOutRegret)
        measured.append(regret.mean)
        chosen = {one.size_bytes: one.arm for one in choices_of(run, arms)}
        true.append(true_regret(truth, arms, chosen))
        of_default.append(regret.of_default)
    assert fmean(of_default) > 0.05, "keeping the library's choice would not do"
    assert fmean(measured) <= 0.05
    assert fmean(true) <= 0.05
    assert fmean(measured) >= fmean(true) - 0.01, "noise counts as a loss, never as a gain"


def test_the_measure_of_regret_sees_a_choice_that_turns_bad(run_truth: RunTruth) -> None:
    """Each launch of the ring is either twice as fast or twice as slow, by turns: what one half
    chooses is wrong in the other."""

    class Turning(TrueBackend):
        def times_ns(self, launch, name, base_ns):  # type: ignore[no-untyped-def]
            (setting,) = launch.trial.arm.values()
            factor = (0.5 if launch.repeat % 2 else 2.0) if setting == "ring" else 1.0
            return super().times_ns(launch, name, base_ns * factor)

    run, arms = arms_of(run_truth, Turning({}))
    regret = held_out_regret(run, arms)
    assert isinstance(regret, HeldOutRegret)
    # One half takes the ring and loses a factor of 2, the other keeps the default and loses one.
    assert regret.mean == pytest.approx(1.0, abs=0.1)


def test_equal_algorithms_are_chosen_in_at_most_one_study_in_twenty(run_truth: RunTruth) -> None:
    """The rule's error is that of weft compare: 5 % of studies, over all cells and arms."""
    n, wrong = 12, 0
    for seed in range(n):
        run = run_truth(TrueBackend({}, seed=seed, noise=0.05), directory=f"run{seed}")
        (arms,) = algorithm_arms(run, OPENMPI)
        wrong += any(one.arm for one in choices_of(run, arms))
    # P(3 or more of 12 at 5 %) is 0.02.
    assert wrong <= 2
