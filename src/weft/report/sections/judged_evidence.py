"""The evidence behind a file's verdict: causes, field thresholds, coverage, sources."""

from collections import Counter

from weft.core.units import format_significant, format_size
from weft.judge.model import FileJudgement, RowState
from weft.report.model import ReportTable, Section, cut_table, figure_columns, text_columns


def causes_section(judgement: FileJudgement) -> Section | None:
    """Causes that fit, best first, each with the test that would confirm it; None without any."""
    if not judgement.causes:
        return None
    columns = (
        *text_columns("cause"),
        *figure_columns("off by (%)", "rows"),
        *text_columns("prediction", "test that confirms it", "remedy", "source"),
    )
    rows = [
        (
            cause.sentence,
            f"{100 * cause.misfit:.0f}",
            str(cause.n_rows),
            cause.predicts,
            cause.confirm,
            cause.remedy,
            cause.source,
        )
        for cause in judgement.causes
    ]
    paragraph = (
        "Causes from the catalogue, best fit first. Off by: the mean distance of the rows from "
        "what the cause predicts. A fit is not a proof; the test is."
    )
    return Section(
        "Possible causes", (paragraph,), tables=(cut_table("Causes that fit", columns, rows),)
    )


def generic_section(judgement: FileJudgement) -> Section | None:
    """Normal values of each link generation, if no platform is known."""
    if not judgement.generic:
        return None
    return Section("Normal values by link generation", judgement.generic)


def field_section(judgement: FileJudgement) -> Section | None:
    """Field thresholds next to the measured values; None without any."""
    if not judgement.field:
        return None
    columns = (
        *text_columns("system", "test", "kind"),
        *figure_columns("threshold", "measured"),
        *text_columns("result", "source"),
    )
    rows = [
        (
            one.system,
            one.test,
            one.kind,
            f"{format_significant(one.threshold)} {one.unit}",
            f"{format_significant(one.measured)} {one.unit}",
            one.word,
            one.source,
        )
        for one in judgement.field
    ]
    paragraph = "Limits that others use on such machines. They do not change the verdict above."
    return Section(
        "Field thresholds", (paragraph,), tables=(cut_table("Thresholds", columns, rows),)
    )


def coverage_section(judgement: FileJudgement) -> Section:
    """Rows of each test by state, and the reasons of rows that were not judged."""
    tables = [_counts(judgement)]
    reasons = Counter(
        row.note or "no expectation covers it"
        for row in judgement.rows
        if row.state is RowState.UNJUDGED
    )
    if reasons:
        columns = (*text_columns("reason"), *figure_columns("rows"))
        cells = [(reason, str(n)) for reason, n in reasons.most_common()]
        tables.append(cut_table("Rows that were not judged", columns, cells))
    folded = _unread(judgement)
    return Section("Coverage", tables=tuple(tables), folded=folded)


def _unread(judgement: FileJudgement) -> tuple[ReportTable, ...]:
    """Lines of a tool's output that no reader understood."""
    if not judgement.unread:
        return ()
    columns = (*figure_columns("line"), *text_columns("text", "why"))
    rows = [(str(one.line), one.text, one.reason) for one in judgement.unread]
    return (cut_table(f"{judgement.n_unread} lines were not understood", columns, rows),)


def _counts(judgement: FileJudgement) -> ReportTable:
    states = list(RowState)
    groups: dict[tuple[str, str, int], Counter[RowState]] = {}
    for row in judgement.rows:
        key = (row.table.test or row.table.tool, row.metric, row.table.first_line)
        groups.setdefault(key, Counter())[row.state] += 1
    columns = (
        *text_columns("test", "metric"),
        *figure_columns("line"),
        *figure_columns(*(state.value for state in states)),
    )
    rows = [
        (test, metric, str(line), *(str(counts[state]) for state in states))
        for (test, metric, line), counts in groups.items()
    ]
    return cut_table("Rows by test", columns, rows)


def sources_section(judgement: FileJudgement) -> Section | None:
    """Sources of the expectations: what binds, by which formula, from which figures."""
    groups: dict[tuple[str, str, str, str], list[int]] = {}
    for row in judgement.rows:
        known = row.expectation
        if known is not None:
            key = (known.bound, known.formula, known.source, known.limit_name)
            groups.setdefault(key, []).append(row.row.size_bytes or 0)
    if not groups:
        return None
    columns = text_columns("binding limit", "sizes", "formula", "limit", "source")
    rows = [
        (bound, _sizes(sizes), formula, limit or "-", source)
        for (bound, formula, source, limit), sizes in groups.items()
    ]
    table = cut_table(f"Expectations on platform {judgement.platform}", columns, rows)
    return Section("Sources of the expectations", tables=(table,))


def _sizes(sizes: list[int]) -> str:
    if set(sizes) == {0}:
        return "-"
    low, high = min(sizes), max(sizes)
    return format_size(low) if low == high else f"{format_size(low)} to {format_size(high)}"
