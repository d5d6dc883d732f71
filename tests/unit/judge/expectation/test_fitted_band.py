"""The band of a fitted platform holds for the test that was fitted, and for no other."""

from dataclasses import replace

import pytest

from weft.catalog.load import platform
from weft.catalog.machine.fit_report import HealthyBand
from weft.catalog.machine.platform import Platform
from weft.expect.model import Conditions
from weft.judge.expectation.conditions import Given
from weft.judge.expectation.expected_value import predictor
from weft.judge.expectation.fitted_band import fitted_band
from weft.judge.model import RowState
from weft.judge.rows import judge_table
from weft.judge.rules import rules
from weft.results.model import Row, Table

SIZE = 1 << 20
METRICS = frozenset({"bandwidth_mb_s", "msg_rate_mps"})


def fitted(benchmark: str = "bandwidth") -> Platform:
    base = platform("azure-a9")
    assert base.fit is not None
    band = HealthyBand(
        benchmark=benchmark,
        metric="bandwidth_mb_s",
        n_runs=3,
        factor=1.05,
        rows=((SIZE, 3000.0, 3100.0),),
        source="three runs",
    )
    return base.model_copy(update={"fit": base.fit.model_copy(update={"bands": (band,)})})


PAIR = Conditions("bandwidth", SIZE)


@pytest.mark.parametrize(
    ("conditions", "applies"),
    [
        (PAIR, True),
        (replace(PAIR, benchmark="message_rate"), True),
        (replace(PAIR, benchmark="message_rate", both_directions=True), False),
        (replace(PAIR, benchmark="bidirectional"), False),
        (replace(PAIR, size_bytes=2 * SIZE), False),
        (replace(PAIR, tasks_per_node=4), False),
        (replace(PAIR, n_nodes=1, tasks_per_node=2), False),
        (replace(PAIR, library="verbs"), False),
        (replace(PAIR, memory="gpu"), False),
    ],
)
def test_the_band_is_of_the_test_that_was_fitted(conditions: Conditions, applies: bool) -> None:
    assert (fitted_band(fitted(), conditions, METRICS) is not None) is applies


@pytest.mark.parametrize(
    ("mb_s", "state"),
    [
        (2870.0, RowState.NORMAL),
        (2840.0, RowState.LOW),
        (3250.0, RowState.NORMAL),
        (3270.0, RowState.HIGH),
    ],
)
def test_rows_are_judged_by_what_healthy_runs_scatter(mb_s: float, state: RowState) -> None:
    place = fitted()
    table = Table("osu", "osu_bw", "bandwidth", (Row(1, SIZE, {"bandwidth_mb_s": mb_s}),), 1)
    (row,) = judge_table(table, Given(), place, predictor(place), rules()).rows
    assert row.state is state
    assert row.expectation is not None
    assert row.expectation.formula.startswith("range of 3 healthy runs")
