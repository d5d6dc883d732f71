"""What a row should have been: a published table of the machine, or the closed forms."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

from weft.catalog.machine.platform import Platform
from weft.core.errors import InputError
from weft.expect.model import Conditions, Expectation, largest
from weft.expect.prediction import predict
from weft.judge.anomalies.column_agreement import bus_factor
from weft.judge.expectation.fitted_band import fitted_band
from weft.judge.expectation.published_row import PublishedBand, published_band
from weft.judge.model import METRIC_UNITS
from weft.judge.rules import Rules
from weft.results.model import Row

PUBLISHED = "published"
"""What the formula of an expectation from published values begins with."""
OWN_FLEET = "own fleet"
"""What the formula of an expectation from the own fleet begins with."""
Predict = Callable[[Conditions], Expectation | str]
"""The expectation under conditions, or why there is none."""


@dataclass(frozen=True, slots=True)
class ExpectedValue:
    """An expectation in the metric that the row has, or why there is none."""

    expectation: Expectation | None
    why_not: str = ""
    published: bool = False


def predictor(platform: Platform) -> Predict:
    """`predict` on one platform, each condition once, refusals as text."""

    @cache
    def ask(conditions: Conditions) -> Expectation | str:
        try:
            return predict(platform, conditions)
        except InputError as error:
            return error.what

    return ask


def expected_of(
    row: Row, conditions: Conditions, platform: Platform, ask: Predict, rules: Rules
) -> ExpectedValue:
    """The expectation of a row. A published table of the machine goes before a closed form."""
    closed = ask(conditions)
    named = frozenset(name for name, value in row.metrics.items() if value > 0)
    healthy = fitted_band(platform, conditions, named)
    band = healthy or published_band(platform, conditions, named, rules)
    if band is not None:
        limits = None if isinstance(closed, str) else convert(closed, band.metric, conditions)
        roomy = with_room(limits, rules) if limits else None
        found = _from_band(band, roomy)
        return ExpectedValue(_of_healthy_runs(found, healthy) if healthy else found, published=True)
    if isinstance(closed, str):
        return ExpectedValue(None, closed)
    converted = in_metric_of(row, closed, conditions)
    if converted is None:
        return ExpectedValue(None, f"the file has no {closed.metric}")
    return ExpectedValue(with_room(converted, rules))


def with_room(found: Expectation, rules: Rules) -> Expectation:
    """Wider where no single part of the time decides: between the latency and the rate, the
    library's choice of protocol and chunk does, which no closed form has. Never beyond the
    limit."""
    total = sum(term.time_ns for term in found.terms)
    if total <= 0 or largest(found.terms).time_ns >= rules.settled_share * total:
        return found
    low, high = found.low / rules.unsettled_factor, found.high * rules.unsettled_factor
    if found.limit and found.lower_is_better:
        low = max(low, min(found.limit * (1 - rules.limit_slack), found.low))
    elif found.limit:
        high = min(high, max(found.limit * (1 + rules.limit_slack), found.high))
    return replace(found, low=low, high=high)


def with_twice_the_limit(found: Expectation, why: str) -> Expectation:
    """The same where a rate may add two directions or ports: twice the limit, the range as it is.
    More than one of them carries is then faster than expected, and no error."""
    if not found.limit or found.lower_is_better:
        return found
    return replace(found, limit=2 * found.limit, limit_name=f"{found.limit_name}, {why}")


def with_least_share(found: Expectation, share: float) -> Expectation:
    """The same, slow only below a share of its limit: a link generation says neither which packets
    nor which slot its adapters had."""
    if not found.limit:
        return found
    if found.lower_is_better:
        return replace(found, high=max(found.high, found.limit / share))
    return replace(found, low=min(found.low, found.limit * share))


def is_published(found: Expectation | None) -> bool:
    """Whether an expectation is a row of a published table."""
    return found is not None and found.formula.startswith(PUBLISHED)


def is_measured(found: Expectation) -> bool:
    """Whether an expectation is what others measured under the same conditions."""
    return found.formula.startswith((PUBLISHED, OWN_FLEET))


def in_metric_of(row: Row, found: Expectation, conditions: Conditions) -> Expectation | None:
    """The expectation in a metric the row has: rates and times of one size are the same thing."""
    if row.metrics.get(found.metric, 0.0) > 0:
        return found
    size = conditions.size_bytes
    for metric in ("busbw_gb_s", "bandwidth_mb_s", "latency_us", "msg_rate_mps"):
        if row.metrics.get(metric, 0.0) > 0 and size > 0:
            converted = convert(found, metric, conditions)
            if converted is not None:
                return converted
    return None


def convert(found: Expectation, metric: str, conditions: Conditions) -> Expectation | None:
    """The same expectation in another metric, None where it does not follow from the size."""
    size = conditions.size_bytes
    if metric == found.metric:
        return found
    pair = (found.metric, metric)
    factor = bus_factor(conditions.benchmark, conditions.n_ranks)
    if pair in (("busbw_gb_s", "latency_us"), ("latency_us", "busbw_gb_s")):
        if factor is None or factor <= 0 or size <= 0:
            return None
        return _inverse(found, factor * size / 1e3, metric)
    if pair in (("bandwidth_mb_s", "msg_rate_mps"), ("msg_rate_mps", "bandwidth_mb_s")):
        scale = size if metric == "bandwidth_mb_s" else 1 / size if size else 0.0
        return _scaled(found, scale, metric) if scale else None
    return None


def _inverse(found: Expectation, product: float, metric: str) -> Expectation:
    return replace(
        found,
        metric=metric,
        unit=METRIC_UNITS[metric],
        value=product / found.value,
        low=product / found.high,
        high=product / found.low,
        limit=None if not found.limit else product / found.limit,
    )


def _scaled(found: Expectation, scale: float, metric: str) -> Expectation:
    return replace(
        found,
        metric=metric,
        unit=METRIC_UNITS[metric],
        value=found.value * scale,
        low=found.low * scale,
        high=found.high * scale,
        limit=None if found.limit is None else found.limit * scale,
    )


def _from_band(band: PublishedBand, closed: Expectation | None) -> Expectation:
    """What was published decides which row is slow; faster than it is no surprise where the closed
    form allows it."""
    low, high = band.least / band.factor, band.most * band.factor
    if closed is not None and closed.lower_is_better:
        low = min(low, closed.low)
    elif closed is not None:
        high = max(high, closed.high)
    low, high = _inside_the_limit(low, high, band, closed)
    return Expectation(
        metric=band.metric,
        value=band.value,
        unit=METRIC_UNITS[band.metric],
        low=low,
        high=high,
        bound=closed.bound if closed else "what was published for this machine",
        formula=f"{PUBLISHED} {band.name} under the same conditions, divided or multiplied by"
        f" {band.factor:g} at most",
        source=band.source,
        limit=closed.limit if closed else None,
        limit_name=closed.limit_name if closed else "",
    )


def _inside_the_limit(
    low: float, high: float, band: PublishedBand, found: Expectation | None
) -> tuple[float, float]:
    """A range that ends at the limit of the hardware, or where a measured value lies beyond it."""
    if found is None or not found.limit:
        return low, high
    if found.lower_is_better:
        return max(low, min(found.limit, band.least)), high
    return low, min(high, max(found.limit, band.most))


def _of_healthy_runs(found: Expectation, band: PublishedBand) -> Expectation:
    """The same with the scatter of healthy runs on both sides, never beyond the limit."""
    low, high = band.least / band.factor, band.most * band.factor
    low, high = _inside_the_limit(low, high, band, found)
    formula = f"{band.name}, divided or multiplied by {band.factor:g} at most"
    return replace(found, low=low, high=high, formula=formula)
