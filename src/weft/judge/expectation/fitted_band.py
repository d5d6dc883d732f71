"""The band of a fitted platform: what healthy runs of the same test scatter at the same size."""

from weft.catalog.machine.fit_report import HealthyBand
from weft.catalog.machine.platform import Platform
from weft.expect.model import Conditions
from weft.judge.expectation.published_row import PublishedBand


def fitted_band(
    platform: Platform, conditions: Conditions, metrics: frozenset[str]
) -> PublishedBand | None:
    """The band of a row between two ranks of two nodes; None where no healthy run has its size."""
    is_pair = conditions.n_ranks == 2 and not conditions.inside_node
    if platform.fit is None or not is_pair or conditions.memory != "host" or conditions.transport:
        return None
    size, benchmark = conditions.size_bytes, _benchmark_of(conditions)
    for band in platform.fit.bands:
        if (band.benchmark, band.library) != (benchmark, conditions.library):
            continue
        row = next((row for row in band.rows if row[0] == size), None)
        if row is not None and band.metric in metrics:
            return _as_published(band, *row[1:])
    return None


def _benchmark_of(conditions: Conditions) -> str:
    """The message rate of one pair was fitted as its bandwidth."""
    if conditions.benchmark != "message_rate":
        return conditions.benchmark
    return "bidirectional" if conditions.both_directions else "bandwidth"


def _as_published(band: HealthyBand, least: float, most: float) -> PublishedBand:
    return PublishedBand(
        metric=band.metric,
        least=least,
        most=most,
        factor=band.factor,
        name=f"range of {band.n_runs} healthy runs",
        source=f"fitted: {band.source}",
    )
