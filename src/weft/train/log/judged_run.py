"""A run of a log in findings: its step time, what disturbs it, and what the log says of it."""

from collections.abc import Sequence
from dataclasses import dataclass

from weft.core.finding import Finding, FindingFacts, FindingKind, Severity, cannot_tell
from weft.core.units import format_significant
from weft.core.words import counted
from weft.results.training.model import TrainingRun
from weft.stats.summary import INTERVAL_FROM
from weft.stats.warm_up import SOURCE
from weft.train.log.given_figures import GivenFigures
from weft.train.log.steady import LevelStep, SteadyState, steady_state
from weft.train.log.stragglers import StragglerGroup
from weft.train.log.throughput import Throughput, throughput

NOTABLE_SHARE = 0.02
"""Stragglers that take less of the time are no finding of their own; the table counts them. Nine
healthy runs of sample logs lose nothing to slow steps without a period or a cause, and 120 drawn
ones whose steps spread by up to 5 % lose 1.5 % at most."""
_MOST_REMARKS = 6


@dataclass(frozen=True, slots=True)
class StepTimeFacts(FindingFacts):
    """`low_s` and `high_s` bound the median step time of this launch with 95 %. `mean_s` is of all
    steps behind the beginning; `irregular_share` of the steps that have no period are slow, and
    take `irregular_time_share` of the time beyond the median."""

    step_s: float
    low_s: float
    high_s: float
    mean_s: float
    irregular_share: float
    irregular_time_share: float
    n_readings: int
    n_discarded: int


@dataclass(frozen=True, slots=True)
class LevelFacts(FindingFacts):
    """From `step`, at `line`, on a step takes `ratio` times as long."""

    step: int
    line: int
    ratio: float


@dataclass(frozen=True, slots=True)
class StragglerFacts(FindingFacts):
    """`period` is in steps, 0 without one; `share` of the time that is lost."""

    n: int
    period: int
    median_excess_s: float
    share: float


@dataclass(frozen=True, slots=True, eq=False)
class JudgedRun:
    """A run with its steady state and rates, None where it has none, and its findings."""

    run: TrainingRun
    steady: SteadyState | None
    rates: Throughput | None
    findings: tuple[Finding, ...]

    @property
    def severity(self) -> Severity:
        """That of the first finding."""
        return self.findings[0].severity


def judge_run(run: TrainingRun, given: GivenFigures) -> JudgedRun:
    """The findings of a run, the main one first. Raises InputError as `throughput`."""
    steady = steady_state(run)
    odd = [*_loss(run), *_remarks(run)]
    if steady is None:
        return JudgedRun(run, None, None, (_no_steady_state(run), *odd))
    rates = throughput(run, steady, given)
    findings = (_main(run, steady, rates), *_stragglers(steady), *odd)
    return JudgedRun(run, steady, rates, findings)


def _main(run: TrainingRun, steady: SteadyState, rates: Throughput) -> Finding:
    summary = steady.summary
    low, high = summary.ends
    time = f"{seconds(summary.median)} a step ({_span(low, high)})"
    rate = f", {rate_words(rates)}" if rates.samples_s else ""
    moved = steady.levels or (steady.drift is not None)
    sentence = time + rate
    if moved:
        sentence = f"not steady: {_motion(run, steady)}; the median is {sentence}"
    hidden = "" if moved else _hidden_words(steady)
    return Finding(
        FindingKind.DRIFT if moved else FindingKind.ANSWER,
        Severity.WARNING if moved or hidden else Severity.NOTE,
        sentence + hidden,
        facts=StepTimeFacts(
            step_s=summary.median,
            low_s=low,
            high_s=high,
            mean_s=steady.mean_s,
            irregular_share=steady.irregular.share,
            irregular_time_share=steady.irregular.time_share,
            n_readings=summary.n,
            n_discarded=steady.first,
        ),
    )


def _hidden_words(steady: SteadyState) -> str:
    """What the median does not show: slow steps without a period; "" where they cost little."""
    irregular = steady.irregular
    if irregular.time_share < NOTABLE_SHARE:
        return ""
    return (
        f"; but the mean is {seconds(steady.mean_s)}: {percent(irregular.share)} of the steps, "
        f"without a period, are slow and cost {percent(irregular.time_share)} of the time"
    )


