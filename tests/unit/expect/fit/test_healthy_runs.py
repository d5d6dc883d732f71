"""Several healthy runs: medians, and a band that a further healthy run does not leave."""

import math
import random
from dataclasses import replace

import pytest

from weft.catalog.document import parse_document, to_toml
from weft.catalog.load import platform
from weft.catalog.machine.platform import Platform
from weft.core.errors import InputError
from weft.expect.fit.healthy_runs import (
    LEAST_FACTOR,
    healthy_runs,
    range_of_normals,
    widened,
    with_bands,
)
from weft.expect.fit.platform_fit import fit_platform
from weft.expect.fit.tables import MeasuredTable

SIZES = [2**k for k in range(23)]


def run(seed: int, scatter: float) -> list[MeasuredTable]:
    """A latency and a bandwidth of a machine whose rows scatter so."""
    rng = random.Random(seed)

    def noisy(value: float) -> float:
        return value * rng.gauss(1, scatter)

    return [
        MeasuredTable("latency", tuple((s, noisy(2 + s / 9000)) for s in SIZES), f"lat{seed}"),
        MeasuredTable(
            "bandwidth", tuple((s, noisy(11000 * s / (s + 4000))) for s in SIZES), f"bw{seed}"
        ),
    ]


@pytest.mark.parametrize(
    ("n", "d2"), [(2, 1.128), (3, 1.693), (5, 2.326), (10, 3.078), (25, 3.931)]
)
def test_the_mean_range_is_that_of_the_tables_of_control_charts(n: int, d2: float) -> None:
    # SOURCE: Montgomery, Introduction to Statistical Quality Control, appendix VI: d2.
    assert range_of_normals(n) == pytest.approx(d2, abs=1e-3)


def test_the_band_is_three_standard_deviations_beyond_the_runs() -> None:
    rng = random.Random(1)
    rows = [[rng.lognormvariate(0, 0.04) for _ in range(4)] for _ in range(400)]
    assert widened(rows) == pytest.approx(math.exp(3 * 0.04 * 1.25**0.5), rel=0.01)
    assert widened([[100.0, 100.1]]) == LEAST_FACTOR


def fitted(n_runs: int, scatter: float) -> Platform:
    tables = [table for seed in range(n_runs) for table in run(seed, scatter)]
    runs = healthy_runs(tables)
    document = fit_platform([one.table for one in runs], name="ours").platform
    return with_bands(document, runs)


@pytest.mark.parametrize(("n_runs", "scatter"), [(2, 0.03), (5, 0.01), (5, 0.05)])
def test_further_healthy_runs_lie_inside_the_band(n_runs: int, scatter: float) -> None:
    document = fitted(n_runs, scatter)
    assert document.fit is not None
    band = {
        (one.benchmark, size): (least / one.factor, most * one.factor)
        for one in document.fit.bands
        for size, least, most in one.rows
    }
    assert len(band) == 2 * len(SIZES)
    beyond = n = 0
    for seed in range(100, 140):
        for table in run(seed, scatter):
            for size, value in table.rows:
                low, high = band[table.benchmark, size]
                beyond += not low <= value <= high
                n += 1
    assert beyond < 0.005 * n


def test_medians_are_fitted_and_the_document_keeps_its_bands() -> None:
    document = fitted(3, 0.02)
    assert document.fit is not None
    assert document.fit.tables[0].source == "lat0, lat1, lat2"
    assert document.fit.bands[0].n_runs == 3
    assert parse_document(Platform, to_toml(document), "x", "platform") == document


def test_one_run_has_no_band() -> None:
    document = fitted(1, 0.02)
    assert document.fit is not None
    assert document.fit.bands == ()
    assert with_bands(platform("fat-tree"), ()) == platform("fat-tree")


def test_runs_with_other_windows_are_refused() -> None:
    (_, one), (_, other) = run(1, 0.0), run(2, 0.0)
    (runs,) = healthy_runs([one, replace(other, window=16)])
    with pytest.raises(InputError, match="bandwidth in windows of 64 and of 16 messages"):
        _ = runs.table
