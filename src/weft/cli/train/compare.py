"""`weft train compare`: two training logs, or the prices of two steps."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from weft.cli.fail_on import exit_code_of, fail_on_option
from weft.cli.options import FILE
from weft.cli.output import emit, finding_lines, format_option
from weft.cli.train.comparison.step_pairs import StepPairs, priced_step, step_pair_options
from weft.cli.train.figure_options import figure_pair_options
from weft.core.errors import InputError
from weft.core.finding import verdict_of

if TYPE_CHECKING:
    from weft.train.log.given_figures import GivenFigures
    from weft.train.log.judged_run import JudgedRun
    from weft.train.log.step_parts import StepDifference

_RUN = click.IntRange(min=1)


@click.command("compare")
@click.argument("logs", metavar="[LOG LOG]", nargs=-1, type=FILE)
@click.option("--first-run", type=_RUN, help="The run of the first log, where it has several.")
@click.option("--second-run", type=_RUN, help="The run of the second log.")
@figure_pair_options
@step_pair_options
@fail_on_option
@format_option
def command(
    logs: tuple[Path, ...],
    *,
    first_run: int | None,
    second_run: int | None,
    given: "tuple[GivenFigures, GivenFigures]",
    steps: StepPairs,
    format_: str,
) -> int:
    """How much faster is the second log, how efficient on more GPUs, and which part moved?

    Work a second is compared in tokens, in samples where a sequence length is not stated, and in
    steps where no batch is. The interval is that of the steady steps of these two launches.

    With --platform, --model and --precision weft prices both steps as `weft train expect` does,
    and says how their difference divides into parts. Without logs it compares the two prices.

    Exit 5 where a log has fewer than six steady steps.
    """
    if len(logs) not in (0, 2) or (not logs and not steps.are_given):
        raise click.UsageError("two logs, or none and --platform, --model and --precision")
    if not logs:
        return _compare_prices(given, steps, format_)
    runs = (
        _run(logs[0], first_run, given[0], "--first-run"),
        _run(logs[1], second_run, given[1], "--second-run"),
    )
    return _compare_logs((str(logs[0]), str(logs[1])), runs, given, steps, format_)


def _compare_logs(
    names: tuple[str, str],
    runs: "tuple[JudgedRun, JudgedRun]",
    given: "tuple[GivenFigures, GivenFigures]",
    steps: StepPairs,
    format_: str,
) -> int:
    from weft.cli.train.comparison.parts_text import parts_record
    from weft.cli.train.comparison.text import comparison_text
    from weft.train.log.comparison import compare_runs
    from weft.train.log.record import run_record
    from weft.train.log.step_parts import not_priced, part_finding

    compared = compare_runs(*runs)
    difference = None
    if steps.are_given and all(one.steady is not None for one in runs):
        difference = _difference(runs, given, steps)
    parts = not_priced() if difference is None else part_finding(difference)
    findings = (compared.findings[0], parts, *compared.findings[1:])
    compared = replace(compared, findings=findings)
    emit(
        format_,
        text=lambda: comparison_text(compared, names, difference),
        record={
            "findings": [finding.to_record() for finding in compared.findings],
            "first": {"path": names[0], **run_record(runs[0])},
            "second": {"path": names[1], **run_record(runs[1])},
            "steps": None if difference is None else parts_record(difference),
        },
        rows=[_row(name, run) for name, run in zip(names, runs, strict=True)],
    )
    return exit_code_of(verdict_of(compared.findings))


def _compare_prices(
    given: "tuple[GivenFigures, GivenFigures]", steps: StepPairs, format_: str
) -> int:
    """Two steps without logs."""
    from weft.cli.train.comparison.parts_text import parts_lines, parts_record, parts_rows
    from weft.train.log.step_parts import expected_finding, part_finding

    difference = _difference((None, None), given, steps)
    findings = (expected_finding(difference), part_finding(difference))
    emit(
        format_,
        text=lambda: "\n".join(
            [
                *(line for finding in findings for line in finding_lines(finding)),
                "",
                *parts_lines(difference),
            ]
        ),
        record={
            "findings": [finding.to_record() for finding in findings],
            "steps": parts_record(difference),
        },
        rows=parts_rows(difference),
    )
    return exit_code_of(verdict_of(findings))


def _difference(
    runs: "tuple[JudgedRun | None, JudgedRun | None]",
    given: "tuple[GivenFigures, GivenFigures]",
    steps: StepPairs,
) -> "StepDifference":
    from weft.train.log.step_parts import step_difference

    first, second = (priced_step(i, steps, runs[i], given[i]) for i in range(2))
    return step_difference(first, second)


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
