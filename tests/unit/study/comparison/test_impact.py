"""The impact of other jobs: time beside over time alone, of a bandwidth the other way around."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from weft.bench.model import Launch, Sample, State, Trial
from weft.study.comparison.impact import ImpactRow, impact_rows
from weft.study.run.store import StudyRun

BESIDE = ["alltoall:4K@20%"]


def run_of(
    alone: Sequence[Sequence[float]],
    beside: Sequence[Sequence[float]],
    benchmark: str = "allreduce",
    **changes: Any,
) -> StudyRun:
    """Launches alone and beside, each a series of times in nanoseconds."""
    launches, samples = [], []
    for name, aggressors, series in (("t000", [], alone), ("t001", BESIDE, beside)):
        options = {"aggressors": aggressors}
        trial = Trial(name, benchmark, (8,), ("n1", "n2"), 1, arm={"load": name}, options=options)
        for repeat, times in enumerate(series):
            middle = float(np.median(times))
            metrics = {"latency_us_p50": middle / 1e3}
            if benchmark == "random_ring_bandwidth":
                metrics = {"bandwidth_mb_s_p50": 1e6 / middle}
            launches.append(Launch(trial, repeat, len(launches)))
            whole = tuple(int(one) for one in times)
            values: dict[str, Any] = {"times_ns": whole, "state": State.OK, **changes}
            samples.append(Sample(name, repeat, benchmark, 8, metrics, len(whole), 0.0, **values))
    meta = {"backend": {"name": "live", "facts": {"kind": "live"}}}
    return StudyRun(
        Path("run"),
        meta,
        tuple(launches),
        tuple(samples),
        (),
        frozenset(launch.key for launch in launches),
        None,
    )


def only(run: StudyRun) -> ImpactRow:
    (row,) = impact_rows(run)
    return row


def test_twice_the_time_is_an_impact_of_two_and_half_the_bandwidth_too() -> None:
    alone = [[1000 + 10 * launch] * 20 for launch in range(6)]
    beside = [[2 * time for time in series] for series in alone]
    for benchmark, metric, values in (
        ("allreduce", "latency_us", (1.025, 2.05)),
        ("random_ring_bandwidth", "bandwidth_mb_s", (1e6 / 1025, 1e6 / 2050)),
    ):
        row = only(run_of(alone, beside, benchmark))
        assert (row.metric, row.n_units, row.n_iterations) == (metric, 6, 120)
        (found,) = row.figures.values()
        assert (found.alone, found.beside) == pytest.approx(values)
        assert (found.impact, found.low, found.high) == pytest.approx((2, 2, 2))


def test_a_tail_needs_iterations_and_its_interval_needs_them_in_each_launch() -> None:
    series = [float(time) for time in range(1000, 1100)]
    few = only(run_of([series] * 6, [series] * 6))
    assert set(few.figures) == {"mean", "p99"}  # 600 together
    assert (few.figures["p99"].low, few.figures["p99"].high) == (None, None)
    many = only(run_of([series * 5] * 6, [series * 5] * 6))
    assert many.figures["p99"].low == pytest.approx(1)
    most = only(run_of([series * 10] * 6, [series * 10] * 6))
    assert set(most.figures) == {"mean", "p99", "p999"}


def test_a_rare_stall_is_in_the_tail_and_not_in_the_middle() -> None:
    calm = [1000.0] * 1000
    stalled = [1000.0] * 985 + [50_000.0] * 15
    row = only(run_of([calm] * 6, [stalled] * 6))
    assert row.figures["mean"].impact == pytest.approx(1 + 0.015 * 49)
    assert row.figures["p99"].impact == pytest.approx(50)


def test_few_launches_have_no_interval_and_failed_samples_no_row() -> None:
    series = [[1000.0] * 10] * 3
    assert only(run_of(series, series)).figures["mean"].low is None
    assert impact_rows(run_of(series, series, state=State.NOT_ON_FABRIC)) == []
    assert impact_rows(run_of(series, [])) == []


def test_caveats_of_samples_stay_with_the_row() -> None:
    series = [[1000.0] * 10] * 3
    row = only(run_of(series, series, flags=("oversubscribed",)))
    assert row.caveats == ("oversubscribed",)
    assert row.to_record()["caveats"] == ("oversubscribed",)


def test_only_launches_with_a_partner_count() -> None:
    alone = [[1000.0] * 10] * 6 + [[9000.0] * 10]  # The baseline returns at the end.
    row = only(run_of(alone, [[2000.0] * 10] * 6))
    assert (row.figures["mean"].alone, row.n_iterations) == (1.0, 60)
    assert row.figures["mean"].impact == pytest.approx(2)


def test_launches_without_any_partner_have_no_row() -> None:
    run = run_of([[1000.0] * 10] * 2, [[1000.0] * 10])
    left = [one for one in run.samples if (one.trial, one.repeat) != ("t000", 0)]
    assert impact_rows(replace(run, samples=tuple(left))) == []


def test_any_factor_that_names_the_aggressors_is_the_load() -> None:
    run = run_of([[1000.0] * 10] * 3, [[2000.0] * 10] * 3)
    renamed = [
        replace(one, trial=replace(one.trial, arm={"neighbour": one.trial.id, "sharp": "off"}))
        for one in run.launches
    ]
    row = only(replace(run, launches=tuple(renamed)))
    assert row.arm == "sharp=off"


def test_a_message_rate_is_a_bandwidth() -> None:
    run = run_of([[1000.0] * 10] * 3, [[2000.0] * 10] * 3, "message_rate")
    rates = [
        replace(one, metrics={"bandwidth_mb_s": 8.0, "msg_rate_mps": 1.0}) for one in run.samples
    ]
    row = only(replace(run, samples=tuple(rates)))
    assert (row.metric, row.figures["mean"].impact) == ("bandwidth_mb_s", 2)
