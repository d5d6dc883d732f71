"""Scripts for sbatch: exact text, and words that mean something to sbatch or to a shell."""

import os
import shlex
import subprocess
from pathlib import Path

import pytest

from weft.cluster.slurm.sbatch import Batch, array_text, check_folder, directive, submit
from weft.core.errors import InputError, MissingError

COMMAND = ("/opt/weft/bin/python", "-m", "weft.cli", "study", "block", "/shared/run")
PLAIN = """\
#!/bin/sh
#SBATCH --job-name=weft-mine
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --exclusive
#SBATCH --array=0-2%1
#SBATCH --output=slurm/%A_%a.out
exec /opt/weft/bin/python -m weft.cli study block /shared/run
"""
FULL = """\
#!/bin/sh
#SBATCH --job-name=weft-mine
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=8
#SBATCH --array=1,3-4%2
#SBATCH --output=slurm/%A_%a.out
#SBATCH --nodelist=n1,n2,n5,n6
#SBATCH --dependency=afterany:11:12
#SBATCH --partition=main
#SBATCH "--comment=two words"
exec /opt/weft/bin/python -m weft.cli study block /shared/run
"""
HOSTILE = "a 'b\" $(touch pwned);# `touch pwned` \\"


def test_the_script_of_an_array() -> None:
    assert Batch("weft-mine", 2, 1, (0, 1, 2), COMMAND).script == PLAIN


def test_the_script_with_all_that_can_be_asked_for() -> None:
    batch = Batch(
        "weft-mine",
        4,
        8,
        (1, 3, 4),
        COMMAND,
        at_once=2,
        exclusive=False,
        nodes=("n1", "n2", "n5", "n6"),
        after=("11", "12"),
        options=("--partition=main", "--comment=two words"),
    )
    assert batch.script == FULL


def test_a_path_reaches_the_command_whole_and_no_shell(tmp_path: Path) -> None:
    command = ("printf", "%s", HOSTILE)
    script = Batch("weft-mine", 2, 1, (0,), command).script
    said = subprocess.run(
        ["sh"], input=script, capture_output=True, text=True, cwd=tmp_path, timeout=20, check=True
    )
    assert said.stdout == HOSTILE
    assert not os.listdir(tmp_path)


def test_what_means_something_to_sbatch_is_quoted() -> None:
    # How sbatch reads it back is held to the real one in tests/oracle/test_slurm_study.py.
    assert directive("--time=1:00:00") == "--time=1:00:00"
    assert directive("--comment=a \"b' \\ #") == '"--comment=a \\"b\' \\\\ #"'


@pytest.mark.parametrize("word", ["--comment=a\nb", "--comment=\x1b[2J", "qos=high", ""])
def test_what_is_no_option_of_one_line_is_refused(word: str) -> None:
    with pytest.raises(InputError, match="no option of sbatch"):
        directive(word)


@pytest.mark.parametrize(
    ("tasks", "text"), [((0,), "0"), ((0, 1, 2, 7), "0-2,7"), ((5, 3, 4, 1), "1,3-5")]
)
def test_tasks_are_written_as_ranges(tasks: tuple[int, ...], text: str) -> None:
    assert array_text(tasks) == text


@pytest.mark.parametrize("path", ["/a/b%c", "/a/b\\c", "/a/b\nc"])
def test_a_folder_that_slurm_would_not_write_to_is_refused(path: str) -> None:
    with pytest.raises(InputError, match="Slurm writes no output below this path"):
        check_folder(Path(path))
    check_folder(Path("/a/b c'd\"$(e)"))


def sbatch(folder: Path, monkeypatch: pytest.MonkeyPatch, body: str) -> None:
    tool = folder / "sbatch"
    tool.write_text(f"#!/bin/sh\n{body}\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


@pytest.mark.parametrize("said", ["17", "17;cluster2"])
def test_the_job_is_what_sbatch_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    written = shlex.quote(str(tmp_path / "argv"))
    body = f'printf "%s\\n" "$PWD" "$@" > {written}; echo "{said}"'
    sbatch(tmp_path, monkeypatch, body)
    folder = tmp_path / "run"
    folder.mkdir()
    assert submit(folder / "a.sh", folder, ("--array=0%1", "--comment=a b")) == "17"
    assert (tmp_path / "argv").read_text().splitlines() == [
        str(folder),
        "--parsable",
        "--array=0%1",
        "--comment=a b",
        str(folder / "a.sh"),
    ]


def test_a_refusal_is_reported_in_sbatchs_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sbatch(tmp_path, monkeypatch, "echo 'sbatch: error: Invalid qos' >&2; exit 1")
    with pytest.raises(InputError, match="sbatch refused: sbatch: error: Invalid qos"):
        submit(tmp_path / "a.sh", tmp_path, ())


def test_without_sbatch_it_is_said_where_there_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingError, match="no 'sbatch' on PATH") as caught:
        submit(tmp_path / "a.sh", tmp_path, ())
    assert "login node" in caught.value.describe()
