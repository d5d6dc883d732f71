"""The parts of a page before any HTML: sections, figures, tables, facts. All text is plain."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from weft.core.finding import Finding, Severity

Spec = Mapping[str, Any]
"""A Vega-Lite specification as plain JSON values."""

MAX_TABLE_ROWS = 500
"""A table in the page is cut here, with a note; the run directory holds every row."""


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A header with its unit; figures are set to the right."""

    header: str
    is_figure: bool


@dataclass(frozen=True, slots=True)
class ReportTable:
    """Rows of cells as they are printed; `n_cut` rows were left out."""

    caption: str
    columns: tuple[TableColumn, ...]
    rows: tuple[tuple[str, ...], ...]
    n_cut: int = 0

    @property
    def is_long(self) -> bool:
        """Whether a reader would scroll past it."""
        return len(self.rows) > 30

    @property
    def is_short(self) -> bool:
        """Whether it fits next to its chart on paper."""
        return not self.is_long and len(self.columns) <= 6


@dataclass(frozen=True, slots=True)
class ReportFigure:
    """A chart with its table. `title` states the finding; `how_to_read` explains the marks."""

    id: str
    title: str
    how_to_read: str
    spec: Spec
    table: ReportTable


@dataclass(frozen=True, slots=True)
class LegendKey:
    """A square of a legend: its colour, its mark, and their meaning."""

    square: Markup
    words: str


@dataclass(frozen=True, slots=True)
class ReportDrawing:
    """An SVG that needs no script. `title` states the finding; `how_to_read` explains the marks;
    `narrow`: two of them stand side by side; `zooms`: the page's script, which finds the drawing by
    its `id`, enlarges parts of it."""

    title: str
    how_to_read: str
    svg: Markup
    legend: tuple[LegendKey, ...] = ()
    table: ReportTable | None = None
    narrow: bool = False
    id: str = ""
    legend_title: str = ""
    zooms: bool = False


@dataclass(frozen=True, slots=True)
class FactTable:
    """Names and values, one a line, under a caption."""

    caption: str
    rows: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and its content, in this order: paragraphs, drawings, figures, tables,
    facts, and `folded` tables, which are open on paper only."""

    heading: str
    paragraphs: tuple[str, ...] = ()
    figures: tuple[ReportFigure, ...] = ()
    tables: tuple[ReportTable, ...] = ()
    facts: tuple[FactTable, ...] = ()
    verbatim: tuple[tuple[str, str], ...] = ()
    folded: tuple[ReportTable, ...] = ()
    drawings: tuple[ReportDrawing, ...] = ()


@dataclass(frozen=True, slots=True)
class RunPage:
    """One run on the page: its verdict first, then its sections. `good_label`: that of its good
    findings, the word of the verb that judged it. `valid_for`: the range of a study's verdicts."""

    id: str
    title: str
    subtitle: str
    findings: tuple[Finding, ...]
    caveats: tuple[str, ...]
    sections: tuple[Section, ...]
    good_label: str = Severity.GOOD.value.upper()
    valid_for: str = ""

    def label(self, finding: Finding) -> str:
        """The label of a finding."""
        is_good = finding.severity is Severity.GOOD
        return self.good_label if is_good else finding.severity.value.upper()


def cut_table(
    caption: str,
    headers: Sequence[str],
    rows: Sequence[Sequence[str]],
    n_rows: int | None = None,
) -> ReportTable:
    """A table of at most MAX_TABLE_ROWS rows that knows how many it left out, of `n_rows` where
    `rows` are not all. A '#' before a header marks a column of figures, set to the right."""
    columns = tuple(TableColumn(one.removeprefix("#"), one.startswith("#")) for one in headers)
    kept = tuple(tuple(row) for row in rows[:MAX_TABLE_ROWS])
    return ReportTable(caption, columns, kept, (n_rows or len(rows)) - len(kept))