def _motion(run: TrainingRun, steady: SteadyState) -> str:
    if steady.levels:
        return "; ".join(_level(run, one) for one in steady.levels)
    assert steady.drift is not None
    word = "longer" if steady.drift.change > 0 else "shorter"
    return (
        f"steps become {percent(abs(steady.drift.change))} {word} from the first third to the last"
    )


def _level(run: TrainingRun, one: LevelStep) -> str:
    word = "longer" if one.ratio > 1 else "shorter"
    return (
        f"steps take {percent(abs(one.ratio - 1))} {word} from step {int(run.steps[one.at]):,} on "
        f"(line {int(run.lines[one.at])})"
    )


def _span(low: float, high: float) -> str:
    unit = "s" if high >= 1 else "ms"
    scale = 1.0 if unit == "s" else 1e3
    ends = (format_significant(low * scale, 4), format_significant(high * scale, 4))
    return f"95 %: {ends[0]} to {ends[1]} {unit}"


def seconds(value: float) -> str:
    """'24.1 s' or '310 ms'."""
    return (
        f"{format_significant(value, 4)} s"
        if value >= 1
        else f"{format_significant(1e3 * value, 4)} ms"
    )


def percent(share: float) -> str:
    """'61 %', '4.3 %' or '0.12 %'."""
    value = 100 * share
    return f"{value:.0f} %" if value >= 10 else f"{format_significant(value, 2)} %"


def rate_words(rates: Throughput) -> str:
    """Tokens/s where they are known, else samples/s."""
    if rates.tokens_s:
        return f"{rates.tokens_s:,.0f} tokens/s"
    return f"{format_significant(rates.samples_s or 0.0, 4)} samples/s"


def _stragglers(steady: SteadyState) -> list[Finding]:
    return [
        Finding(
            FindingKind.ANOMALY,
            Severity.NOTE,
            f"{straggler_words(group)}: {percent(group.excess_s / steady.total_s)} of the time",
            facts=StragglerFacts(
                n=group.n,
                period=group.period,
                median_excess_s=group.median_excess_s,
                share=group.excess_s / steady.total_s,
            ),
        )
        for group in steady.groups
        if group.excess_s / steady.total_s >= NOTABLE_SHARE
    ]


def straggler_words(group: StragglerGroup) -> str:
    """'5 slow steps, one every 10 from step 20 on, each +12 s, 5 after a checkpoint'."""
    every = (
        f", one every {group.period:,} from step {group.first_step:,} on" if group.period else ""
    )
    lines = "" if group.period else f" ({_lines(group.lines, group.n)})"
    each = ", each" if group.n > 1 else ","
    causes = "".join(f", {n} after {_article(word)}" for word, n in group.causes)
    longer = seconds(group.median_excess_s)
    return f"{counted(group.n, 'slow step')}{lines}{every}{each} +{longer}{causes}"


def _article(word: str) -> str:
    return f"an {word}" if word[0] in "aeiou" else f"a {word}"


def _lines(lines: Sequence[int], n: int) -> str:
    word = "line" if n == 1 else "lines"
    more = " ..." if n > len(lines) else ""
    return f"{word} {', '.join(str(line) for line in lines)}{more}"


def _loss(run: TrainingRun) -> list[Finding]:
    if not run.loss_nan_line:
        return []
    sentence = f"the loss is no number from line {run.loss_nan_line} on: the training failed there"
    return [Finding(FindingKind.FAILURE, Severity.WARNING, sentence)]


def _remarks(run: TrainingRun) -> list[Finding]:
    shown = run.remarks[:_MOST_REMARKS]
    findings = [
        Finding(FindingKind.ANOMALY, Severity.NOTE, f"line {line}: {text}") for line, text in shown
    ]
    if run.n_remarks > len(shown):
        left = f"{counted(run.n_remarks - len(shown), 'more odd line')} like these"
        findings.append(Finding(FindingKind.ANOMALY, Severity.NOTE, left))
    return findings


def _no_steady_state(run: TrainingRun) -> Finding:
    n = run.times_s.size
    if n < INTERVAL_FROM:
        unknown = f"the steady step time: {counted(n, 'usable step')}, {INTERVAL_FROM} needed"
        telling = "the log of a longer run"
    else:
        unknown = (
            f"the steady step time: step times of {counted(n, 'reading')} still change in the "
            f"second half (MSER: {SOURCE})"
        )
        telling = "the log of a longer run"
    return Finding(FindingKind.NOT_ENOUGH_DATA, Severity.UNKNOWN, cannot_tell(unknown, telling))
