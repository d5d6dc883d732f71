"""`weft compare`: the arms of one run, or two runs, with intervals and one verdict."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from weft.cli.options import ANY_PATH
from weft.cli.output import emit, finding_lines, format_option, table_text
from weft.core.errors import ExitCode, InputError
from weft.core.finding import FindingKind, Severity
from weft.core.units import format_significant
from weft.study.run.store import read_run

if TYPE_CHECKING:
    from weft.study.comparison.comparison import Comparison
    from weft.study.comparison.rows import ComparisonRow


@click.command(name="compare")
@click.argument("first", metavar="RUN", type=ANY_PATH)
@click.argument("second", metavar="[RUN2]", required=False, type=ANY_PATH)
@click.option("--baseline", metavar="ARM", help="The arm to compare with, such as routing=static.")
@click.option(
    "--tolerance",
    type=click.FloatRange(0, 1),
    default=0.01,
    show_default=True,
    help="Differences below this part of the baseline count as none.",
)
@format_option
def command(
    first: Path, second: Path | None, baseline: str | None, tolerance: float, format_: str
) -> int:
    """Compare the arms of RUN with its baseline, or RUN2 with RUN.

    The effect is the ratio of paired launches with its 95 % interval; p-values are adjusted over
    all sizes. Exit 1 where something got slower or fails that did not before.
    """
    from weft.study.comparison.comparison import compare_arms, compare_runs

    if second is None:
        result = compare_arms(read_run(first), baseline=baseline, tolerance=tolerance)
    elif baseline is not None:
        raise InputError(
            "--baseline names an arm of one run, and two runs are given",
            expected="one run with --baseline, or two runs without",
        )
    else:
        result = compare_runs(read_run(first), read_run(second), tolerance=tolerance)
    rows = [row.to_record() for row in result.rows]
    emit(
        format_,
        text=lambda: _text(result, [run for run in (first, second) if run]),
        record={
            "arms": [list(pair) for pair in result.arms],
            "interleaved": result.interleaved,
            "findings": [finding.to_record() for finding in result.findings],
            "rows": rows,
        },
        rows=rows,
    )
    return result.exit_code or int(ExitCode.GOOD)


def _text(result: "Comparison", runs: list[Path]) -> str:
    """Verdict and evidence, the table, coverage, caveats, next command."""
    caveats = [
        finding
        for finding in result.findings
        if finding.severity is Severity.NOTE and finding.kind is FindingKind.ANOMALY
    ]
    lines = []
    for finding in result.findings:
        if finding not in caveats:
            lines.extend(finding_lines(finding))
    if result.rows:
        lines.extend(("", _table(result.rows), ""))
    lines.append(f"covered  {_coverage(result.rows)}")
    lines.extend(f"sets     {line}" for line in _sets(result.rows))
    lines.extend(f"caveat   {finding.sentence}" for finding in caveats)
    lines.append(f"next     weft report {' '.join(str(run) for run in runs)}")
    return "\n".join(lines)


def _coverage(rows: "tuple[ComparisonRow, ...]") -> str:
    if not rows:
        return "no benchmark and size that both sides measured"
    pairs = sorted({row.n_pairs for row in rows})
    n_pairs = str(pairs[0]) if len(pairs) == 1 else f"{pairs[0]} to {pairs[-1]}"
    launches = "launch" if pairs == [1] else "launches"
    return f"{len(rows)} cell{'' if len(rows) == 1 else 's'}, {n_pairs} paired {launches} each"


def _table(rows: "tuple[ComparisonRow, ...]") -> str:
    """A row a cell. Values that all rows share, the arms or the number of pairs, stand once."""
    figures = [_figures(row) for row in rows]
    sides = {(row.first, row.second) for row in rows}
    same = {"arm": len(sides) == 1, "pairs": len({row.n_pairs for row in rows}) == 1}
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
        "size (B)": str(row.cell.size_bytes),
        "arm": row.second,
        "metric": row.metric,
        "first": format_significant(row.median_first),
        "second": format_significant(row.median_second),
        "ratio": f"{effect.ratio:.3f}" if effect else "-",
        "95 % interval": f"{effect.low:.3f} .. {effect.high:.3f}" if effect else "-",
        "pairs": str(row.n_pairs),
        "adj. p": f"{row.p_adjusted:.2g}" if effect else "-",
        "outcome": row.outcome.value.removesuffix(" shown"),
    }


def _sets(rows: "tuple[ComparisonRow, ...]") -> list[str]:
    """The statement of the run about node sets that it did not use."""
    from weft.stats.nodesets import CannotBeKnown, SetsRatio

    unknown = [row.sets for row in rows if isinstance(row.sets, CannotBeKnown)]
    if unknown:
        return [f"the intervals hold for these node sets; {unknown[0].text}"]
    known = [(row, row.sets) for row in rows if isinstance(row.sets, SetsRatio)]
    return [
        f"on node sets like these {row.cell.text} {sets.ratio:.3f} "
        f"[{sets.low:.3f}, {sets.high:.3f}] over {sets.n_sets} sets"
        for row, sets in known
    ]
