"""`weft doctor log FILE...`: the reports of libraries in logs, and their faults."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from weft.cli.fail_on import exit_code_of, fail_on_option
from weft.cli.output import emit, format_option

if TYPE_CHECKING:
    from weft.bench.logs.ranks import JobLog, LogRank
    from weft.core.finding import Finding
    from weft.doctor.log.aspects import Aspect

MOST_EVIDENCE = 6
WORDS = {
    "bad": "BAD",
    "unknown": "UNKNOWN",
    "warning": "WARN",
    "note": "note",
    "good": "GOOD",
}
SOURCE_KEYS = ("name", "n_lines", "n_bytes", "n_understood", "n_torn")


@click.command("log")
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option(
    "--env",
    "script",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The job script: find which of its variables had no effect.",
)
@click.option(
    "--predicted",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Output of weft doctor container --predict-log: find the first line that differs.",
)
@click.option("--ranks", "shows_ranks", is_flag=True, help="A line for each rank, too.")
@click.option("--rank", "number", type=int, help="Everything this rank logged, too.")
@fail_on_option
@format_option
def command(
    files: tuple[str, ...],
    script: Path | None,
    predicted: Path | None,
    number: int | None,
    *,
    shows_ranks: bool,
    format_: str,
) -> int:
    """Show which networks ranks used and why, from logs of NCCL, RCCL (NCCL_DEBUG=INFO) or an MPI.

    Files of several ranks or hosts are read as one job; lines of other programs are skipped.
    '-' is standard input, so that `zcat job.log.gz | weft doctor log -` reads a compressed one.

    Exit 1 if a fault is found, 5 if the log does not suffice for a verdict.
    """
    from weft.bench.logs.log_facts import read_logs
    from weft.bench.logs.ranks import job_log
    from weft.bench.logs.verification import unverified
    from weft.catalog.load import variable_lists
    from weft.core.finding import Severity
    from weft.doctor.log.account import would_show
    from weft.doctor.log.aspects import aspects
    from weft.doctor.log.judge import in_order, judge, log_verdict
    from weft.doctor.log.plugin_lines import read_plugin_lines
    from weft.doctor.log.prediction import judge_prediction, read_prediction
    from weft.doctor.log.rank_rows import rank_rows
    from weft.doctor.log.settings import judge_settings
    from weft.doctor.readers.file import job_of

    prediction = read_prediction(predicted) if predicted is not None else None
    lines = read_plugin_lines(files) if prediction is not None else None
    log = job_log(read_logs(files))
    parted = judge_prediction(log, lines, prediction) if prediction and lines else ()
    settings = judge_settings(log, job_of(script), variable_lists()) if script is not None else ()
    findings = in_order([*judge(log), *settings, *parted])
    verdict = log_verdict(findings)
    shown = would_show(log) if verdict is Severity.GOOD else ()
    rows = rank_rows(log)
    own = [] if number is None else aspects(log.of_rank(_rank(log, number)))
    emit(
        format_,
        text=lambda: _text(log, findings, rows if shows_ranks else [], number, own, shown=shown),
        record={
            "schema": "weft.doctor-log/1",
            "verdict": verdict.value,
            "would_show": list(shown),
            "findings": [finding.to_record() for finding in findings],
            "unverified": unverified(log.facts),
            "aspects": {aspect.name: aspect.values for aspect in aspects(log)},
            "ranks": rows,
            **({} if number is None else {"rank": {aspect.name: aspect.values for aspect in own}}),
            "sources": [
                {key: getattr(source, key) for key in SOURCE_KEYS} for source in log.facts.sources
            ],
        },
        rows=rows,
    )
    return exit_code_of(verdict)


def _rank(log: "JobLog", number: int) -> "LogRank":
    """The rank of that number. Raises InputError where the logs have none."""
    from weft.core.errors import InputError

    for rank in log.ranks:
        if rank.number == number:
            return rank
    raise InputError(
        f"no rank {number} in the logs",
        expected=f"one of {log.n_expected:,} ranks in the logs",
        hint="--ranks lists them",
    )


def _text(
    log: "JobLog",
    findings: "Sequence[Finding]",
    rows: list[dict[str, Any]],
    number: int | None,
    own: "Sequence[Aspect]",
    *,
    shown: Sequence[str],
) -> str:
    from weft.cli.output import table_text, would_show_lines
    from weft.doctor.log.aspects import aspects

    lines: list[str] = []
    for finding in findings:
        lines.append(f"{WORDS[finding.severity.value]:<4}  {finding.sentence}")
        lines += [f"      {one}" for one in finding.evidence[:MOST_EVIDENCE]]
        if finding is findings[0]:
            lines += would_show_lines(shown)
    lines += ["", *_aspect_lines(aspects(log))]
    if number is not None:
        lines += ["", f"rank {number}", "", *_aspect_lines(own)]
    if rows:
        names = list(rows[0])
        cells = [["" if row[name] is None else str(row[name]) for name in names] for row in rows]
        lines += ["", table_text(names, cells, left=len(names))]
    n_lines, n_bytes, n_understood = (
        sum(getattr(source, key) for source in log.facts.sources) for key in SOURCE_KEYS[1:4]
    )
    lines += ["", f"read  {n_lines:,} lines, {n_bytes / 1e6:.1f} MB; {n_understood:,} understood"]
    if any(finding.severity.value in ("bad", "warning") for finding in findings):
        lines.append("next  weft doctor env SCRIPT, for the settings it was launched with")
    return "\n".join(lines)


def _aspect_lines(shown: "Sequence[Aspect]") -> list[str]:
    width = max(len(aspect.name) for aspect in shown)
    return [f"{aspect.name:<{width}}  {aspect.text}" for aspect in shown]
