"""A printed command, pasted as it stands, runs what it names and only that."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.hostile.names import CANARY, NAMES
from tests.mock_backend import MockBackend
from tests.process_calls import Call, call

from weft.check.verdict.rerun_command import Again
from weft.cli.output import printable
from weft.cli.run_table import next_lines
from weft.core.nodeset import fold
from weft.core.shell_line import UNSHOWN, quoted, shell_line
from weft.launch.recipe import Recipe

TWIN = ("--twin", "fat-tree", "--nodes", "4")
NEXT = re.compile(r"^(?:next|so far|which arm is faster):?\s+(weft .*)$", re.MULTILINE)
SHELLS = [shell for shell in ("sh", "bash", "dash") if shutil.which(shell)]


def paste(line: str, folder: Path, shell: str = "sh") -> list[bytes]:
    """The words that `weft` gets when a shell runs the line."""
    stand_in = folder / "bin" / "weft"
    stand_in.parent.mkdir(exist_ok=True)
    stand_in.write_text('#!/bin/sh\nprintf "%s\\0" "$@" > "$SEEN"\n')
    stand_in.chmod(0o755)
    seen = folder / "seen"
    env = {"PATH": f"{stand_in.parent}:{os.environ['PATH']}", "SEEN": str(seen)}
    subprocess.run([shell, "-c", line], cwd=folder, env=env, check=True, timeout=20)
    assert not list(folder.rglob(CANARY)), line
    return seen.read_bytes().split(b"\0")[:-1]


def commands_of(end: Call) -> list[str]:
    found = NEXT.findall(end.out + end.err)
    assert found, end
    return found


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_reads_back_each_word(shell: str, tmp_path: Path) -> None:
    words = paste(shell_line(["weft", *NAMES]), tmp_path, shell)
    assert words == [os.fsencode(name) for name in NAMES]


@pytest.mark.parametrize("name", NAMES)
def test_nothing_in_a_quoted_word_steers_a_terminal(name: str) -> None:
    line = quoted(name)
    assert printable(line) == line
    # Only line ends at the very end stay: a shell would drop them from a command's output.
    assert UNSHOWN.search(line.replace("\n", "")) is None


def test_a_path_is_no_option_and_standard_input_stays_one() -> None:
    assert [quoted(Path(name)) for name in ("-x", "-", "a/-x")] == ["./-x", "-", "a/-x"]


@pytest.mark.parametrize("name", NAMES)
def test_the_next_command_of_a_run_names_its_directory(name: str, tmp_path: Path) -> None:
    run_dir = Path(name)
    for line in next_lines(run_dir, 2):
        _, got = paste(line.partition("  ")[2], tmp_path)
        assert got in (os.fsencode(name), b"./" + os.fsencode(name))


@pytest.mark.parametrize("name", NAMES)
def test_the_command_that_measures_again_keeps_its_hosts(name: str, tmp_path: Path) -> None:
    argv = Again({"--dir": ("--dir", name), "--only": ("--only", name)}).argv
    assert paste(shell_line(argv), tmp_path) == [os.fsencode(word) for word in argv[1:]]


@pytest.mark.parametrize("name", [*NAMES[:8], NAMES[10], NAMES[26], "\udcff\udcfe"])
def test_verbs_print_commands_that_can_be_pasted(name: str, tmp_path: Path) -> None:
    run_dir = tmp_path / name
    made = call(["bench", "latency", *TWIN, "--repeats", "2", "--dir", str(run_dir)], limit_s=60)
    assert made.code == 0, made.err
    for line in commands_of(made):
        assert paste(line, tmp_path)[1] == os.fsencode(run_dir)


def test_a_check_prints_commands_that_can_be_pasted(tmp_path: Path) -> None:
    run_dir = tmp_path / f"a b'$(touch {CANARY})"
    end = call(["check", *TWIN, "--dir", str(run_dir), "--format", "json"], limit_s=60)
    command = json.loads(end.out)["next_command"]
    assert paste(command, tmp_path)[0] in (b"report", b"check")


@pytest.mark.parametrize("name", ["a b.txt", "$(touch canary).txt", "-x.txt", "it's.txt"])
def test_judge_names_its_file(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    table = "# OSU MPI Latency Test v7.4\n# Size          Latency (us)\n8   1.62\n16  1.64\n"
    (folder / name).write_text(table)
    end = call(["judge", "--", name], before=lambda: os.chdir(folder))
    line = next(one for one in end.out.splitlines() if one.startswith("next"))
    words = paste(line[line.index("weft ") :], tmp_path)
    assert {os.fsencode(name), b"./" + os.fsencode(name)} & set(words), line


@pytest.mark.parametrize("name", [one for one in NAMES if "\n" not in one])
def test_a_recipe_repeats_its_launch(name: str, tmp_path: Path) -> None:
    """No variable of a launch has several lines (`make_recipe`)."""
    folder = tmp_path / "cwd"
    folder.mkdir()
    hosts = tmp_path / "hosts"
    recipe = Recipe(("weft", name), {"A_NAME": name}, {hosts: f"{name}\n"}, folder)
    assert paste(recipe.text, tmp_path) == [os.fsencode(name)]
    assert hosts.read_bytes() == os.fsencode(name) + b"\n"


@pytest.mark.parametrize("name", NAMES)
def test_a_terminal_gets_no_escape_of_a_name(name: str) -> None:
    shown = printable(f"host {name} is slow")
    assert UNSHOWN.search(shown.replace("\n", "").replace("\t", "").replace("\x1b[31m", "")) is None


def test_names_are_folded_whatever_they_hold() -> None:
    assert fold(["n1", "n2", "n3", "n[1", "n1"]) == "n[1-3],n[1"
    for name in NAMES:
        assert fold([name]) == name


def _check(nodes: Sequence[str], where: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    backend = MockBackend(slow_nodes={nodes[4]: 4.0})
    monkeypatch.setattr("weft.cli.backend.opening.open_mock", lambda _: (backend, tuple(nodes)))
    argv = ["check", "--mock", "--dir", str(where), "--drain", str(where) + ".drain"]
    return call(argv, limit_s=60)


def test_a_host_that_is_no_text_is_refused(tmp_path: Path) -> None:
    end = call(["check", "--hosts", "n1,\udcff", "--dir", str(tmp_path / "run")])
    assert (end.code, "not UTF-8" in end.err) == (2, True), end


def _drained(drain: Path, folder: Path) -> list[bytes]:
    """The nodes that Slurm is asked to drain when the list runs."""
    stand_in, seen = folder / "bin" / "scontrol", folder / "nodes"
    stand_in.parent.mkdir()
    stand_in.write_text('#!/bin/sh\nprintf "%s\\0" "$2" >> "$SEEN"\n')
    stand_in.chmod(0o755)
    env = {"PATH": f"{stand_in.parent}:{os.environ['PATH']}", "SEEN": str(seen)}
    subprocess.run(["sh", str(drain)], cwd=folder, env=env, check=True, timeout=20)
    asked = seen.read_bytes().split(b"\0")[:-1] if seen.exists() else []
    return [one.removeprefix(b"NodeName=") for one in asked]


@pytest.mark.parametrize("name", [one for one in NAMES if "\udcff" not in one])
def test_the_drain_list_is_written_whatever_a_name_holds(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nodes = ["n1", "n2", "n3", "n4", name, "n6", "n7", "n8"]
    end = _check(nodes, tmp_path / "run", monkeypatch)
    assert end.code == 1, end.err
    drain = tmp_path / "run.drain"
    lines = drain.read_text(errors="surrogateescape").splitlines()
    assert len(lines) == 2
    assert lines[1].startswith("#") == (not lines[1].startswith("scontrol"))
    assert _drained(drain, tmp_path) == ([] if lines[1].startswith("#") else [os.fsencode(name)])
    assert not list(tmp_path.rglob(CANARY))
    assert "\x1b" not in end.out + end.err
