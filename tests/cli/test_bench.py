"""`weft bench`: one benchmark or several, as a run like any other."""

import csv
import io
import json
from pathlib import Path

import pytest

from weft.cli import run
from weft.study.store import read_run


def test_a_bench_is_a_run_that_can_be_read_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = tmp_path / "run"
    argv = ["bench", "latency", "allreduce", "--sizes", "8,64K", "--mock", "--dir", str(where)]
    assert run([*argv, "--format", "json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["n_done"] == 6
    assert {(r["benchmark"], r["size_bytes"]) for r in printed["rows"]} == {
        (name, size) for name in ("latency", "allreduce") for size in (8, 65536)
    }
    assert read_run(where).complete


def test_collectives_use_every_node_and_pt2pt_two(tmp_path: Path) -> None:
    for name, n_nodes in (("latency", 2), ("barrier", 5)):
        where = tmp_path / name
        assert run(["bench", name, "--mock", "--nodes", "5", "--dir", str(where)]) == 0
        assert {len(launch.trial.nodes) for launch in read_run(where).launches} == {n_nodes}


def test_options_reach_the_trial(tmp_path: Path) -> None:
    where = tmp_path / "run"
    argv = ["bench", "bandwidth", "--sizes", "8", "--window", "16", "--iterations", "7"]
    assert run([*argv, "--validate", "--mock", "--dir", str(where)]) == 0
    options = read_run(where).launches[0].trial.options
    assert (options["window"], options["iterations"], options["validate"]) == (16, 7, True)


def test_a_dry_run_prints_the_command_line_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["bench", "latency", "--sizes", "8", "--dry-run"]) == 0
    printed = capsys.readouterr().out
    assert "weft-kernel" in printed
    assert "--benchmark latency" in printed
    assert not list(tmp_path.iterdir())


def test_a_dry_run_follows_the_format(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    argv = ["bench", "latency", "barrier", "--sizes", "8,64K", "--dry-run"]
    assert run([*argv, "--twin", "fat-tree", "--nodes", "2"]) == 0
    text = capsys.readouterr().out
    assert text.count("simulated 3 times: ") == 2
    assert "{" not in text
    assert run([*argv, "--mock", "--format", "csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [(row["benchmark"], row["launches"]) for row in rows] == [
        ("latency", "3"),
        ("barrier", "3"),
    ]
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        ([], "no benchmark named"),
        (["latencey"], "latency"),
        (["pairs"], "weft check"),
        (["latency", "--sizes", "4 parsecs"], "not a size"),
        (["latency", "--mpi", "no-such-mpicc"], "no-such-mpicc"),
        (["latency", "--twin", "no-such-platform"], "no-such-platform"),
    ],
)
def test_wrong_input_is_said_and_nothing_is_left(
    argv: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["bench", *argv]) in (2, 3)
    assert said in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
