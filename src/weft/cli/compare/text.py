"""The text of a comparison: a line a finding, the table, coverage, caveats, next command."""

from collections.abc import Sequence
from math import log
from pathlib import Path
from typing import TYPE_CHECKING

from weft.cli.compare.matrix_text import matrix_lines
from weft.cli.output import finding_lines, table_text, terminal_width, would_show_lines
from weft.core.finding import Finding, FindingKind, Severity
from weft.core.units import format_significant
from weft.core.words import counted

if TYPE_CHECKING:
    from weft.study.comparison.comparison import Comparison
    from weft.study.comparison.rows import ComparisonRow


_MOST_EFFECTS = 6
_MOST_ANOMALIES = 4
_MOST_TABLE = 30
"""Rows of a table that a reader still reads; the matrix holds more."""
_MOST_ONSETS = 8
_MOST_SETS = 4
_USUAL_WIDTH = 100
_DROPPED_FIRST = ("metric", "adj. p", "first", "second", "pairs")
"""Columns that a narrow terminal loses, in this order."""


def comparison_text(result: "Comparison", runs: Sequence[Path], larger: str | None) -> str:
    """The whole text; `larger` is the command that would decide what is not decided."""
    from weft.study.comparison.conclusion.threats import constants_clause, power_clause

    width = terminal_width() or _USUAL_WIDTH
    caveats = [finding for finding in result.findings if _is_caveat(finding)]
    findings = [finding for finding in result.findings if not _is_caveat(finding)]
    lines = verdict_lines(findings, result.would_show)
    if result.rows:
        matrix = matrix_lines(result.rows, width)
        lines += ["", *matrix] if matrix else []
        table = _table(result.rows, width)
        is_wide = max(map(len, table.splitlines())) > width
        if not matrix or not (is_wide or len(result.rows) > _MOST_TABLE):
            lines += ["", table]
        lines.append("")
    lines.extend(_begins(result))
    lines.append(f"covered  {_coverage(result.rows)}")
    lines += [f"valid    {result.valid_for.removeprefix('Valid ')}"] if result.valid_for else []
    lines.extend(f"sets     {line}" for line in _sets(result.rows))
    if constants := constants_clause(result.overturned, result.rows):
        lines.append(f"fragile  {constants}")
    if power := power_clause(result.rows):
        lines.append(f"power    {power.removeprefix('Power: ')}")
    lines.extend(f"caveat   {finding.sentence}" for finding in caveats)
    lines.append(f"next     {larger or 'weft report ' + ' '.join(map(str, runs))}")
    return "\n".join(lines)


def _begins(result: "Comparison") -> list[str]:
    """Where effects begin along nodes, and along sizes for one number of nodes."""
    scales = {row.cell.n_nodes for row in result.rows}
    axis = "nodes" if len(scales) > 1 else "size"
    several = len(result.arms) > 1
    shown = [one for one in result.onsets if one.range_.axis == axis and one.range_.is_partial]
    lines = [
        f"where    {f'{one.second}: ' if several else ''}{one.text}" for one in shown[:_MOST_ONSETS]
    ]
    more = len(shown) - _MOST_ONSETS
    return lines + ([f"where    {more} more in the report"] if more > 0 else [])


def verdict_lines(findings: Sequence[Finding], would_show: Sequence[str]) -> list[str]:
    """A line an effect, since its sentence has the ratio; evidence of all other findings. Behind
    the first good finding stands what would have shown."""
    from weft.study.comparison.effects import EffectFacts

    lines: list[str] = []
    shown = would_show_lines(would_show)
    for finding in _shown(findings):
        whole = finding_lines(finding)
        lines += whole[:1] if isinstance(finding.facts, EffectFacts) else whole
        if finding.severity is Severity.GOOD and shown:
            lines += shown
            shown = []
    more = len(findings) - len(_shown(findings))
    return lines + ([f"{more} more findings: weft compare RUN --format json"] if more else [])


