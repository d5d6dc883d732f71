"""`weft check --format junit` and `--drain FILE`, from the command line to the file."""

import shlex
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.mock_backend import MockBackend

from weft.cli import run

NODES = tuple(f"n{i:03d}" for i in range(1, 9))
Capture = pytest.CaptureFixture[str]


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    opened = lambda choice: (MockBackend(slow_nodes={"n005": 4.0}), NODES)  # noqa: E731
    monkeypatch.setattr("weft.cli.backend.opening.open_backend", opened)


@pytest.mark.usefixtures("slow")
def test_the_document_is_all_of_standard_output_and_the_list_names_the_node(
    tmp_path: Path, capsys: Capture
) -> None:
    drain = tmp_path / "lists" / "drain.sh"
    argv = ["check", "--mock", "--dir", str(tmp_path / "run"), "--format", "junit"]
    assert run([*argv, "--drain", str(drain)]) == 1
    root = ElementTree.fromstring(capsys.readouterr().out)
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("8", "1", "0")
    lines = [line for line in drain.read_text().splitlines() if not line.startswith("#")]
    (words,) = map(shlex.split, lines)
    assert words[:4] == ["scontrol", "update", "NodeName=n005", "State=DRAIN"]
    assert words[4].startswith("Reason=weft check: n005 latency +")


def test_a_healthy_fabric_leaves_a_list_that_drains_nothing(
    tmp_path: Path, capsys: Capture
) -> None:
    drain = tmp_path / "drain.sh"
    drain.write_text("scontrol update NodeName=n001 State=DRAIN Reason=old\n")
    argv = ["check", "--mock", "--nodes", "8", "--dir", str(tmp_path / "run")]
    assert run([*argv, "--drain", str(drain)]) == 0
    assert drain.read_text() == "# weft check: bad nodes, for Slurm\n# none\n"
    assert capsys.readouterr().out.startswith("OK ")


@pytest.mark.usefixtures("slow")
def test_a_list_that_cannot_be_written_is_an_error_after_the_verdict(
    tmp_path: Path, capsys: Capture
) -> None:
    (tmp_path / "file").write_text("")
    argv = ["check", "--mock", "--dir", str(tmp_path / "run")]
    assert run([*argv, "--drain", str(tmp_path / "file" / "drain.sh")]) == 3
    captured = capsys.readouterr()
    assert captured.out.startswith("BAD  1 node   n005")
    assert "the drain list cannot be written" in captured.err


@pytest.mark.usefixtures("slow")
def test_a_dry_run_writes_no_list(tmp_path: Path) -> None:
    drain = tmp_path / "drain.sh"
    argv = ["check", "--mock", "--dir", str(tmp_path / "run"), "--dry-run"]
    assert run([*argv, "--drain", str(drain)]) == 0
    assert not drain.exists()
