"""`weft compare`: the arms of one run, or two runs, with intervals and one verdict."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from weft.cli.fail_on import fail_on_option, verdict_exit_code
from weft.cli.options import ANY_PATH, ShareType
from weft.cli.output import emit, format_option
from weft.cli.progress.verb_phases import verb_phases
from weft.core.errors import InputError
from weft.core.work.progress import each
from weft.study.run.store import read_run

READ_S, COMPARE_S = 6.6, 28.0
"""The ratio of the times of both, for the bar (measured with 136,800 samples)."""

if TYPE_CHECKING:
    from weft.study.comparison.impact import ImpactRow


@click.command(name="compare")
@click.argument("first", metavar="RUN", type=ANY_PATH)
@click.argument("second", metavar="[RUN2]", required=False, type=ANY_PATH)
@click.option("--baseline", metavar="ARM", help="The arm to compare with, such as routing=static.")
@click.option(
    "--tolerance",
    type=ShareType(0, 1),
    default="1%",
    show_default=True,
    help="A smaller difference is neither faster nor slower.",
)
@click.option(
    "--margin",
    type=ShareType(1e-6, 1),
    default="5%",
    show_default=True,
    help="Equal means: two one-sided tests at 5 % rule out a difference of this size.",
)
@fail_on_option
@format_option
def command(
    *,
    first: Path,
    second: Path | None,
    baseline: str | None,
    tolerance: float,
    margin: float,
    format_: str,
) -> int:
    """Compare the arms of RUN with its baseline, or RUN2 with RUN.

    The effect is the ratio of paired launches with its 95 % interval; p-values are adjusted over
    all sizes. On a twin the node sets are the units: its launches on one set count once. Exit 1
    where something got slower or fails that did not before, 5 where a size is not decided.
    """
    from weft.cli.bench.congestion import impact_text
    from weft.cli.compare.text import comparison_text
    from weft.study.comparison.comparison import compare_arms, compare_runs
    from weft.study.comparison.impact import impact_rows
    from weft.study.comparison.larger_run import larger_command

    larger = None
    impact: list[ImpactRow] = []
    limits = {"tolerance": tolerance, "margin": margin}
    begin = verb_phases("comparing", read=READ_S, compare=COMPARE_S)
    if second is None:
        one = read_run(first)
        begin("compare")
        result = compare_arms(one, baseline=baseline, tolerance=tolerance, margin=margin)
        larger = larger_command(one, result.findings)
        impact = impact_rows(one)
    elif baseline is not None:
        raise InputError(
            "--baseline names an arm of one run, and two runs are given",
            expected="one run with --baseline, or two runs without",
        )
    else:
        before, after = (read_run(run) for run in each((first, second), "reading runs", unit="run"))
        begin("compare")
        result = compare_runs(before, after, tolerance=tolerance, margin=margin)
    rows = [row.to_record() for row in result.rows]

    def text() -> str:
        whole = comparison_text(result, [run for run in (first, second) if run], larger)
        return f"{whole}\n\n{impact_text(impact)}" if impact else whole

    emit(
        format_,
        text=text,
        record={
            "arms": [list(pair) for pair in result.arms],
            "interleaved": result.interleaved,
            **limits,
            "would_show": list(result.would_show),
            "valid_for": result.valid_for,
            "onsets": [onset.to_record() for onset in result.onsets],
            "threats": list(result.threats),
            "next_command": larger,
            "findings": [finding.to_record() for finding in result.findings],
            "rows": rows,
            **({"impact": [row.to_record() for row in impact]} if impact else {}),
        },
        rows=rows,
    )
    return verdict_exit_code(result.exit_code, result.findings)
