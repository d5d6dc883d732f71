"""`weft export`: runs in the formats of other programs."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from weft.cli.options import ANY_PATH, OUTPUT
from weft.cli.output import csv_text, printable, talk, write_or_print
from weft.core.errors import InputError
from weft.core.files import write_whole
from weft.core.words import counted
from weft.launch.secret_text import mask_forms

if TYPE_CHECKING:
    from weft.study.run.store import StudyRun

TABLES = ("csv", "parquet")
FORMATS = (*TABLES, "openmetrics", "perflog", "junit")


@click.command(name="export")
@click.argument("places", metavar="RUN...", nargs=-1, required=True, type=ANY_PATH)
@click.option(
    "--to",
    "format_",
    required=True,
    type=click.Choice(FORMATS),
    help="csv, parquet: a row a sample. openmetrics: for Prometheus. perflog: of ReFrame. "
    "junit: for CI servers.",
)
@click.option("--long", is_flag=True, help="With csv and parquet: a row a value.")
@OUTPUT
def command(*, places: tuple[Path, ...], format_: str, long: bool, output: Path | None) -> None:
    """Write the figures of RUN... for another program.

    RUN is a run directory, or a directory of them. Launches that failed, hung or are not finished
    are named on standard error, and stay in every format. Exit 0 with any verdict.
    """
    if format_ in TABLES:
        _export_table(places, format_, output, long=long)
        return
    if long:
        raise InputError(f"--long has no effect on {format_}", expected="--to csv or parquet")
    runs = _read(places)
    write_or_print(output, mask_forms(_text(runs, format_)), what="export")
    _say_written(output, counted(len(runs), "run"))


def _export_table(places: Sequence[Path], format_: str, output: Path | None, *, long: bool) -> None:
    from weft.api.frames import parquet_bytes
    from weft.study.sample_table import read_sample_table

    if format_ == "parquet" and output is None:
        raise InputError("Parquet is no text to print", expected="-o FILE")
    table = read_sample_table(places)
    if long:
        table = table.one_value_a_row()
    for remark in table.remarks:
        talk(f"weft: {remark}")
    if format_ == "csv":
        text = csv_text(list(table.rows()))
        write_or_print(output, mask_forms(printable(text)), what="export")
    elif output is not None:
        write_whole(output, parquet_bytes(table), what="export")
    n_runs = counted(len(set(table.columns["run"])), "run")
    _say_written(output, f"{counted(table.n_rows, 'row')} of {n_runs}")


def _say_written(output: Path | None, content: str) -> None:
    if output is not None:
        talk(f"{output}: {content}")


def _read(places: Sequence[Path]) -> "list[StudyRun]":
    """The runs, with a message about each that is not whole. Raises InputError."""
    from weft.study.sample_table import read_runs, remarks_of

    runs, remarks = read_runs(places, with_fabric=True)
    for remark in [*remarks, *(one for run in runs for one in remarks_of(run))]:
        talk(f"weft: {remark}")
    return runs


def _text(runs: "Sequence[StudyRun]", format_: str) -> str:
    from weft.api.export.openmetrics import openmetrics_text
    from weft.api.export.perflog import perflog_text
    from weft.api.export.run_junit import runs_junit_text

    writers = {
        "openmetrics": openmetrics_text,
        "perflog": perflog_text,
        "junit": runs_junit_text,
    }
    return writers[format_](runs)
