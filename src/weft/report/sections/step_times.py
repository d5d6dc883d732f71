"""The step times of a training run, and its figures with their sources."""

from typing import NamedTuple

import numpy as np

from weft.core.units import format_significant
from weft.core.words import counted
from weft.report.charts import step_times as charts
from weft.report.model import FactTable, ReportFigure, Section, cut_table
from weft.train.log.judged_run import JudgedRun, rate_words, seconds, straggler_words
from weft.train.log.left_out import left_out_words

MOST_POINTS = 1500
"""In a chart: each is the slowest reading of as many as one has to stand for."""


class _Point(NamedTuple):
    step: int
    value: float
    state: str


def section(judged: JudgedRun, prefix: str) -> Section | None:
    """The chart and its table; None of a run without a steady state, whose first line says why."""
    run, steady = judged.run, judged.steady
    if steady is None or judged.rates is None:
        return None
    size = -(-run.times_s.size // MOST_POINTS)
    shown = [
        at + int(np.argmax(run.times_s[at : at + size])) for at in range(0, run.times_s.size, size)
    ]
    rows = [_Point(int(run.steps[at]), float(run.times_s[at]), _state(judged, at)) for at in shown]
    low, high = steady.summary.ends
    rate = f", {rate_words(judged.rates)}" if judged.rates.samples_s else ""
    title = f"A step takes {seconds(steady.summary.median)} in the steady state{rate}"
    joined = f" Each point is the slowest of {counted(size, 'reading')}." if size > 1 else ""
    cells = [
        (f"{one.step:,}", format_significant(one.value), one.state, str(int(run.lines[at])))
        for at, one in zip(shown, rows, strict=True)
    ]
    figure = ReportFigure(
        id=f"{prefix}-steps",
        title=title,
        how_to_read=(
            f"Steps {left_out_words(judged)}; those are grey. The line is the median of the steady "
            f"steps, the band its 95 % interval.{joined}"
        ),
        spec=charts.step_times(
            [one._asdict() for one in rows],
            (steady.summary.median, low, high),
            description=f"{title}. The table below holds the same figures.",
        ),
        table=cut_table("step times", ("#step", "#time (s)", "state", "#line"), cells),
    )
    return Section("Step by step", figures=(figure,))


def _state(judged: JudgedRun, at: int) -> str:
    assert judged.steady is not None
    if at < judged.steady.first:
        return charts.LEFT_OUT
    return charts.STEADY if judged.steady.kept[at] else charts.SLOW


def figures(judged: JudgedRun) -> Section | None:
    """The figures of the steady state, each with its source."""
    rates, steady = judged.rates, judged.steady
    if rates is None or steady is None:
        return None
    low, high = steady.summary.ends
    rows = [("step time", f"{seconds(steady.summary.median)} ({seconds(low)} to {seconds(high)})")]
    stated = (
        ("sequence length", rates.sequence),
        ("global batch", rates.batch),
        ("GPUs", rates.gpus),
    )
    rows += [(name, f"{one.value:,.0f} ({one.source})") for name, one in stated if one]
    if rates.samples_s:
        rows.append(("throughput", rate_words(rates)))
    if rates.tflops:
        value = format_significant(rates.tflops)
        rows.append(("FLOPs", f"{value} TFLOP/s a GPU ({rates.tflops_source})"))
    if rates.mfu:
        rows.append(("MFU", f"{100 * rates.mfu:.1f} % {rates.mfu_source}"))
    rows += [("slow steps", straggler_words(group)) for group in steady.groups]
    rows.append(("steps", left_out_words(judged)))
    return Section("Figures", facts=(FactTable("Steady state", tuple(rows)),))
