"""The text of two compared logs: the finding, then their figures side by side."""

from collections.abc import Callable
from pathlib import Path

from weft.cli.output import finding_lines, table_text, terminal_width
from weft.cli.train.comparison.parts_text import parts_lines
from weft.core.units import format_significant
from weft.train.log.comparison import LogComparison
from weft.train.log.judged_run import JudgedRun, percent, seconds
from weft.train.log.step_parts import StepDifference

_SHOWN_NAME, _LABELS = 28, 19
"""Columns of a log's name at most, and those of the labels with the gaps: 60 columns hold both."""


def comparison_text(
    compared: LogComparison, names: tuple[str, str], difference: StepDifference | None = None
) -> str:
    """The whole text."""
    lines = [line for finding in compared.findings for line in finding_lines(finding)]
    runs = (compared.first, compared.second)
    rows = [[label, *(cell(one) for one in runs)] for label, cell in _ROWS.items()]
    kept = [row for row in rows if any(cell != "-" for cell in row[1:])]
    own = tuple(Path(name).name for name in names)
    headers = ["", *(_short(name) for name in (own if own[0] != own[1] else names))]
    parts = ["", *parts_lines(difference)] if difference is not None else []
    return "\n".join([*lines, "", table_text(headers, kept), *parts])


def _short(name: str) -> str:
    most = min(_SHOWN_NAME, ((terminal_width() or 80) - _LABELS) // 2)
    return name if len(name) <= most else "..." + name[3 - most :]


def _interval(one: JudgedRun) -> str:
    if one.steady is None:
        return "-"
    low, high = one.steady.summary.ends
    return f"{seconds(low)} .. {seconds(high)}"


def _rate(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 1e4 else format_significant(value)


def _slow(one: JudgedRun) -> str:
    if one.steady is None:
        return "-"
    return f"{one.steady.n_stragglers} ({percent(one.steady.straggler_share)} of the time)"


_ROWS: dict[str, Callable[[JudgedRun], str]] = {
    "tool": lambda one: one.run.title,
    "step time": lambda one: seconds(one.steady.summary.median) if one.steady else "-",
    "95 %": _interval,
    "steady readings": lambda one: str(one.steady.summary.n) if one.steady else "-",
    "left out": lambda one: str(one.steady.first) if one.steady else "-",
    "slow": _slow,
    "tokens/s": lambda one: _rate(one.rates.tokens_s if one.rates else None),
    "samples/s": lambda one: _rate(one.rates.samples_s if one.rates else None),
    "GPUs": lambda one: f"{one.rates.gpus.value:,.0f}" if one.rates and one.rates.gpus else "-",
    "tokens/s a GPU": lambda one: _rate(one.rates.tokens_s_per_gpu if one.rates else None),
    "TFLOP/s a GPU": lambda one: _rate(one.rates.tflops if one.rates else None),
    "MFU": lambda one: percent(one.rates.mfu) if one.rates and one.rates.mfu else "-",
}
