"""The text of histories: findings, the stretches between steps, and what was left out."""

import textwrap
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.cli.output import finding_lines, would_show_lines
from weft.core.units import format_significant
from weft.core.words import counted

if TYPE_CHECKING:
    from weft.study.history.component_findings import JudgedComponents
    from weft.study.history.history import History
    from weft.study.history.history_run import HistoryCell
    from weft.study.history.run_folders import LeftOutRun
    from weft.study.history.whole_history import WholeHistory

_BARS = "▁▂▃▄▅▆▇█"
_MOST_CELLS = 6


def history_text(
    judged: Sequence["WholeHistory"], left_out: Sequence["LeftOutRun"], width: int
) -> str:
    """The whole text, folded to `width` columns."""
    lines: list[str] = []
    for one in judged:
        if len(judged) > 1:
            lines += ["", f"# {one.history.fabric}"] if lines else [f"# {one.history.fabric}"]
        for finding in one.findings:
            for line in finding_lines(finding):
                lines += _folded(line, width)
        for line in would_show_lines(one.would_show):
            lines += _folded(line, width)
        lines += ["", *_timeline(one.history, width)] if one.history.cells else []
        for line in _not_judged(one.history):
            lines += _folded(line, width)
    if not judged:
        lines.append("UNKNOWN  cannot tell: no run has a place in time and a figure")
    lines += _left_out(left_out, width)
    return "\n".join(lines)


def history_rows(judged: "WholeHistory") -> list[dict[str, Any]]:
    """A row a run and cell, in order."""
    history = judged.history
    return [
        {
            "fabric": history.fabric,
            "run": str(run.directory),
            "started_unix_s": run.started_unix_s,
            "stretch": sum(at <= row for at in history.changes.boundaries) + 1,
            "benchmark": cell.benchmark,
            "size_bytes": cell.size_bytes,
            "n_nodes": cell.n_nodes,
            "tasks_per_node": cell.tasks_per_node,
            "arm": cell.arm,
            "metric": cell.metric,
            "value": value,
        }
        for row, run in enumerate(history.runs)
        for cell, value in run.values.items()
    ]


def component_records(judged: "JudgedComponents") -> list[dict[str, Any]]:
    """A record a component: its level by metric in the last check that measured it, relative to
    others of its kind (1.1: 10 % slower), and the runs that accused it."""
    found = judged.components
    columns: dict[Any, list[int]] = {}
    for column, series in enumerate(found.series):
        columns.setdefault(series.component, []).append(column)
    records = []
    for component in found.components:
        slower = {}
        for column in columns.get(component, []):
            known = np.flatnonzero(np.isfinite(found.values[:, column]))
            last = float(np.exp(found.values[known[-1], column]))
            slower[found.series[column].metric] = round(last, 4)
        accused = found.accused.get(component, ())
        records.append(
            {
                "component": component.kind,
                "name": component.name,
                "last_slower": slower,
                "accused_by": [str(found.history.runs[at].directory) for at, _ in accused],
            }
        )
    return records


def _not_judged(history: "History") -> list[str]:
    """One line a reason for checks without components, with the first ones."""
    some = [run for run in history.runs if run.components.why_not]
    lines = []
    for reason in dict.fromkeys(run.components.why_not for run in some):
        names = [run.name for run in some if run.components.why_not == reason]
        more = f" and {len(names) - 2} more" if len(names) > 2 else ""
        lines.append(f"no components of {', '.join(names[:2])}{more}: {reason}")
    return lines


def _timeline(history: "History", width: int) -> list[str]:
    """The stretches between steps, and a strip of each cell that moved most in its group."""
    from weft.study.history.history_findings import change_text, run_date

    edges = [0, *history.changes.boundaries, len(history.runs)]
    first, last = (run_date(history, at) for at in (0, len(history.runs) - 1))
    head = f"{counted(len(history.runs), 'run')} of {history.fabric}, {first} to {last}"
    lines = textwrap.wrap(head, width)
    columns = _telling(history)
    for column in columns:
        cell = history.cells[column]
        lines.append("")
        lines += textwrap.wrap(f"{cell.text} ({cell.metric}; taller is slower)", width)
        lines.append("  " + _strip(history.slowness[:, column], edges, width - 2))
        for low, high in pairwise(edges):
            part = history.slowness[low:high, column]
            if not np.isfinite(part).any():
                continue
            text = f"  {run_date(history, low)} to {run_date(history, high - 1)}  "
            text += f"{counted(high - low, 'run'):>8}  {_level(history, cell, low, high):>8}"
            if low:
                start = np.nanmedian(history.slowness[: edges[1], column])
                ratio = float(np.exp(np.nanmedian(part) - start))
                text += "  as at first" if abs(ratio - 1) < 0.01 else f"  {change_text(ratio)}"
            lines.append(text)
    hidden = len({cell.group for cell in history.cells}) - len(columns)
    if hidden > 0:
        lines.append(f"  {counted(hidden, 'more benchmark')}: --format csv has all figures")
    return lines


def _telling(history: "History") -> list[int]:
    """Of each group the cell that moves most, the largest moves first."""
    best: dict[int, tuple[float, int]] = {}
    edges = [0, *history.changes.boundaries, len(history.runs)]
    for column, group in enumerate(history.groups):
        parts = [history.slowness[low:high, column] for low, high in pairwise(edges)]
        levels = [float(np.nanmedian(part)) for part in parts if np.isfinite(part).any()]
        move = max(levels) - min(levels)
        best[group] = max(best.get(group, (-1.0, 0)), (move, column))
    return [column for _, column in sorted(best.values(), reverse=True)][:_MOST_CELLS]


def _level(history: "History", cell: "HistoryCell", low: int, high: int) -> str:
    values = [run.values[cell] for run in history.runs[low:high] if cell in run.values]
    return format_significant(float(np.median(values)))


def _strip(values: np.ndarray[Any, Any], edges: Sequence[int], width: int) -> str:
    """A bar a run (or a few runs), '|' between stretches; outliers are as tall as a bar can be."""
    room = width - (len(edges) - 2)
    size = max(1, -(-len(values) // max(1, room - len(edges))))
    low, high = np.nanquantile(values, [0.05, 0.95])
    parts = []
    for a, b in pairwise(edges):
        bars = ""
        for at in range(a, b, size):
            part = values[at : min(b, at + size)]
            if not np.isfinite(part).any():
                bars += " "
                continue
            share = (float(np.nanmedian(part)) - low) / (high - low) if high > low else 0.5
            bars += _BARS[min(7, max(0, int(8 * share)))]
        parts.append(bars)
    return "|".join(parts)


def _folded(line: str, width: int) -> list[str]:
    indent = " " * (len(line) - len(line.lstrip()) + 4)
    return textwrap.wrap(
        line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def _left_out(left_out: Sequence["LeftOutRun"], width: int) -> list[str]:
    """One line a reason, with the first runs."""
    counts = Counter(one.reason for one in left_out)
    lines: list[str] = [""] if counts else []
    for reason, n in counts.items():
        names = [str(one.directory) for one in left_out if one.reason == reason]
        more = f" and {n - 2} more" if n > 2 else ""
        line = f"left out: {counted(n, 'run')} ({', '.join(names[:2])}{more}): {reason}"
        lines += _folded(line, width)
    if any("no time" in one.reason for one in left_out):
        lines += _folded(
            "next:  weft history --order given DIR... takes runs as you list them", width
        )
    return lines
