"""The verdict of a check as text: verdict first, evidence, coverage and cost, next command last."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from weft.core.units import format_duration

if TYPE_CHECKING:
    from weft.core.finding import Finding
    from weft.diagnose.check.verdict import Verdict

MATRIX_MAX_NODES = 32


def verdict_text(
    verdict: "Verdict",
    *,
    seconds: float,
    planted: Sequence[Mapping[str, str]],
    next_command: str,
    matrix: bool,
) -> str:
    """The whole answer."""
    lines: list[str] = []
    for finding in verdict.findings:
        lines += [*_finding_lines(finding), ""]
    if matrix:
        lines += [matrix_text(verdict), ""]
    lines.append(f"covered  {verdict.coverage.text}")
    lines.append(f"cost     {format_duration(seconds)}")
    lines += [f"caveat   {caveat}" for caveat in verdict.caveats]
    lines += [f"planted  {one['fault']}; named: {one['named']}" for one in planted]
    lines.append(f"next     {next_command}")
    return "\n".join(lines)


def matrix_text(verdict: "Verdict") -> str:
    """Bandwidth from row to column as a share of what the hop class delivers (median)."""
    from statistics import median

    from weft.cli.output import table_text
    from weft.diagnose.check.readings import Metric

    shares: dict[tuple[str, str], list[float]] = {}
    for row in verdict.rows():
        if row["metric"] == Metric.BANDWIDTH.value and row["share"] is not None:
            shares.setdefault((row["from"], row["to"]), []).append(row["share"])
    nodes = sorted({node for pair in shares for node in pair})
    if len(nodes) > MATRIX_MAX_NODES:
        return (
            f"(the matrix of {len(nodes)} nodes does not fit a screen;"
            " --format csv has every reading)"
        )
    middle = {pair: median(values) for pair, values in shares.items()}
    rows = [[a, *(_cell(middle.get((a, b))) for b in nodes)] for a in nodes]
    return "bandwidth, share of hop class\n" + table_text(["from \\ to", *nodes], rows)


def _finding_lines(finding: "Finding") -> list[str]:
    head = f"{finding.severity.value.upper()}  {finding.sentence}"
    return [head, *(f"  - {line}" for line in finding.evidence)]


def _cell(share: float | None) -> str:
    return "-" if share is None else f"{share:.2f}"
