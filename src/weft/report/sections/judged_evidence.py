"""The evidence behind a file's verdict: causes, field thresholds, coverage, sources."""

from collections import Counter

from weft.core.units import format_significant, format_size
from weft.judge.model import FileJudgement, RowState
from weft.report.model import ReportTable, Section, cut_table


def causes_section(judgement: FileJudgement) -> Section | None:
    """Causes that fit, best first, each with the test that would confirm it; None without any."""
    if not judgement.causes:
        return None
    text = ("prediction", "test that confirms it", "remedy", "source")
    columns = ("cause", "#score", "#rows", *text)
    rows = [
        (
            cause.sentence,
            f"{cause.score:.2f}",
            str(cause.n_rows),
            cause.predicts,
            cause.confirm,
            cause.remedy,
            cause.source,
        )
        for cause in judgement.causes
    ]
    paragraph = (
        "Causes from the catalogue: first those that fit equally well, each group by score. Score: "
        "the mean distance of the rows from what the cause predicts (0.05 is 5 %), with what else "
        "speaks for and against it. A fit is not a proof; the test is."
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
    columns = ("system", "test", "kind", "#threshold", "#measured", "result", "source")
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
        row.note or "no expectation covers it" for row in judgement.rows if not row.state.is_verdict
    )
    if reasons:
        cells = [(reason, str(n)) for reason, n in reasons.most_common()]
        tables.append(cut_table("Rows that were not judged", ("reason", "#rows"), cells))
    unread = [(str(one.line), one.text, one.reason) for one in judgement.unread]
    caption = f"{judgement.n_unread} lines were not understood"
    folded = (cut_table(caption, ("#line", "text", "why"), unread),) if unread else ()
    return Section("Coverage", tables=tuple(tables), folded=folded)


def _counts(judgement: FileJudgement) -> ReportTable:
    states = list(RowState)
    groups: dict[tuple[str, str, int], Counter[RowState]] = {}
    for row in judgement.rows:
        key = (row.table.test or row.table.tool, row.metric, row.table.first_line)
        groups.setdefault(key, Counter())[row.state] += 1
    columns = ("test", "metric", "#line", *(f"#{state.value}" for state in states))
    rows = [
        (test, metric, str(line), *(str(counts[state]) for state in states))
        for (test, metric, line), counts in groups.items()
    ]
    return cut_table("Rows by test", columns, rows)


def sources_section(judgement: FileJudgement) -> Section | None:
    """Sources of the expectations: binding limit, formula, figures."""
    groups: dict[tuple[str, str, str, str], list[int]] = {}
    for row in judgement.rows:
        known = row.expectation
        if known is not None:
            key = (known.bound, known.formula, known.source, known.limit_name)
            groups.setdefault(key, []).append(row.row.size_bytes or 0)
    if not groups:
        return None
    columns = ("binding limit", "sizes", "formula", "limit", "source")
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
