"""`weft doctor log FILE...`: what libraries say they did, and what is wrong with it."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from weft.cli.output import emit, format_option
from weft.core.errors import ExitCode

if TYPE_CHECKING:
    from weft.bench.logs.ranks import JobLog
    from weft.core.finding import Finding

MOST_EVIDENCE = 6


@click.command("log")
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option(
    "--env",
    "script",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="What it was launched with: which of its variables had no effect.",
)
@click.option("--ranks", "shows_ranks", is_flag=True, help="A line for each rank, too.")
@format_option
def command(files: tuple[str, ...], script: Path | None, *, shows_ranks: bool, format_: str) -> int:
    """What ranks used and why, from FILES that NCCL or RCCL (NCCL_DEBUG=INFO) or an MPI logged.

    Files of several ranks or hosts are read as one job; lines of other programs are passed over.
    '-' is standard input, so that `zcat job.log.gz | weft doctor log -` reads a compressed one.

    Exit 1 where something is wrong.
    """
    from weft.bench.logs.ranks import job_log
    from weft.bench.logs.said import read_logs
    from weft.doctor.log.aspects import aspects
    from weft.doctor.log.judge import in_order, judge, worst

    log = job_log(read_logs(files))
    findings = in_order([*judge(log), *_settings(log, script)])
    rows = rank_rows(log)
    emit(
        format_,
        text=lambda: _text(log, findings, rows if shows_ranks else []),
        record={
            "schema": "weft.doctor-log/1",
            "verdict": worst(findings).value,
            "findings": [finding.to_record() for finding in findings],
            "aspects": {aspect.name: aspect.values for aspect in aspects(log)},
            "ranks": rows,
            "sources": [
                {
                    "name": source.name,
                    "n_lines": source.n_lines,
                    "n_bytes": source.n_bytes,
                    "n_understood": source.n_understood,
                    "n_torn": source.n_torn,
                }
                for source in log.said.sources
            ],
        },
        rows=rows,
    )
    return int(ExitCode.VERDICT_BAD if worst(findings).value == "bad" else ExitCode.GOOD)


def _settings(log: "JobLog", script: Path | None) -> "list[Finding]":
    from weft.catalog.load import variable_lists
    from weft.doctor.log.settings import judge_settings
    from weft.doctor.read.file import job_of

    return [] if script is None else list(judge_settings(log, job_of(script), variable_lists()))


def rank_rows(log: "JobLog") -> list[dict[str, Any]]:
    """One row a rank: where it is and what it used."""
    names: dict[int, list[str]] = {}
    for name, ranks in log.networks.items():
        for index in ranks:
            names.setdefault(index, []).append(name)
    direct: dict[int, list[int]] = {}
    for fact in log.channels():
        for index in log.by(fact):
            seen = direct.setdefault(index, [0, 0])
            seen[0 if fact.words[2] else 1] += 1
    done = log.values("communicator", 2).get("COMPLETE", frozenset())
    return [
        {
            "rank": rank.number,
            "n_ranks": rank.n_ranks,
            "host": rank.host,
            "pid": rank.pid,
            "device": rank.device,
            "network": " ".join(names.get(rank.index, [])),
            "gpu_direct": _direct(direct.get(rank.index)),
            "initialised": rank.index in done,
        }
        for rank in log.ranks
    ]


def _direct(seen: list[int] | None) -> str:
    if seen is None:
        return ""
    with_it, without = seen
    return "all" if not without else "some" if with_it else "none"


def _text(log: "JobLog", findings: "Sequence[Finding]", rows: list[dict[str, Any]]) -> str:
    from weft.cli.output import table_text
    from weft.doctor.log.aspects import aspects

    lines: list[str] = []
    for finding in findings:
        word = {"bad": "BAD", "warning": "WARN", "note": "note", "good": "GOOD"}
        lines.append(f"{word[finding.severity.value]:<4}  {finding.sentence}")
        lines += [f"      {one}" for one in finding.evidence[:MOST_EVIDENCE]]
    lines.append("")
    shown = aspects(log)
    width = max(len(aspect.name) for aspect in shown)
    lines += [f"{aspect.name:<{width}}  {aspect.text}" for aspect in shown]
    if rows:
        names = list(rows[0])
        cells = [["" if row[name] is None else str(row[name]) for name in names] for row in rows]
        lines += ["", table_text(names, cells, left=len(names))]
    read = sum(source.n_bytes for source in log.said.sources)
    n_lines = sum(source.n_lines for source in log.said.sources)
    understood = sum(source.n_understood for source in log.said.sources)
    lines += ["", f"read  {n_lines:,} lines, {read / 1e6:.1f} MB; {understood:,} say something"]
    if any(finding.severity.value in ("bad", "warning") for finding in findings):
        lines.append("next  weft doctor env SCRIPT, for the settings it was launched with")
    return "\n".join(lines)
