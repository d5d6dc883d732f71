"""`weft train read`: the steps of training logs."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from weft.cli.fail_on import exit_code_of, fail_on_option
from weft.cli.options import FILE
from weft.cli.output import emit, format_option, talk
from weft.cli.train.figure_options import figure_options
from weft.core.errors import ExitCode, InputError
from weft.core.finding import verdict_of
from weft.core.work.progress import each

if TYPE_CHECKING:
    from weft.train.log.given_figures import GivenFigures
    from weft.train.log.judged_log import JudgedLog


@click.command("read")
@click.argument("logs", metavar="LOG...", nargs=-1, required=True, type=FILE)
@figure_options
@click.option("--report", type=FILE, help="Write the step times as one HTML page too.")
@fail_on_option
@format_option
def command(
    logs: tuple[Path, ...], *, given: "GivenFigures", report: Path | None, format_: str
) -> int:
    """Step time, tokens/s and stragglers of training logs.

    weft leaves out the beginning that differs, and tells slow steps (checkpoints, evaluations) from
    the steady state. tokens/s = sequence x global batch / step time. TFLOP/s of a GPU and MFU are
    printed only where the log or an option states FLOPs. '-' reads standard input.

    Exit 5 where a log has no steady state.
    """
    from weft.cli.train.read_text import logs_text
    from weft.train.log.judged_log import judge_log
    from weft.train.log.record import log_record, reading_rows

    judged: list[JudgedLog] = []
    for path in each(logs, "reading logs", unit="log"):
        try:
            judged.append(judge_log(path, given))
        except InputError as error:
            if len(logs) == 1:
                raise
            talk(f"weft: {error.describe()}")
    emit(
        format_,
        text=lambda: logs_text(judged),
        record={"logs": [log_record(one.log, one.runs) for one in judged]},
        rows=[
            row
            for one in judged
            for number, run in enumerate(one.runs, start=1)
            for row in reading_rows(one.log.path, number, run)
        ]
        if format_ == "csv"
        else (),
    )
    if report is not None and judged:
        from weft.report.training_page import write_training_page

        talk(f"report: {write_training_page(judged, report)}")
    if len(judged) < len(logs):
        return int(ExitCode.INPUT)
    findings = [finding for one in judged for run in one.runs for finding in run.findings]
    return exit_code_of(verdict_of(findings))
