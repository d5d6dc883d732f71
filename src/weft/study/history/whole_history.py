"""A history judged as a whole: its cells, and the components of its checks."""

from dataclasses import dataclass

from weft.core.finding import Finding, worst_first
from weft.study.history.component_findings import JudgedComponents, judge_components
from weft.study.history.history import History
from weft.study.history.history_findings import JudgedHistory, judge_history


@dataclass(frozen=True, slots=True)
class WholeHistory:
    """`cells` and `components` with the findings of both, worst first, and what would have
    shown."""

    cells: JudgedHistory
    components: JudgedComponents
    findings: tuple[Finding, ...]
    would_show: tuple[str, ...]

    @property
    def history(self) -> History:
        """The runs."""
        return self.cells.history


def judge_whole(history: History) -> WholeHistory:
    """All findings of a history."""
    components = judge_components(history)
    moved = {change.key for step in components.components.steps for change in step.changed}
    cells = judge_history(history, moved)
    return WholeHistory(
        cells,
        components,
        worst_first([*components.findings, *cells.findings]),
        (*components.would_show, *cells.would_show),
    )
