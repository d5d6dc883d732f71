"""Write a man page for each command of weft.

    man_pages.py OUT            OUT/weft.1, OUT/weft-check.1, OUT/weft-study-run.1 ...

Every page is made of the command's own help, so that it says the same.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click
from make_docs import commands

from weft import __version__
from weft.cli import VERBS, weft
from weft.cli.examples import EXAMPLES

CODES = "0 good, 1 bad verdict, 2 wrong input, 3 this machine lacks something, 4 a benchmark failed"
CODES += ", 5 no verdict possible, 70 a fault of weft's own."


def escaped(text: str) -> str:
    """Text for roff: backslashes, hyphens that are typed, and lines that would be requests."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.MULTILINE)


def paragraphs(help_text: str) -> Iterator[str]:
    """The paragraphs of a help; one after click's mark keeps its lines."""
    for part in re.split(r"\n\s*\n", help_text.strip()):
        if part.lstrip().startswith("\b"):
            lines = part.lstrip().removeprefix("\b").strip("\n")
            yield f".PP\n.nf\n{escaped(lines)}\n.fi"
        else:
            yield f".PP\n{escaped(' '.join(part.split()))}"


def listed(rows: list[tuple[str, str]]) -> str:
    """Terms with their texts."""
    return "\n".join(f".TP\n.B {escaped(term)}\n{escaped(text)}" for term, text in rows)


def page(ctx: click.Context) -> str:
    """The man page of one command."""
    command = ctx.command
    path = ctx.command_path.split()[1:]
    name = "-".join(["weft", *path])
    help_text = (command.help or "").split("\f")[0]
    options = [one for one in command.get_params(ctx) if isinstance(one, click.Option)]
    records = [one.get_help_record(ctx) for one in options]
    summary = " ".join(re.split(r"\n\s*\n", help_text.strip())[0].replace("\b", "").split())
    synopsis = " ".join([ctx.command_path, *command.collect_usage_pieces(ctx)])
    examples = "\n".join(EXAMPLES[" ".join(path)])
    parts = [
        f'.TH {name.upper()} 1 "" "weft {__version__}" "weft"',
        f".SH NAME\n{escaped(name)} \\- {escaped(summary)}",
        f".SH SYNOPSIS\n{escaped(synopsis)}",
        "\n".join([".SH DESCRIPTION", *paragraphs(help_text)]),
        ".SH OPTIONS\n" + listed([record for record in records if record is not None]),
    ]
    below = verbs_below(ctx)
    if below:
        parts.append(".SH VERBS\n" + listed(below))
    parts.append(f".SH EXAMPLES\n.nf\n{escaped(examples)}\n.fi")
    parts.append(f".SH EXIT STATUS\n{escaped(CODES)}")
    return "\n".join(parts) + "\n"


def verbs_below(ctx: click.Context) -> list[tuple[str, str]]:
    """The commands below a group, with one line each."""
    if not isinstance(ctx.command, click.Group):
        return []
    found = [(one, ctx.command.get_command(ctx, one)) for one in ctx.command.list_commands(ctx)]
    return [(name, one.get_short_help_str(100)) for name, one in found if one is not None]


def pages() -> dict[str, str]:
    """File name -> man page."""
    ctx = click.Context(weft, info_name="weft")
    contexts = [ctx]
    for verb in VERBS:
        command = weft.get_command(ctx, verb)
        if command is not None:
            contexts += commands(command, verb, ctx)
    return {f"{'-'.join(one.command_path.split())}.1": page(one) for one in contexts}


def write(folder: Path) -> None:
    """All pages into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: man_pages.py OUT")
    write(Path(sys.argv[1]))
