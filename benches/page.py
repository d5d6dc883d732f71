"""Tables that a program prints, or puts between the two marks of its page."""

from collections.abc import Iterable
from pathlib import Path

END = "<!-- end -->"


def begin_of(program: str) -> str:
    """The mark before the tables of a program ('benches/routing.py')."""
    return f"<!-- printed by {program}: begin -->"


def with_tables(page: str, program: str, tables: str) -> str:
    """The page with `tables` between the marks of a program."""
    begin = begin_of(program)
    before, mark, marked = page.partition(begin)
    _, end, after = marked.partition(END)
    if not mark or not end:
        raise SystemExit(f"no '{begin}' ... '{END}' in the page of {program}")
    return f"{before}{begin}\n\n{tables}\n\n{END}{after}"


def print_tables(page: Path, program: str, lines: Iterable[str], *, write: bool) -> None:
    """Print lines as they come; with `write` they also become the tables of the page."""
    printed = []
    for line in lines:
        print(line, flush=True)
        printed.append(line)
    if write:
        text = page.read_text("utf-8")
        page.write_text(with_tables(text, program, "\n".join(printed)), "utf-8")
