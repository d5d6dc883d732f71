"""`weft judge`: is this result normal, and what limits it?"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from weft.catalog.tools import tool_list
from weft.cli.fail_on import exit_code_of, fail_on_option
from weft.cli.options import FILE, NODE_COUNT
from weft.cli.output import emit, format_option, talk
from weft.core.errors import ExitCode, InputError
from weft.core.finding import Severity, worst_first

if TYPE_CHECKING:
    from weft.api.judging import JudgeConditions
    from weft.judge.files import JudgedFile
    from weft.judge.model import FileJudgement


HELP = f"""Is this result normal, and what limits it?

FILE is the output of a benchmark: {tool_list()}, with any log lines in between. '-' reads standard
input; a folder means every result file below it. Files of one run, as latency and bandwidth, are
judged together. Without a platform, weft says which kind of path was measured, and which share of
its rate was reached.

Exit 1 where a row is low or impossible, or where TCP was used although it need not be.
"""


@click.command("judge", help=HELP)
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option(
    "--platform", metavar="P", help="The machine: a name of the catalogue, a .toml, or 'here'."
)
@click.option("--link", default="", metavar="L", help="A link: edr, 25gbe, tcp-10gbe, '200 Gb/s'.")
@click.option("--pcie", default="", metavar="GxW", help="The adapter's slot: 3x8, 4x16.")
@click.option("--gpu", default="", metavar="G", help="The GPU: h100-sxm, a100-pcie.")
@click.option("--rails", type=click.IntRange(1, 64), help="Adapters of a node.")
@click.option("--mtu", type=click.IntRange(256, 65536), help="Bytes of a packet's payload.")
@click.option("--nodes", "n_nodes", type=NODE_COUNT, help="Nodes that took part.")
@click.option("--tasks-per-node", type=click.IntRange(min=1), help="Ranks (GPUs) on each node.")
@click.option("--memory", type=click.Choice(["host", "gpu"]), help="Where the buffers were.")
@click.option("--nccl", "nccl_version", metavar="V", help="NCCL's version, as 2.27.")
@click.option(
    "--against", multiple=True, metavar="RUN|FILE", help="Results of the own fleet, or a folder."
)
@click.option("--all-rows", is_flag=True, help="Every row, not only the noteworthy ones.")
@click.option("--report", type=FILE, help="Write the judgement as one HTML page too.")
@fail_on_option
@format_option
def command(
    files: tuple[str, ...],
    *,
    all_rows: bool,
    report: Path | None,
    format_: str,
    **given: Any,
) -> int:
    """Judge the files and print what was found."""
    from weft.api.judging import JudgeConditions
    from weft.cli.judge.many import files_text
    from weft.cli.judge.text import judgement_text

    judged = _judged(files, JudgeConditions(**given))
    judgements = [one.judgement for one in judged if one.judgement is not None]
    if len(judged) == 1 and not judgements and judged[0].error is not None:
        raise judged[0].error
    emit(
        format_,
        text=lambda: (
            judgement_text(judgements[0], all_rows=all_rows)
            if len(judged) == 1
            else files_text(judged, all_rows=all_rows)
        ),
        record=_record(judged) if format_ == "json" else {},
        rows=_rows(judged, all_rows=all_rows) if format_ == "csv" else (),
    )
    if report is not None:
        _write_report(judgements, report)
    worst = worst_first(judgements)[0].severity if judgements else Severity.GOOD
    unread = any(one.error is not None and one.was_named for one in judged)
    if worst is not Severity.BAD and (unread or not judgements):
        return int(ExitCode.INPUT)
    return exit_code_of(worst)


def _judged(names: tuple[str, ...], conditions: "JudgeConditions") -> "list[JudgedFile]":
    from weft.api.judging import judged_files

    if "" in names:
        # A variable of a shell that is not set; a path without a name would be this folder.
        raise InputError(
            "the name of a file is empty", expected="files and folders; '.' is this one"
        )
    if "-" not in names:
        return judged_files(names, conditions)
    if sys.stdin is None:  # what Python makes of a closed one
        raise InputError("closed", where="standard input", expected="the output of a benchmark")
    return judged_files(names, conditions, sys.stdin.buffer)


def _record(judged: "list[JudgedFile]") -> dict[str, Any]:
    if len(judged) == 1 and judged[0].judgement is not None:
        return judged[0].judgement.to_record()
    return {
        "judgements": [one.judgement.to_record() for one in judged if one.judgement is not None],
        "unread": [
            {"path": one.path, "error": one.error.what} for one in judged if one.error is not None
        ],
    }


def _rows(judged: "list[JudgedFile]", *, all_rows: bool) -> list[dict[str, Any]]:
    """A line a file where there are several, else a line a row."""
    from weft.cli.judge.many import file_row

    if len(judged) > 1 and not all_rows:
        return [file_row(one) for one in judged]
    judgements = [one.judgement for one in judged if one.judgement is not None]
    return [
        {"file": judgement.path, **_flat(row.to_record())}
        for judgement in judgements
        for row in judgement.rows
    ]


def _flat(record: dict[str, Any]) -> dict[str, Any]:
    labels = record.pop("labels")
    return {**record, "labels": " ".join(f"{key}={value}" for key, value in labels.items())}


def _write_report(judgements: "list[FileJudgement]", report: Path) -> None:
    from weft.report.judge_page import write_judge_page

    for i, judgement in enumerate(judgements):
        path = report if i == 0 else report.with_stem(f"{report.stem}-{i + 1}")
        talk(f"report: {write_judge_page(judgement, path)}")
