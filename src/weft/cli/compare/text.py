"""The text of a comparison: a line a finding, the table, coverage, caveats, next command."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from weft.cli.output import finding_lines, table_text, would_show_lines
from weft.core.finding import Finding, FindingKind, Severity
from weft.core.units import format_significant
from weft.core.words import counted

if TYPE_CHECKING:
    from weft.study.comparison.comparison import Comparison
    from weft.study.comparison.rows import ComparisonRow


def comparison_text(result: "Comparison", runs: Sequence[Path], larger: str | None) -> str:
    """The whole text; `larger` is the command that would decide what is not decided."""
    caveats = [finding for finding in result.findings if _is_caveat(finding)]
    findings = [finding for finding in result.findings if not _is_caveat(finding)]
    lines = verdict_lines(findings, result.would_show)
    if result.rows:
        lines.extend(("", _table(result.rows), ""))
    lines.append(f"covered  {_coverage(result.rows)}")
    lines.extend(f"sets     {line}" for line in _sets(result.rows))
    lines.extend(f"caveat   {finding.sentence}" for finding in caveats)
    lines.append(f"next     {larger or 'weft report ' + ' '.join(map(str, runs))}")
    return "\n".join(lines)


def verdict_lines(findings: Sequence[Finding], would_show: Sequence[str]) -> list[str]:
    """A line an effect, since its sentence has the ratio; evidence of all other findings. Behind
    the first good finding stands what would have shown."""
    from weft.study.comparison.effects import EffectFacts

    lines: list[str] = []
    shown = would_show_lines(would_show)
    for finding in findings:
        whole = finding_lines(finding)
        lines += whole[:1] if isinstance(finding.facts, EffectFacts) else whole
        if finding.severity is Severity.GOOD and shown:
            lines += shown
            shown = []
    return lines


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


def _table(rows: "Sequence[ComparisonRow]") -> str:
    """A row a cell. Values that all rows share stand once (the arms) or not at all."""
    figures = [_figures(row) for row in rows]
    sides = {(row.first, row.second) for row in rows}
    same = {
        "placement": len({row.cell.scale for row in rows}) == 1,
        "arm": len(sides) == 1,
        "pairs": len({row.n_pairs for row in rows}) == 1,
    }
    columns = [name for name in figures[0] if not same.get(name)]
    table = table_text(columns, [[row[name] for name in columns] for row in figures])
    if len(sides) > 1:
        return table
    ((first, second),) = sides
    return f"first: {first}, second: {second}\n{table}"


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
    return [
        f"on node sets like these {row.cell.text} {sets.ratio:.3f} "
        f"[{sets.low:.3f}, {sets.high:.3f}] over {sets.n_sets} sets"
        for row, sets in known
    ]
