"""The answer of `weft bisect`, and its dry run, as text and records."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from weft.cli.output import emit, finding_lines, table_text
from weft.core.finding import Finding, verdict_of
from weft.core.words import counted
from weft.study.bisect.answer import cell_rows, left_out_lines
from weft.study.bisect.decision import most_cells

if TYPE_CHECKING:
    from weft.study.bisect.decision import Decisions
    from weft.study.bisect.launches import CommandUnderTest
    from weft.study.bisect.variables import Differences

LONGEST_VALUE = 40
"""Letters of a value that the table shows; the command lines below it have all."""


def print_answer(
    decisions: "Decisions",
    findings: Sequence[Finding],
    test: "CommandUnderTest",
    where: Path,
    format_: str,
) -> None:
    """Print the findings, the run directory and what to do next."""
    rows = cell_rows(decisions, test.variables)
    record = {
        "run": str(where),
        "verdict": verdict_of(findings).value,
        "findings": [one.to_record() for one in findings],
        "figure": decisions.figure,
        "launches": decisions.n_launches,
        "environments": rows,
    }

    def text() -> str:
        lines = [line for one in findings for line in finding_lines(one)]
        following = next((one.next_command for one in findings if one.next_command), None)
        return "\n".join(
            [*lines, f"kept:  {where}", *([f"next:  {following}"] if following else [])]
        )

    emit(format_, text=text, record=record, rows=rows)


def print_dry_run(test: "CommandUnderTest", between: "Differences", format_: str) -> None:
    """Print what differs, and the commands of GOOD and BAD."""
    n = len(between.variables)
    rows = [one.to_record() for one in between.variables]
    good, bad = (test.recipe(frozenset(changed)) for changed in ((), range(n)))

    def text() -> str:
        cells = [
            [one.name, _short(one.shown_good), _short(one.shown_bad)] for one in between.variables
        ]
        return "\n".join(
            [
                f"{counted(n, 'variable')} to search, {most_cells(n)} environments at most",
                "",
                table_text(("variable", "good", "bad"), cells, left=3),
                "",
                *left_out_lines(between.left_out),
                f"GOOD  {good}",
                f"BAD   {bad}",
            ]
        )

    record = {
        "dry_run": True,
        "variables": rows,
        "not_compared": dict(between.left_out),
        "most_environments": most_cells(n),
        "commands": {"good": good, "bad": bad},
    }
    emit(format_, text=text, record=record, rows=rows)


def _short(value: str) -> str:
    return value if len(value) <= LONGEST_VALUE else f"{value[: LONGEST_VALUE - 3]}..."
