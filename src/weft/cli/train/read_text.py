"""The text of training logs: each run's findings, its figures, and a strip of its step times."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from weft.cli.output import finding_lines, terminal_width
from weft.core.units import format_significant
from weft.core.words import counted
from weft.train.log.judged_run import JudgedRun, seconds, straggler_words
from weft.train.log.left_out import left_out_words
from weft.train.log.steady import SteadyState
from weft.train.log.throughput import Throughput, interval

if TYPE_CHECKING:
    from weft.results.training.model import Stated
    from weft.train.log.judged_log import JudgedLog

_BARS = "▁▂▃▄▅▆▇█"
_BEGINNING = "·"
_LABEL = 10
_MOST_RUNS = 20
"""So many runs of a file are printed whole; of the others the step time."""


def logs_text(judged: "Sequence[JudgedLog]") -> str:
    """The whole text."""
    lines: list[str] = []
    for one in judged:
        many = len(judged) > 1 or len(one.runs) > 1
        if many:
            head = f"FILE  {one.log.path}: {counted(len(one.runs), 'run')}"
            lines += [*([""] if lines else []), head]
        for number, run in enumerate(one.runs[:_MOST_RUNS], start=1):
            lines += [*([""] if lines else []), *_run_lines(run, number if many else 0)]
        if len(one.runs) > _MOST_RUNS:
            lines.append(f"({len(one.runs) - _MOST_RUNS} more runs: --format json)")
    return "\n".join(lines)


def _run_lines(judged: JudgedRun, number: int) -> list[str]:
    run = judged.run
    lines = [f"RUN {number}"] if number else []
    for finding in judged.findings:
        lines += finding_lines(finding)
    lines += ["", _row("read", _what_was_read(judged))]
    if judged.steady is not None and judged.rates is not None:
        lines += [_row("steps", left_out_words(judged))]
        lines += [_row("slow", straggler_words(group)) for group in judged.steady.groups]
        lines += [_row("mean", _mean_words(judged.steady, judged.rates))]
        lines += _rate_lines(judged.rates, run.sample)
    if run.has_loss and not run.loss_nan_line:
        lines.append(_row("loss", "a number in every line: it ran"))
    return [*lines, *_strip_lines(judged)]


def _row(label: str, text: str) -> str:
    return f"{label:<{_LABEL}}{text}"


def _what_was_read(judged: JudgedRun) -> str:
    run = judged.run
    n, total = run.times_s.size, int(run.n_steps.sum())
    steps = counted(total, "step") + ("" if total == n else f" in {counted(n, 'reading')}")
    rank = f", rank {run.rank} ({run.n_ranks} ranks print them)" if run.n_ranks > 1 else ""
    span = f"lines {run.first_line} to {run.last_line}"
    if run.first_line == run.last_line:
        span = f"line {run.first_line}"
    return f"{run.title}, {span}: {steps}{rank}"


def _mean_words(steady: SteadyState, rates: Throughput) -> str:
    """The mean of all steps behind the beginning, and the rate that it gives."""
    rate = ""
    if rates.tokens_s:
        rate = f", {rates.tokens_s * steady.summary.median / steady.mean_s:,.0f} tokens/s"
    slow = " with the slow ones" if steady.groups else ""
    return f"{seconds(steady.mean_s)} a step{slow}{rate}"


def _rate_lines(rates: Throughput, sample: str) -> list[str]:
    gpus = f"{rates.gpus.value:,.0f} GPUs ({rates.gpus.source})" if rates.gpus else ""
    lines = []
    if rates.tokens_s and rates.sequence and rates.batch:
        how = (
            f"{rates.sequence.value:,.0f} tokens ({rates.sequence.source}) x batch "
            f"{rates.batch.value:,.0f} ({rates.batch.source}) / step time"
        )
        lines.append(_row("tokens/s", f"{_with_interval(rates.tokens_s, rates)} = {how}"))
    elif rates.samples_s and rates.batch:
        how = f"batch {rates.batch.value:,.0f} ({rates.batch.source}) / step time"
        label = "images/s" if sample == "image" else "samples/s"
        lines.append(_row(label, f"{_with_interval(rates.samples_s, rates)} = {how}"))
    if gpus:
        each = (rates.tokens_s or rates.samples_s or 0.0) / rates.gpus.value if rates.gpus else 0.0
        unit = "tokens/s" if rates.tokens_s else "images/s" if sample == "image" else "samples/s"
        lines.append(_row("a GPU", f"{format_significant(each)} {unit}, {gpus}" if each else gpus))
    if rates.tflops:
        mfu = f", MFU {100 * rates.mfu:.1f} % {rates.mfu_source}" if rates.mfu else ""
        value = format_significant(rates.tflops)
        lines.append(_row("FLOPs", f"{value} TFLOP/s a GPU ({rates.tflops_source}){mfu}"))
    return lines + _lacking(rates, sample)


def _lacking(rates: Throughput, sample: str) -> list[str]:
    """The options that would complete the figures."""
    lacking: list[tuple[str, Stated | None]] = [("--batch", rates.batch), ("--gpus", rates.gpus)]
    if sample == "sequence":
        lacking.insert(0, ("--sequence", rates.sequence))
    names = [name for name, stated in lacking if stated is None]
    if not names:
        return []
    return [_row("more", f"with {' and '.join(names)} N: the log does not state {_them(names)}")]


def _them(names: list[str]) -> str:
    return "it" if len(names) == 1 else "them"


def _with_interval(value: float, rates: Throughput) -> str:
    low, high = interval(value, rates)
    digits = 4
    if value >= 1e4:
        return f"{value:,.0f} ({low:,.0f} to {high:,.0f})"
    ends = f"{format_significant(low, digits)} to {format_significant(high, digits)}"
    return f"{format_significant(value, digits)} ({ends})"


def _strip_lines(judged: JudgedRun) -> list[str]:
    """A bar for some readings, the slowest of them; dots for the beginning."""
    times, steady = judged.run.times_s, judged.steady
    if times.size < 8:
        return []
    width = min((terminal_width() or 80) - 2, 78)
    size = -(-times.size // width)
    shown = times if steady is None else times[steady.first :]
    low, high = (float(one) for one in np.quantile(shown, [0.0, 0.98]))
    parts = []
    for at in range(0, times.size, size):
        if steady is not None and at + size <= steady.first:
            parts.append(_BEGINNING)
            continue
        value = float(times[at : at + size].max())
        share = (value - low) / (high - low) if high > low else 0.0
        parts.append(_BARS[min(7, max(0, int(8 * share)))])
    each = f"{counted(size, 'reading')} in a bar" if size > 1 else "one bar a reading"
    left = f"; {_BEGINNING} left out" if _BEGINNING in parts else ""
    ends = f"from {seconds(low)} to {seconds(high)}"
    return ["", f"step time, {ends}, {each}{left}", "  " + "".join(parts)]