def _shown(findings: Sequence[Finding]) -> list[Finding]:
    """All findings; of effects that an answer sums up, and of anomalies, the first ones."""
    from weft.study.comparison.conclusion.anomalies import AnomalyFacts
    from weft.study.comparison.effects import EffectFacts

    effects = [one for one in findings if isinstance(one.facts, EffectFacts)]
    has_answer = any(one.kind is FindingKind.ANSWER for one in findings)
    hidden = {id(one) for one in effects[_MOST_EFFECTS:]} if has_answer else set()
    odd = [one for one in findings if isinstance(one.facts, AnomalyFacts)]
    hidden |= {id(one) for one in odd[_MOST_ANOMALIES:]}
    return [one for one in findings if id(one) not in hidden]


def _is_caveat(finding: Finding) -> bool:
    return finding.severity is Severity.NOTE and finding.kind is FindingKind.ANOMALY


def _coverage(rows: "Sequence[ComparisonRow]") -> str:
    if not rows:
        return "no benchmark and size that both sides measured"
    pairs = sorted({row.n_pairs for row in rows})
    n_pairs = str(pairs[0]) if len(pairs) == 1 else f"{pairs[0]} to {pairs[-1]}"
    units = list(dict.fromkeys(row.unit for row in rows))
    word = units[0].one if pairs == [1] else "/".join(unit.value for unit in units)
    return f"{counted(len(rows), 'cell')}, {n_pairs} paired {word} each"


def _table(rows: "Sequence[ComparisonRow]", width: int) -> str:
    """A row a cell. Values that all rows share stand once (the arms) or not at all. A terminal that
    is too narrow loses columns that --format csv has."""
    figures = [_figures(row) for row in rows]
    sides = {(row.first, row.second) for row in rows}
    same = {
        "placement": len({row.cell.scale for row in rows}) == 1,
        "arm": len(sides) == 1,
        "pairs": len({row.n_pairs for row in rows}) == 1,
    }
    columns = [name for name in figures[0] if not same.get(name)]
    table = _columns_text(columns, figures)
    for name in _DROPPED_FIRST:
        if max(map(len, table.splitlines())) > width and name in columns:
            columns.remove(name)
            table = _columns_text(columns, figures)
    if len(sides) > 1:
        return table
    ((first, second),) = sides
    return f"first: {first}, second: {second}\n{table}"


def _columns_text(columns: Sequence[str], figures: Sequence[dict[str, str]]) -> str:
    return table_text(columns, [[row[name] for name in columns] for row in figures])


def _figures(row: "ComparisonRow") -> dict[str, str]:
    from weft.stats.ratio import Ratio

    effect = row.effect if isinstance(row.effect, Ratio) else None
    return {
        "benchmark": row.cell.benchmark,
        "placement": row.cell.scale,
        "size (B)": str(row.cell.size_bytes),
        "arm": row.second,
        "metric": row.metric,
        "first": format_significant(row.median_first),
        "second": format_significant(row.median_second),
        "ratio": f"{row.effect.ratio:.3f}",
        "95 % interval": f"{effect.low:.3f} .. {effect.high:.3f}" if effect else "-",
        "pairs": str(row.n_pairs),
        "adj. p": f"{row.p_adjusted:.2g}" if effect else "-",
        "outcome": row.outcome.value,
    }


def _sets(rows: "Sequence[ComparisonRow]") -> list[str]:
    """The statement of the run about node sets that it did not use; where they are the units of
    replication, the intervals hold it."""
    from weft.stats.nodesets import CannotBeKnown, SetsRatio
    from weft.stats.ratio import Ratio
    from weft.study.comparison.replication import Unit

    rows = [row for row in rows if row.unit is Unit.LAUNCH and isinstance(row.effect, Ratio)]
    unknown = [row.sets for row in rows if isinstance(row.sets, CannotBeKnown)]
    if unknown:
        return [f"the intervals hold for these node sets; {unknown[0].text}"]
    known = [(row, row.sets) for row in rows if isinstance(row.sets, SetsRatio)]
    known.sort(key=lambda one: -abs(log(one[1].ratio)))
    lines = [
        f"on node sets like these {row.cell.text} {sets.ratio:.3f} "
        f"[{sets.low:.3f}, {sets.high:.3f}] over {sets.n_sets} sets"
        for row, sets in known[:_MOST_SETS]
    ]
    more = len(known) - _MOST_SETS
    return lines + ([f"{more} more cells: --format csv"] if more > 0 else [])
