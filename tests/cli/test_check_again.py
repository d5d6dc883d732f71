"""The command at the end of a check measures what the check did."""

import re
import shlex
from dataclasses import replace
from pathlib import Path

import click
import pytest

from weft.check.verdict.rerun_command import Again
from weft.cli import run
from weft.cli.check.command import command
from weft.cli.check.measurement import NOT_AGAIN, again_of

START = Path(__file__).parents[2] / "docs/start.md"
OPTIONS = [option for option in command.params if isinstance(option, click.Option)]


def words_of(option: click.Option, tmp_path: Path) -> list[str]:
    """The option as somebody would type it."""
    name = option.opts[0]
    if option.is_flag:
        return [name]
    if isinstance(option.type, click.IntRange):
        return [name, "7"]
    if isinstance(option.type, click.FloatRange):
        most = option.type.max
        return [name, "23.5" if most is None else f"{most / 2:g}"]
    if isinstance(option.type, click.Choice):
        return [name, option.type.choices[-1]]
    if isinstance(option.type, click.Path):
        path = tmp_path / f"a file of {name[2:]}"
        if option.type.file_okay:
            path.write_text("")
        return [name, str(path)]
    if option.multiple:
        return [name, "first one", name, "2"]
    return [name, "23"]


@pytest.mark.parametrize("option", OPTIONS, ids=[option.opts[0] for option in OPTIONS])
def test_every_option_that_changes_what_is_measured_is_given_again(
    option: click.Option, tmp_path: Path
) -> None:
    words = words_of(option, tmp_path)
    kept = [] if option.opts[0] in NOT_AGAIN else words
    context = command.make_context("check", list(words))
    assert again_of(context).argv == ("weft", "check", *kept)


def test_what_is_left_out_is_an_option_and_has_a_reason() -> None:
    assert set(NOT_AGAIN) <= {option.opts[0] for option in OPTIONS}
    assert all(NOT_AGAIN.values())


def test_what_is_given_again_is_accepted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("weft._engine", reason="the engine is not built")
    argv = ["check", "--twin", "fat-tree", "--nodes", "8", "--plant", "n003 slow=3"]
    argv += ["--small", "16", "--large", "64K", "--bidirectional", "--seed", "3"]
    assert run([*argv, "--dir", str(tmp_path / "first")]) == 1
    (line,) = [x for x in capsys.readouterr().out.splitlines() if x.startswith("next: ")]
    again = shlex.split(line.partition(": weft ")[2])
    assert run([*again, "--dir", str(tmp_path / "again")]) == 0
    assert "mended: 1 node n003" in capsys.readouterr().out


def test_the_checks_that_the_start_page_shows_are_understood() -> None:
    shown = re.findall(r"^weft check (.*)$", START.read_text(), re.MULTILINE)
    assert len(shown) >= 3
    for line in shown:
        context = command.make_context("check", shlex.split(line))
        assert len(context.params["fabric"]) == 2


def test_a_finished_check_is_judged_again_next_to_counters(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As the start page says: nothing is measured, and the counters are heard."""
    pytest.importorskip("weft._engine", reason="the engine is not built")
    where = tmp_path / "run"
    argv = ["check", "--twin", "fat-tree", "--nodes", "16", "--dir", str(where), "--no-report"]
    argv += ["--plant", "leaf-02[6] lost=0.001"]
    run(argv)
    capsys.readouterr()
    samples = {path: path.read_bytes() for path in (where / "samples").iterdir()}
    run([*argv, "--resume", "--counters", str(where / "counters.out")])
    assert "the files say: PortRcvErrors: leaf-02 port 6" in capsys.readouterr().out
    assert {path: path.read_bytes() for path in (where / "samples").iterdir()} == samples


def test_hosts_are_named_where_the_job_named_them_before() -> None:
    given = Again({"--mpi": ("--mpi", "site")})
    assert given.of_hosts(["n1", "n2"]).argv == (
        *("weft", "check", "--hosts", "n[1-2]"),
        *("--mpi", "site"),
    )
    for named_by in ("--hostfile", "--cluster"):
        named = replace(given, options={named_by: (named_by, "list")})
        assert named.of_hosts(["n1"]) == named


def test_other_rails_replace_those_given_and_the_number_of_ranks() -> None:
    given = Again(
        {
            "--rails": ("--rails", "eth0"),
            "--tasks-per-node": ("--tasks-per-node", "1"),
            "--fabric": ("--fabric", "a", "--fabric", "b"),
        }
    )
    assert given.over(["mlx5_0", "mlx5_1"]).argv == (
        *("weft", "check", "--rails", "mlx5_0,mlx5_1"),
        *("--fabric", "a", "--fabric", "b"),
    )
