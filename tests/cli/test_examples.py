"""Every help ends with two calls, which the command line takes as they stand."""

import shlex
from collections.abc import Iterator

import click
import pytest
from tests.cli.calls import commands
from tests.process_calls import call

from weft.cli import weft
from weft.cli.examples import EXAMPLES

GROUPS = ("", "study", "fabric", "cluster", "train", "doctor", "platform")
PATHS = sorted({*GROUPS, *(path for path, _ in commands())})


def at(path: str) -> click.Context:
    """The context of the command that these words lead to."""
    ctx = click.Context(weft, info_name="weft")
    words = path.split()
    while words:
        command = ctx.command
        name = words.pop(0)
        if isinstance(command, click.Group):
            below = command.get_command(ctx, name)
        else:
            below = command.verb(name)  # type: ignore[attr-defined]
        assert below is not None, path
        ctx = click.Context(below, info_name=name, parent=ctx)
    return ctx


def own_words(line: str) -> list[str]:
    """The words behind `weft` in an example, which may come last in a pipe."""
    words = shlex.split(line)
    return words[words.index("weft") + 1 :]


def path_of(words: list[str]) -> str:
    """As many of these words as name a command."""
    known = [path for path in PATHS if words[: len(path.split())] == path.split()]
    return max(known, key=len)


def unusable(line: str) -> Iterator[str]:
    """What the command line would refuse of an example, apart from files that are not here."""
    words = own_words(line)
    path = path_of(words)
    ctx = at(path)
    arguments = words[len(path.split()) :]
    try:
        values, _, _ = ctx.command.make_parser(ctx).parse_args(list(arguments))
    except click.UsageError as error:
        yield f"{line}: {error.format_message()}"
        return
    for parameter in ctx.command.params:
        given = values.get(str(parameter.name))
        if parameter.required and (given is None or parameter.value_is_missing(given)):
            yield f"{line}: lacks {parameter.human_readable_name}"
        if isinstance(parameter.type, click.Choice | click.IntRange | click.FloatRange):
            for one in given if isinstance(given, list | tuple) else [given]:
                if isinstance(one, str):
                    parameter.type.convert(one, parameter, ctx)


def test_every_command_has_examples_and_no_other() -> None:
    assert set(EXAMPLES) == set(PATHS)


@pytest.mark.parametrize("path", PATHS)
def test_a_help_ends_with_two_calls_of_its_command(path: str) -> None:
    ctx = at(path)
    shown = ctx.command.get_help(ctx).partition("Examples:\n")[2].splitlines()
    lines = [line.strip() for line in shown]
    assert len(lines) == 2
    assert len(set(lines)) == 2
    for line in lines:
        assert path_of(own_words(line)).startswith(path), line
        assert len(line) <= 92, line


@pytest.mark.parametrize("path", PATHS)
def test_the_command_line_takes_an_example(path: str) -> None:
    faults = [fault for line in EXAMPLES[path] for fault in unusable(line)]
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("weft judge a.txt --plattform here", "No such option"),
        ("weft study run", "lacks"),
        ("weft bench rdma-pairs node1", "lacks"),
        ("weft fabric export net.out --to slurm -o", "requires an argument"),
    ],
)
def test_an_example_that_is_refused_is_found(line: str, fault: str) -> None:
    assert any(fault in one for one in unusable(line))


def test_a_real_help_shows_them() -> None:
    shown = call(["doctor", "nccl-plan", "--help"]).out
    assert shown.rstrip().endswith(EXAMPLES["doctor nccl-plan"][1])
