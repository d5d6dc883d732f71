"""A judgement as text: verdict, causes, rows with a picture, thresholds, coverage, next command."""

from collections.abc import Sequence

from weft.cli.judge.picture import picture
from weft.cli.output import finding_lines, table_text, would_show_lines
from weft.core.finding import FindingKind, Severity, cannot_tell
from weft.core.units import format_significant, format_size
from weft.core.words import counted
from weft.expect.model import Expectation
from weft.judge.model import FileJudgement, JudgedRow, LikelyCause, RowState

MOST_BOUNDS = 8
"""So many changes of the bound are listed."""
HEADERS = ["size", "measured", "expected", "limit", "unit", "state"]
BARE_HEADERS = ["size", "measured", "unit"]
"""Columns of a table for which nothing is expected."""
MOST_TESTS = 24
"""So many tests of one row each are printed whole."""
MOST_TABLES = 24
"""So many tables of a file are printed, those with a row that stands out first."""
SHORT_TABLE = 12
"""Tables of so many rows are printed whole."""


def judgement_text(judgement: FileJudgement, *, all_rows: bool) -> str:
    """The whole answer about one file."""
    lines: list[str] = []
    for finding in judgement.findings:
        lines += finding_lines(finding)
        if finding is judgement.findings[0]:
            lines += would_show_lines(judgement.would_show)
            lines += _open_lines(judgement)
    impossible = judgement.findings[0].kind is FindingKind.BEYOND_LIMIT
    heading = "USUAL EXPLANATIONS" if impossible else "LIKELY CAUSES"
    lines += _cause_lines(judgement.causes, heading)
    groups = _side_by_side(tables_of(judgement.rows))
    shown = groups if all_rows else _telling_groups(groups)
    for together in shown:
        lines += ["", *_tables_lines(together, all_rows=all_rows)]
    if len(shown) < len(groups):
        lines += ["", f"({len(groups) - len(shown)} more tables: --all-rows)"]
    lines += _field_lines(judgement)
    lines += ["", *_coverage_lines(judgement), f"next     {judgement.next_command}"]
    return "\n".join(lines)


def _open_lines(judgement: FileJudgement) -> list[str]:
    """Without a verdict: the question that stays open, and the command that would answer it."""
    if judgement.severity is not Severity.UNKNOWN:
        return []
    telling = judgement.next_command or "a longer run"
    if judgement.platform:
        telling = "rows of larger messages, or --against results of your own machine"
    if any(row.contradictory for row in judgement.rows):
        telling = "the whole output of the tool, as it was printed, or the same test again"
    elif judgement.findings[0].kind is FindingKind.ABOVE_EXPECTED:
        telling = "another --platform, or --against results of your own machine"
    return [f"UNKNOWN  {cannot_tell('whether this path is healthy', telling)}"]


def tables_of(rows: Sequence[JudgedRow]) -> list[list[JudgedRow]]:
    """Rows by table, in the order of the file."""
    found: dict[int, list[JudgedRow]] = {}
    for row in rows:
        found.setdefault(id(row.table), []).append(row)
    return list(found.values())


def _side_by_side(tables: Sequence[list[JudgedRow]]) -> list[list[list[JudgedRow]]]:
    """Tables that follow each other and have one row each, as GPCNeT's, are shown as one."""
    groups: list[list[list[JudgedRow]]] = []
    for rows in tables:
        last = groups[-1][-1] if groups else rows
        alike = len(rows) == len(last) == 1 and _ran(rows) == _ran(last)
        if groups and alike:
            groups[-1].append(rows)
        else:
            groups.append([rows])
    return groups


def _telling_groups(groups: Sequence[list[list[JudgedRow]]]) -> list[list[list[JudgedRow]]]:
    """At most `MOST_TABLES`, in their order: first those with a row that stands out."""
    stands_out = [any(row.noticed for rows in group for row in rows) for group in groups]
    first = sorted(range(len(groups)), key=lambda i: (not stands_out[i], i))[:MOST_TABLES]
    return [groups[i] for i in sorted(first)]


def _ran(rows: Sequence[JudgedRow]) -> tuple[str, str, int | None, int | None]:
    table = rows[0].table
    return table.tool, table.version, table.n_ranks, table.n_nodes


def _tables_lines(together: Sequence[list[JudgedRow]], *, all_rows: bool) -> list[str]:
    if len(together) == 1:
        return _table_lines(together[0], all_rows=all_rows)
    rows = [row for one in together for row in one]
    shown = rows if all_rows or len(rows) <= MOST_TESTS else noteworthy(rows)
    cells = [[_test_of(row), *_cells(row)] for row in shown]
    hidden = len(rows) - len(shown)
    return [
        f"{_title(rows[0], '')}, {len(rows)} tests",
        table_text(["test", *HEADERS], cells, left=2),
        *picture(shown),
        *([f"({hidden} more rows like these: --all-rows)"] if hidden else []),
    ]


def _test_of(row: JudgedRow) -> str:
    state = row.row.labels.get("state", "")
    return " ".join(text for text in (row.table.test, state) if text)


