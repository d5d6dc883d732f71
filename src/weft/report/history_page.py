"""`weft history DIR... --html PAGE`: the components of checks, one line each."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from weft.core.words import counted
from weft.report.model import RunPage, Section, cut_table
from weft.report.page import write_page
from weft.stats.summary import Floats
from weft.study.history.component_findings import metric_word, weekday_date
from weft.study.history.component_states import (
    WORDS,
    ComponentLine,
    ComponentState,
    component_lines,
)
from weft.study.history.history import History
from weft.study.history.history_findings import change_text, run_date
from weft.study.history.run_components import PAIR
from weft.study.history.whole_history import WholeHistory

BARS = "▁▂▃▄▅▆▇█"
MOST_BARS = 12
"""Of a line: each is the median of as many checks as one has to stand for."""


def write_history_page(histories: Sequence[WholeHistory], out: Path) -> Path:
    """Write the page and return its path. Raises MissingError on a disk that refuses."""
    pages = [_page(one, f"history{i}") for i, one in enumerate(histories, start=1)]
    write_page(out, pages, verb="history", option="--html FILE")
    return out


def _page(judged: WholeHistory, name: str) -> RunPage:
    history = judged.history
    span = f"{run_date(history, 0)} to {run_date(history, len(history.runs) - 1)}"
    lines = component_lines(judged.components.components)
    return RunPage(
        id=name,
        title=history.fabric,
        subtitle=f"{counted(len(history.runs), 'run')}, {span}.",
        findings=judged.findings,
        caveats=tuple(f"would show: {one}" for one in judged.would_show),
        sections=(_components(history, lines),) if lines else (),
    )


def _components(history: History, lines: Sequence[ComponentLine]) -> Section:
    shown = [one for one in lines if one.component.kind != PAIR or _is_told(one)]
    n_hidden = len(lines) - len(shown)
    states = Counter(one.state for one in lines)
    words = [f"{states[state]:,} {state}: {WORDS[state]}" for state in WORDS if states[state]]
    text = [f"{'; '.join(words)}."]
    if n_hidden:
        text.append(f"{n_hidden:,} more pairs without a finding have no line of their own.")
    rows = [
        (one.state.value, one.component.text, bars(one.levels), _now(one), _since(history, one))
        for one in shown
    ]
    table = cut_table(
        "components of the checks; taller bars are slower than others of the kind",
        ("state", "component", "first to last check", "now", "since; accused by"),
        rows,
    )
    return Section("Components", paragraphs=tuple(text), tables=(table,))


def _is_told(line: ComponentLine) -> bool:
    quiet = (ComponentState.GOOD, ComponentState.UNKNOWN)
    return line.state not in quiet or bool(line.accused_by)


def _now(line: ComponentLine) -> str:
    if not line.slower:
        return ""
    slower = line.slower[line.worst]
    if abs(slower - 1) < 0.005:
        return "as others"
    return f"{change_text(slower)} in {metric_word(line.worst)}"


def _since(history: History, line: ComponentLine) -> str:
    texts = []
    if line.step is not None:
        texts.append(weekday_date(history, line.step.point.at))
    if line.accused_by:
        texts.append(counted(len(line.accused_by), "check"))
    return "; ".join(texts)


def bars(levels: Floats) -> str:
    """A bar for each check, or for a few; blank where none measured it. The scale of a line begins
    at its fastest level and spans 2 % at least, so that noise does not look like a step."""
    known = levels[np.isfinite(levels)]
    if not known.size:
        return ""
    low, high = np.quantile(known, [0.05, 0.95])
    span = max(float(high - low), np.log(1.02))
    texts = []
    for part in np.array_split(levels, min(MOST_BARS, len(levels))):
        if not np.isfinite(part).any():
            texts.append(" ")
            continue
        share = (float(np.nanmedian(part)) - float(low)) / span
        texts.append(BARS[min(7, max(0, int(8 * share)))])
    return "".join(texts)
