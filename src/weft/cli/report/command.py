"""`weft report`: one self-contained HTML page about finished runs."""

import contextlib
import gc
from collections.abc import Iterator
from pathlib import Path

import click

from weft.cli.options import ANY_PATH, FILE
from weft.cli.output import fold_prose, printable, terminal_width


@contextlib.contextmanager
def _without_collector() -> Iterator[None]:
    """Millions of samples hold no cycles, and a search for some takes a third of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@click.command(name="report")
@click.argument("runs", metavar="RUN...", nargs=-1, required=True, type=ANY_PATH)
@click.option(
    "-o",
    "--output",
    type=FILE,
    help="The file to write. Default: RUN/report.html of the first run.",
)
@click.option("--partial", is_flag=True, help="Report on a run that is not finished.")
def command(runs: tuple[Path, ...], output: Path | None, partial: bool) -> None:
    """Write one HTML page about RUN...; it opens offline and fetches nothing.

    Prints where the page is and the verdict of each run. Exit 0 with any verdict: the page is
    the result, `weft check` and `weft compare` are the verbs that judge.
    """
    from weft.report.page import write_report

    out = output or runs[0] / "report.html"
    with _without_collector():
        pages = write_report(runs, out, partial=partial)
    click.echo(printable(str(out)))
    for page in pages:
        verdict = page.findings[0].sentence
        text = printable(f"{page.title}: {verdict}" if len(pages) > 1 else verdict)
        click.echo(fold_prose(text, terminal_width()))
