"""`weft import`: store result files of other tools as a run."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from weft.catalog.tools import tool_list
from weft.cli.options import FOLDER, NODE_COUNT, fresh_run_dir
from weft.cli.output import emit, format_option, table_text
from weft.core.errors import InputError
from weft.study.run.store import read_back

if TYPE_CHECKING:
    from weft.bench.result_samples import Imported
    from weft.study.import_run import ArmFiles, ImportOutcome

_ARM = "\0"
"""Marks an arm among the files: no argument of a process can hold it."""


class _ArmsInOrder(click.Command):
    """Click loses where an option stood among the arguments; here the place is the meaning."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Turn each `--arm A` into a marked argument in its place."""
        marked: list[str] = []
        words = iter(args)
        for word in words:
            if word == "--arm":
                marked.append(_ARM + next(words, ""))
            elif word.startswith("--arm="):
                marked.append(_ARM + word.removeprefix("--arm="))
            else:
                marked.append(word)
        return super().parse_args(ctx, marked)


HELP = f"""Store result files as a run: `weft report` and `weft compare` then work on it.

FILE is what {tool_list()} printed. Several files of one test are its repeats; the i-th file of one
arm is compared with the i-th of another.
"""


@click.command(name="import", cls=_ArmsInOrder, help=HELP)
@click.argument("words", metavar="FILE...", nargs=-1, required=True, type=click.UNPROCESSED)
@click.option(
    "--arm",
    metavar="FACTOR=SETTING",
    expose_value=False,
    help="The files after it, up to the next --arm, belong to this arm: --arm routing=static a.log "
    "b.log --arm routing=adaptive c.log d.log.",
)
@click.option(
    "-o", "--output", type=FOLDER, help="The run directory to make. Default: runs/NAME-DATE-TIME."
)
@click.option("--name", default="imported", show_default=True, help="Name of the run.")
@click.option("--nodes", type=NODE_COUNT, help="Nodes, where the files do not say.")
@click.option("--tasks-per-node", type=click.IntRange(1), help="Ranks on each, likewise.")
@click.option("--platform", metavar="P", default="", help="The platform they were measured on.")
@click.option("--dry-run", is_flag=True, help="Say what would be stored; write nothing.")
@format_option
def command(
    *,
    words: tuple[str, ...],
    output: Path | None,
    name: str,
    nodes: int | None,
    tasks_per_node: int | None,
    platform: str,
    dry_run: bool,
    format_: str,
) -> None:
    """Import the files and print what was stored."""
    from weft.bench.result_samples import slug
    from weft.bench.result_scale import StatedScale
    from weft.study.import_run import ImportOptions, import_files, preview_import

    if slug(name) != name:
        raise InputError(
            f"'{name}' cannot name a run",
            expected="lower-case letters, digits, '-' and '_'",
            hint=f"--name {slug(name)}",
        )
    arms, run_dir = _arms(words), output or fresh_run_dir(name)
    options = ImportOptions(StatedScale(nodes, tasks_per_node), platform, name, tuple(sys.argv[1:]))
    if dry_run:
        _print_preview(*preview_import(arms, run_dir, options), run_dir, format_)
    else:
        _print(import_files(arms, run_dir, options), format_)


def _arms(words: tuple[str, ...]) -> "list[ArmFiles]":
    """Files by the arm they stand behind."""
    from weft.study.import_run import ArmFiles, parse_arm

    arms: list[tuple[dict[str, str], list[Path]]] = []
    for word in words:
        if word.startswith(_ARM):
            arms.append((parse_arm(word.removeprefix(_ARM)), []))
        elif arms:
            arms[-1][1].append(Path(word))
        else:
            arms.append(({}, [Path(word)]))
    if len(arms) > 1 and not arms[0][0]:
        raise InputError(
            f"{arms[0][1][0]} stands before the first --arm",
            expected="every file after the --arm it belongs to",
        )
    for arm, paths in arms:
        if not paths:
            raise InputError(
                "no file after --arm " + ",".join(f"{f}={s}" for f, s in arm.items()),
                expected="--arm FACTOR=SETTING FILE...",
            )
    return [ArmFiles(arm, tuple(paths)) for arm, paths in arms]


def _print_preview(
    found: "Imported", remarks: tuple[str, ...], run_dir: Path, format_: str
) -> None:
    from weft.study.comparison.cells import arm_name

    rows = [
        {
            "benchmark": one.launch.trial.benchmark,
            "arm": arm_name(one.launch.trial.arm),
            "nodes": len(one.launch.trial.nodes),
            "tasks_per_node": one.launch.trial.tasks_per_node,
            "repeat": one.launch.repeat,
            "rows": len(one.samples),
        }
        for one in found.launches
    ]
    cells = [[str(value) for value in row.values()] for row in rows]
    emit(
        format_,
        text=lambda: "\n".join(
            [
                f"{found.n_samples} rows would be stored in {run_dir}; nothing was written",
                *(f"  ! {remark}" for remark in remarks),
                "",
                table_text([name.replace("_", " ") for name in rows[0]], cells, left=2),
            ]
        ),
        record={
            "dry_run": True,
            "run": str(run_dir),
            "n_samples": found.n_samples,
            "remarks": list(remarks),
            "launches": rows,
        },
        rows=rows,
    )


def _print(outcome: "ImportOutcome", format_: str) -> None:
    from weft.cli.run_table import next_lines, run_table_text
    from weft.study.comparison.cells import arm_name
    from weft.study.comparison.table import table_of

    run = read_back(outcome.run_dir, outcome.n_launches)
    table = table_of(run)
    arms = list(dict.fromkeys(arm_name(launch.trial.arm) for launch in run.launches))
    rows = [row.to_record() for row in table.rows]

    def text() -> str:
        files = "1 file" if outcome.n_files == 1 else f"{outcome.n_files} files"
        lines = [
            f"{outcome.n_samples} rows of {files} stored in {outcome.run_dir}",
            *(f"  ! {remark}" for remark in outcome.remarks),
            "",
            run_table_text(table, "files of the same test"),
            *next_lines(outcome.run_dir, len(arms)),
        ]
        return "\n".join(lines)

    emit(
        format_,
        text=text,
        record={
            "run": str(outcome.run_dir),
            "n_files": outcome.n_files,
            "n_launches": outcome.n_launches,
            "n_samples": outcome.n_samples,
            "remarks": list(outcome.remarks),
            "arms": arms,
            "excluded": dict(table.excluded),
            "rows": rows,
        },
        rows=rows,
    )
