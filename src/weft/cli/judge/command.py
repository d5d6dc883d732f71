"""`weft judge`: is this result normal, and what limits it?"""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from weft.catalog.tools import tool_list
from weft.cli.options import FILE
from weft.cli.output import emit, format_option, talk
from weft.core.errors import ExitCode

if TYPE_CHECKING:
    from weft.judge.model import FileJudgement


HELP = f"""Is this result normal, and what limits it?

FILE is the output of a benchmark: {tool_list()}, with whatever log lines stand in between; '-'
reads standard input. The platform is guessed where the file says enough, and the reason is printed.

Exit 1 where a row is low or impossible.
"""


@click.command("judge", help=HELP)
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option("--platform", metavar="P", help="The machine: a name of the catalogue, or a .toml.")
@click.option("--nodes", "n_nodes", type=click.IntRange(min=1), help="Nodes that took part.")
@click.option("--tasks-per-node", type=click.IntRange(min=1), help="Ranks (GPUs) on each node.")
@click.option("--memory", type=click.Choice(["host", "gpu"]), help="Where the buffers were.")
@click.option("--nccl", "nccl_version", metavar="V", help="NCCL's version, as 2.27.")
@click.option("--all-rows", is_flag=True, help="Every row, not only the noteworthy ones.")
@click.option("--report", type=FILE, help="Write the judgement as one HTML page too.")
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
    from weft.cli.judge.text import judgement_text

    judgements = [_judged(name, given) for name in files]
    emit(
        format_,
        text=lambda: "\n\n".join(judgement_text(one, all_rows=all_rows) for one in judgements),
        record=_record(judgements),
        rows=[
            {"file": judgement.path, **_flat(row.to_record())}
            for judgement in judgements
            for row in judgement.rows
        ],
    )
    if report is not None:
        _write_report(judgements, report)
    bad = any(judgement.is_bad for judgement in judgements)
    return int(ExitCode.VERDICT_BAD if bad else ExitCode.GOOD)


def _judged(name: str, given: Mapping[str, Any]) -> "FileJudgement":
    from weft.judge.judge import judge_results
    from weft.judge.log import log_in, log_of
    from weft.results.result_file import read_results, read_results_text

    if name == "-":
        content = sys.stdin.buffer.read()
        return judge_results(read_results_text(content, "-"), **given, log=log_of(content))
    path = Path(name)
    return judge_results(read_results(path), **given, log=log_in(path))


def _record(judgements: "list[FileJudgement]") -> dict[str, Any]:
    if len(judgements) == 1:
        return judgements[0].to_record()
    return {"judgements": [judgement.to_record() for judgement in judgements]}


def _flat(record: dict[str, Any]) -> dict[str, Any]:
    labels = record.pop("labels")
    return {**record, "labels": " ".join(f"{key}={value}" for key, value in labels.items())}


def _write_report(judgements: "list[FileJudgement]", report: Path) -> None:
    from weft.report.judge_page import write_judge_page

    for i, judgement in enumerate(judgements):
        path = report if i == 0 else report.with_stem(f"{report.stem}-{i + 1}")
        talk(f"report: {write_judge_page(judgement, path)}")
