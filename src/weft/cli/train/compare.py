"""`weft train compare`: two training logs."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from weft.cli.fail_on import exit_code_of, fail_on_option
from weft.cli.options import FILE
from weft.cli.output import emit, format_option
from weft.cli.train.figure_options import figure_pair_options
from weft.core.errors import InputError
from weft.core.finding import verdict_of

if TYPE_CHECKING:
    from weft.train.log.given_figures import GivenFigures
    from weft.train.log.judged_run import JudgedRun

_RUN = click.IntRange(min=1)


@click.command("compare")
@click.argument("first", metavar="LOG", type=FILE)
@click.argument("second", metavar="LOG", type=FILE)
@click.option("--first-run", type=_RUN, help="The run of the first log, where it has several.")
@click.option("--second-run", type=_RUN, help="The run of the second log.")
@figure_pair_options
@fail_on_option
@format_option
def command(
    first: Path,
    second: Path,
    *,
    first_run: int | None,
    second_run: int | None,
    given: "tuple[GivenFigures, GivenFigures]",
    format_: str,
) -> int:
    """How much faster is the second log, and how efficient on more GPUs?

    Work a second is compared in tokens, in samples where a sequence length is not stated, and in
    steps where no batch is. The interval is that of the steady steps of these two launches.

    Exit 5 where one of them has fewer than six steady steps.
    """
    from weft.cli.train.compare_text import comparison_text
    from weft.train.log.comparison import compare_runs
    from weft.train.log.record import run_record

    runs = (
        _run(first, first_run, given[0], "--first-run"),
        _run(second, second_run, given[1], "--second-run"),
    )
    compared = compare_runs(*runs)
    names = (str(first), str(second))
    emit(
        format_,
        text=lambda: comparison_text(compared, names),
        record={
            "findings": [finding.to_record() for finding in compared.findings],
            "first": {"path": names[0], **run_record(runs[0])},
            "second": {"path": names[1], **run_record(runs[1])},
        },
        rows=[_row(name, run) for name, run in zip(names, runs, strict=True)],
    )
    return exit_code_of(verdict_of(compared.findings))


def _run(path: Path, number: int | None, given: "GivenFigures", option: str) -> "JudgedRun":
    """The chosen run of a log. Raises InputError where it has several and none is chosen."""
    from weft.train.log.judged_log import judge_log

    runs = judge_log(path, given).runs
    if number is None and len(runs) > 1:
        places = ", ".join(
            f"{i}: lines {one.run.first_line} to {one.run.last_line}"
            for i, one in enumerate(runs[:6], 1)
        )
        raise InputError(
            f"{len(runs)} runs ({places}{' ...' if len(runs) > 6 else ''})",
            where=str(path),
            expected="one run",
            hint=f"{option} N chooses one",
        )
    if number is not None and number > len(runs):
        raise InputError(f"no run {number}", where=str(path), expected=f"1 to {len(runs)}")
    return runs[(number or 1) - 1]


def _row(name: str, judged: "JudgedRun") -> dict[str, Any]:
    steady, rates = judged.steady, judged.rates
    return {
        "file": name,
        "step_s": steady.summary.median if steady else None,
        "low_s": steady.summary.low if steady else None,
        "high_s": steady.summary.high if steady else None,
        "n_readings": steady.summary.n if steady else 0,
        "tokens_s": rates.tokens_s if rates else None,
        "samples_s": rates.samples_s if rates else None,
        "gpus": rates.gpus.value if rates and rates.gpus else None,
        "tflops_per_gpu": rates.tflops if rates else None,
        "mfu": rates.mfu if rates else None,
    }
