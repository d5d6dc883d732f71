"""Two logs compared: how much faster the second is, and how efficient on more GPUs."""

from dataclasses import dataclass

from weft.core.errors import InputError
from weft.core.finding import Finding, FindingFacts, FindingKind, Severity, cannot_tell
from weft.core.units import format_significant
from weft.core.words import counted
from weft.stats.summary import INTERVAL_FROM
from weft.stats.unpaired_ratio import UnpairedRatio, unpaired_ratio
from weft.train.log.judged_run import JudgedRun
from weft.train.log.throughput import Throughput

NOTABLE = 0.02
"""A smaller difference of two launches is none: launches of one job differ by as much."""


@dataclass(frozen=True, slots=True)
class SpeedUpFacts(FindingFacts):
    """`ratio`: work a second of the second log over that of the first, in `unit`. `low` and `high`
    bound it with 95 % for these two launches. The efficiency is None where the GPUs are not known
    or as many."""

    ratio: float
    low: float
    high: float
    unit: str
    n_first: int
    n_second: int
    efficiency: float | None
    efficiency_low: float | None
    efficiency_high: float | None


@dataclass(frozen=True, slots=True, eq=False)
class LogComparison:
    """Two judged runs, and the finding about both."""

    first: JudgedRun
    second: JudgedRun
    findings: tuple[Finding, ...]


def compare_runs(first: JudgedRun, second: JudgedRun) -> LogComparison:
    """The comparison of two runs. Raises InputError where one states its work a step and the other
    does not."""
    lacking = [
        f"the {word} log has {counted(_n_steady(one), 'steady reading')}"
        for word, one in (("first", first), ("second", second))
        if one.steady is None or one.rates is None
    ]
    if lacking:
        unknown = f"which is faster: {' and '.join(lacking)}, {INTERVAL_FROM} needed of each"
        sentence = cannot_tell(unknown, "logs of longer runs")
        finding = Finding(FindingKind.NOT_ENOUGH_DATA, Severity.UNKNOWN, sentence)
        return LogComparison(first, second, (finding,))
    assert first.steady is not None
    assert second.steady is not None
    times = unpaired_ratio(
        second.run.times_s[second.steady.kept], first.run.times_s[first.steady.kept]
    )
    assert times is not None, "a steady state has six readings"
    return LogComparison(first, second, (_finding(first, second, times), *_caveats(first, second)))


def _n_steady(one: JudgedRun) -> int:
    return one.steady.summary.n if one.steady is not None else 0


def _finding(first: JudgedRun, second: JudgedRun, times: UnpairedRatio) -> Finding:
    assert first.rates is not None
    assert second.rates is not None
    factor, unit = _work(first.rates, second.rates)
    ratio, low, high = (factor * one for one in (times.ratio, times.low, times.high))
    more = _more_gpus(first.rates, second.rates)
    facts = SpeedUpFacts(
        ratio=ratio,
        low=low,
        high=high,
        unit=unit,
        n_first=times.n_second,
        n_second=times.n_first,
        efficiency=ratio / more if more else None,
        efficiency_low=low / more if more else None,
        efficiency_high=high / more if more else None,
    )
    kind, severity = _kind(facts, more)
    return Finding(kind, severity, _sentence(facts, more), facts=facts)


def _kind(facts: SpeedUpFacts, more: float | None) -> tuple[FindingKind, Severity]:
    if facts.low > 1 and facts.ratio >= 1 + NOTABLE:
        return FindingKind.SPEED_UP, Severity.NOTE
    if facts.high < 1 and facts.ratio <= 1 - NOTABLE:
        fewer = more is not None and more < 1
        return FindingKind.REGRESSION, Severity.NOTE if fewer else Severity.WARNING
    return FindingKind.NO_DIFFERENCE, Severity.NOTE


def _sentence(facts: SpeedUpFacts, more: float | None) -> str:
    ends = f"95 %: {_digits(facts.low)} to {_digits(facts.high)}"
    if abs(facts.ratio - 1) < NOTABLE or facts.low <= 1 <= facts.high:
        text = (
            f"no difference: the second makes {_digits(facts.ratio)} x the {facts.unit}/s ({ends})"
        )
    else:
        word = "faster" if facts.ratio > 1 else "slower"
        text = f"the second is {word}: {_digits(facts.ratio)} x the {facts.unit}/s ({ends})"
    if more and facts.efficiency and facts.efficiency_low and facts.efficiency_high:
        ends = f"95 %: {100 * facts.efficiency_low:.1f} to {100 * facts.efficiency_high:.1f} %"
        text += (
            f" on {more:g} x the GPUs: scaling efficiency {100 * facts.efficiency:.1f} % ({ends})"
        )
    return text


def _digits(value: float) -> str:
    return format_significant(value, 4 if value >= 1 else 3)


def _work(first: Throughput, second: Throughput) -> tuple[float, str]:
    """The work of a step of the second over that of the first, and its unit. Raises InputError
    where only one is known."""
    _refuse_one_sided("global batch", "--batch", (first.batch, second.batch))
    if first.batch is None or second.batch is None:
        return 1.0, "steps"
    samples = second.batch.value / first.batch.value
    if (first.tokens_s is None) != (second.tokens_s is None):
        _refuse_one_sided("sequence length", "--sequence", (first.sequence, second.sequence))
    if first.sequence is None or second.sequence is None:
        return samples, "samples"
    return samples * second.sequence.value / first.sequence.value, "tokens"


def _refuse_one_sided(what: str, option: str, stated: tuple[object, object]) -> None:
    if (stated[0] is None) == (stated[1] is None):
        return
    word = "first" if stated[0] is None else "second"
    raise InputError(
        f"the {word} log states no {what}, the other one does",
        expected=f"a {what} of both, to compare work a second",
        hint=f"{option} N for both, or {option} FIRST,SECOND",
    )


def _more_gpus(first: Throughput, second: Throughput) -> float | None:
    """GPUs of the second over those of the first; None where they are unknown or as many."""
    if first.gpus is None or second.gpus is None or first.gpus.value == second.gpus.value:
        return None
    return second.gpus.value / first.gpus.value


def _caveats(first: JudgedRun, second: JudgedRun) -> list[Finding]:
    findings = [
        Finding(
            FindingKind.DRIFT, Severity.WARNING, f"the {word} log is {one.findings[0].sentence}"
        )
        for word, one in (("first", first), ("second", second))
        if one.findings[0].kind is FindingKind.DRIFT
    ]
    text = (
        "the interval holds for these two launches: another launch of the same job may differ by "
        "more; logs of several launches would tell"
    )
    return [*findings, Finding(FindingKind.NOT_JUDGED, Severity.NOTE, text)]
