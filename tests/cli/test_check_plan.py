"""`weft check`: which pairs, and what they cost, is said before and kept to."""

import json
import os
import re
from pathlib import Path

import pytest

from weft.cli import run

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _engine() -> None:
    pytest.importorskip("weft._engine", reason="the engine is not built")


def test_a_dry_run_estimates_the_time(tmp_path: Path, capsys: Capture) -> None:
    """16 rounds, each 44 windows of 8 x 1 MiB at 196 Gb/s and 4 us (15.24 ms), 220 round trips
    of 4 us (0.88 ms), first contact (1 ms), four barriers of four steps (0.03 ms) and 7.5 pairs
    on their way to rank 0 (0.12 ms): 276 ms."""
    argv = ["check", "--twin", "fat-tree", "--nodes", "16", "--dry-run"]
    assert run([*argv, "--dir", str(tmp_path / "run")]) == 0
    out = capsys.readouterr().out
    said = re.search(r"about (\d+) ms of fabric time", out)
    assert said is not None
    assert abs(int(said[1]) - 276) <= 3
    assert "16 cables between switches: each filled 12 times or more" in out


def test_the_plan_is_said_before_the_run_and_kept_to(tmp_path: Path, capsys: Capture) -> None:
    argv = ["check", "--twin", "fat-tree", "--nodes", "16", "--schedule", "random:2"]
    assert run([*argv, "--dir", str(tmp_path / "run"), "--format", "json"]) == 0
    captured = capsys.readouterr()
    assert captured.err.startswith("plan     2 random matchings: 16 of 120 pairs of 16 nodes")
    assert json.loads(captured.out)["coverage"]["pairs"] == 16


def test_what_too_few_hosts_can_fill_in_part_only_is_planned_and_answered_alike(
    tmp_path: Path, capsys: Capture
) -> None:
    """Hosts have 100 Gb/s, up-links 200, and most up-links lead to one host of these."""
    argv = ["check", "--twin", "frontera", "--nodes", "60", "--schedule", "cover:1"]
    assert run([*argv, "--no-report", "--dir", str(tmp_path / "run"), "--format", "json"]) == 0
    captured = capsys.readouterr()
    planned = re.search(r"(\d+) of them only in part: these nodes cannot send more", captured.err)
    assert planned is not None
    found = json.loads(captured.out)["coverage"]["cables_never_filled"]
    assert len(found) == int(planned[1]) > 0
    assert all("leaf" in ends[0] for ends in found)