def _title(row: JudgedRow, test: str) -> str:
    table = row.table
    what = " ".join(text for text in (table.tool, table.version, test) if text)
    where = [
        counted(count, word)
        for count, word in ((table.n_ranks, "rank"), (table.n_nodes, "node"))
        if count
    ]
    return f"TABLE  line {table.first_line}  {', '.join([what, *where])}"


def _cause_lines(causes: Sequence[LikelyCause], heading: str) -> list[str]:
    if not causes:
        return []
    lines = ["", f"{heading}, by score (0.05: 5 % off)"]
    for rank, cause in enumerate(causes, start=1):
        lines += [
            f"  {rank}. {cause.name}: {cause.sentence}",
            f"     score {cause.score:.2f}: predicts {cause.predicts}",
            f"     to confirm: {cause.confirm}",
            f"     remedy: {cause.remedy}",
        ]
    tied = [cause.name for cause in causes if cause.tied]
    if tied:
        lines.append(f"  {', '.join(tied)} fit this file equally well: confirm which")
    return lines


def _table_lines(rows: Sequence[JudgedRow], *, all_rows: bool) -> list[str]:
    table = rows[0].table
    shown = rows if all_rows else noteworthy(rows)
    title = _title(rows[0], table.test)
    if not any(row.expectation for row in rows):
        cells = [_bare_cells(row) for row in shown]
        lines = [title, table_text(BARE_HEADERS, cells, left=1), *picture(shown)]
    else:
        cells = [_cells(row) for row in shown]
        lines = [title, table_text(HEADERS, cells, left=1), *_binding_lines(rows), *picture(shown)]
    hidden = len(rows) - len(shown)
    if hidden:
        lines.append(f"({hidden} more rows like these: --all-rows)")
    return lines


def _binding_lines(rows: Sequence[JudgedRow]) -> list[str]:
    """The bound of the expectation, from which size on."""
    sized = sorted(
        ((row.row.size_bytes or 0, row.expectation.bound) for row in rows if row.expectation),
        key=lambda pair: pair[0],
    )
    lines: list[str] = []
    last = ""
    for size, bound in sized:
        if bound != last:
            lines.append(f"from {format_size(size):>8}  {bound}")
            last = bound
    most = len(lines) > MOST_BOUNDS
    return ["limited by", *lines[:MOST_BOUNDS], *(["..."] if most else [])] if lines else []


def noteworthy(rows: Sequence[JudgedRow]) -> list[JudgedRow]:
    """Rows that stand out, and of the others the smallest, the median and the largest."""
    if len(rows) <= SHORT_TABLE:
        return list(rows)
    keep = {0, len(rows) // 2, len(rows) - 2, len(rows) - 1}
    return [row for i, row in enumerate(rows) if row.noticed or i in keep]


def _cells(row: JudgedRow) -> list[str]:
    found = row.expectation
    size = "-" if row.row.size_bytes is None else format_size(row.row.size_bytes)
    placement = row.row.labels.get("placement", "")
    return [
        f"{size} {placement}".rstrip(),
        format_significant(row.value, 4),
        f"{_short(found.low)} .. {_short(found.high)}" if found else "-",
        _limit(found) if found else "-",
        row.unit,
        row.state.value + (" inconsistent" if row.odd else ""),
    ]


def _bare_cells(row: JudgedRow) -> list[str]:
    size, value, _, _, unit, _ = _cells(row)
    return [size, value, f"{unit} inconsistent" if row.odd else unit]


def _limit(found: Expectation) -> str:
    return _short(found.limit) if found.limit else "-"


def _short(value: float) -> str:
    return format_significant(value, 3)


def _field_lines(judgement: FileJudgement) -> list[str]:
    if not judgement.field:
        return []
    lines = ["", "PUBLISHED THRESHOLDS (not weft's prediction)"]
    for one in judgement.field:
        lines.append(
            f"  {one.word}: {one.system}, {one.test}: {one.threshold:g} {one.unit} ({one.kind}),"
            f" measured {format_significant(one.measured, 4)} [{one.source}]"
        )
    return lines


def _coverage_lines(judgement: FileJudgement) -> list[str]:
    rows = judgement.rows
    judged = sum(row.state.is_verdict for row in rows)
    too_wide = sum(row.state is RowState.TOO_WIDE for row in rows)
    platform = judgement.platform or "unknown"
    lines = [
        f"platform {platform}: {judgement.platform_because}",
        f"covered  {judged} of {len(rows)} rows judged"
        + (f", {too_wide} too wide to tell" if too_wide else ""),
    ]
    notes = dict.fromkeys(
        row.note for row in rows if not row.state.is_verdict and row.note and not row.odd
    )
    lines += [f"         not judged: {note}" for note in notes]
    lines += [f"caveat   {remark}" for remark in judgement.remarks]
    lines += [f"elsewhere {line}" for line in judgement.generic]
    if judgement.n_unread:
        numbers = ", ".join(str(one.line) for one in judgement.unread[:10])
        lines.append(f"unread   {counted(judgement.n_unread, 'line')} not understood: {numbers}")
    return lines