def test_the_command_to_measure_again_keeps_the_schedule(tmp_path: Path, capsys: Capture) -> None:
    argv = ["check", "--twin", "fat-tree", "--nodes", "16", "--plant", "leaf-02[6] rate=0.25"]
    argv += ["--only", "leaf-02", "--budget", "1s", "--format", "json"]
    assert run([*argv, "--dir", str(tmp_path / "run")]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert " --budget 1s --only leaf-02 --against " in answer["next_command"]
    assert answer["planted"][0]["named"] == "yes"
    ends = [{row["from"], row["to"]} for row in answer["readings"]]
    # Nodes 5 to 8 are under leaf 2; the follow-up's controls may lie elsewhere.
    assert all(pair & {"n005", "n006", "n007", "n008"} for pair in ends[:60])


@pytest.mark.parametrize(("plants", "code"), [((), 0), (("n003 slow=1.5",), 1)])
def test_one_suspect_is_judged_next_to_others(
    plants: tuple[str, ...], code: int, tmp_path: Path, capsys: Capture
) -> None:
    argv = ["check", "--twin", "fat-tree", "--nodes", "16", "--schedule", "bisect:n003"]
    argv += [word for plant in plants for word in ("--plant", plant)]
    assert run([*argv, "--no-report", "--dir", str(tmp_path / "run"), "--format", "json"]) == code
    (finding, *_) = json.loads(capsys.readouterr().out)["findings"]
    assert finding["kind"] == ("suspect-node" if plants else "healthy")
    assert "n003" in finding["sentence"] or not plants


def test_a_budget_without_a_unit_is_seconds(tmp_path: Path, capsys: Capture) -> None:
    argv = ["check", "--twin", "fat-tree", "--nodes", "16", "--dry-run", "--format", "json"]
    for budget in ("5", "5s"):
        assert run([*argv, "--budget", budget, "--dir", str(tmp_path / "run")]) == 0
        assert json.loads(capsys.readouterr().out)["plan"]["budget_seconds"] == 5.0


REAL = Path(__file__).parent.parent / "fixtures" / "fabric"
REAL_FILES = (REAL / "small" / "opensm-subnet.lst", REAL / "opensm" / "opensm-lfts.dump")
REAL_TWIN = ["azure-hbv3", *(w for file in REAL_FILES for w in ("--fabric", str(file)))]
RAILS = ["azure-ndv4", "--nodes", "8"]
TREE = ["fat-tree", "--nodes", "16"]


@pytest.mark.parametrize(
    ("twin", "plant", "more"),
    [
        (TREE, "leaf-02[6] rate=0.25", []),
        (TREE, "leaf-02[6] down", []),
        (TREE, "leaf-02[6] rate=0.25", ["--adaptive"]),
        (TREE, "n003 slow=3", []),
        (RAILS, "leaf-03[7] rate=0.25", []),
        (REAL_TWIN, "MF0;leaf002:MQM8700/U1[7] rate=0.2", []),
    ],
)
def test_whatever_an_answer_names_can_be_asked_for_again(
    twin: list[str], plant: str, more: list[str], tmp_path: Path, capsys: Capture
) -> None:
    argv = ["check", "--twin", *twin, *more]
    where = ["--no-report", "--dir", str(tmp_path / "run")]
    assert run([*argv, *where, "--plant", plant, "--format", "json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    suspects = [one for f in answer["findings"] for one in f["facts"].get("suspects", [])]
    ports = {end for one in suspects for end in one["ends"]}
    named = ports | {port.rpartition("[")[0] for port in ports if "[" in port}
    named |= {row["from"] for row in answer["readings"][:2]}
    assert len(named) > 2
    for name in sorted(named):
        assert run([*argv, "--dry-run", "--only", name]) == 0, name
        first = capsys.readouterr().out.splitlines()[0]
        assert any(
            f"pairs {how} {name}" in first for how in ("across", "with an end at", "with an end in")
        ), first


def test_a_switch_may_be_called_as_weft_fabric_calls_it(capsys: Capture) -> None:
    words = []
    for name in ("MF0;leaf002:MQM8700/U1", "leaf002", "leaf002[7]", "MF0;leaf002:MQM8700/U1[7]"):
        argv = ["check", "--twin", *REAL_TWIN, "--only", name, "--schedule", "full", "--dry-run"]
        assert run(argv) == 0
        words.append(capsys.readouterr().out.splitlines()[0].replace(name, "it"))
    assert words[0] == words[1] != words[2] == words[3]


def test_a_port_that_is_not_there_is_reported_as_it_was_typed(capsys: Capture) -> None:
    assert run(["check", "--twin", *TREE, "--only", "leaf-02[99]", "--dry-run"]) == 2
    assert "--only leaf-02[99]: no node or switch" in capsys.readouterr().err


def test_clusterkit_s_file_is_a_schedule(tmp_path: Path, capsys: Capture) -> None:
    """The format of `clusterkit -f`: <round> <node1> <node2>."""
    rounds = tmp_path / "rounds"
    rounds.write_text("1 n001 n002\n1 n003 n004\n2 n001 n003\n")
    argv = ["check", "--twin", "fat-tree", "--nodes", "4", "--schedule", str(rounds), "--dry-run"]
    assert run([*argv, "--format", "json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["plan"]["rounds"] == 2
    assert answer["trials"][0]["scenario"]["work"][0]["rounds"] == [[[0, 1], [2, 3]], [[0, 2]]]
    rounds.write_text("1 n001 n002\n1 n001 n004\n")
    assert run(argv) == 2
    assert f"{rounds}:2: 'n001' is in two pairs of one round" in capsys.readouterr().err


def test_pipes_and_folders_in_place_of_files_are_reported_and_hold_no_one_up(
    tmp_path: Path, capsys: Capture
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for option, path, said in (
        ("--fabric", pipe, f"--fabric {pipe}: this is read more than once, and is no file but a"),
        ("--counters", pipe, f"--counters {pipe}: this is a named pipe: a check would wait"),
        ("--fabric", "-", "--fabric -: this is read more than once, and is no file but a pipe"),
        ("--hostfile", pipe, f"{pipe}: cannot be read: it is a pipe"),
        ("--schedule", pipe, f"{pipe}: cannot be read: it is a pipe"),
        ("--schedule", tmp_path, f"{tmp_path}: cannot be read: it is a directory"),
        ("--schedule", "long" * 2000, "no schedule 'longlong"),
    ):
        where = [] if option == "--hostfile" else ["--twin", *TREE]
        assert run(["check", *where, option, str(path), "--dry-run"]) == 2
        assert said in capsys.readouterr().err
