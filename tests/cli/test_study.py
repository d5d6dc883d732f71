"""`weft study`: list, show, plan and run, as a user types them."""

import contextlib
import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.mock_backend import MockBackend

from weft.catalog.load import study_names
from weft.cli import run
from weft.study.run.store import read_run

Capture = pytest.CaptureFixture[str]

STUDY = """
schema = "weft.study/1"
name = "mine"
title = "Mine"
question = "Is it?"
repeats = 6

[[benchmarks]]
name = "latency"
sizes = "8,64K"

[[benchmarks]]
name = "barrier"
"""


@pytest.fixture
def mine(tmp_path: Path) -> str:
    path = tmp_path / "mine.toml"
    path.write_text(STUDY)
    return str(path)


def test_list_names_every_study_with_its_title(capsys: Capture) -> None:
    assert run(["study", "list"]) == 0
    printed = capsys.readouterr().out
    for name in study_names():
        assert name in printed
    assert run(["study", "list", "--format", "json"]) == 0
    assert {s["name"] for s in json.loads(capsys.readouterr().out)["studies"]} == set(study_names())


def test_show_prints_the_document_as_written(mine: str, capsys: Capture) -> None:
    assert run(["study", "show", mine]) == 0
    assert capsys.readouterr().out == STUDY
    assert run(["study", "show", mine, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["schema"] == "weft.study/1"
    assert run(["study", "show", mine, "--format", "csv"]) == 0
    (row,) = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert row["benchmarks"] == "latency barrier"


def test_plan_counts_and_orders_without_running(mine: str, capsys: Capture) -> None:
    assert run(["study", "plan", mine, "--mock"]) == 0
    printed = capsys.readouterr().out
    assert "12 launches: 2 trials, 1 arm, 6 repeats" in printed
    assert run(["study", "plan", mine, "--mock", "--repeats", "2", "--format", "csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["order"] for row in rows] == ["0", "1", "2", "3"]


def test_a_plan_on_scattered_nodes_fits_a_terminal(capsys: Capture) -> None:
    hosts = ",".join(f"n{i:03d}" for i in range(1, 1000, 7))
    assert run(["study", "plan", "adaptive-routing", "--hosts", hosts, "--format", "text"]) == 0
    printed = capsys.readouterr().out
    assert "40 trials, 2 arms, 1 repeat" in printed
    assert max(map(len, printed.splitlines())) <= 100
    assert " ... " in printed


def test_a_run_ends_in_a_table_and_the_next_command(
    mine: str, tmp_path: Path, capsys: Capture
) -> None:
    where = tmp_path / "run"
    assert run(["study", "run", mine, "--mock", "--dir", str(where)]) == 0
    captured = capsys.readouterr()
    lines = captured.out.splitlines()
    assert "# latency, us, 2 nodes x 1" in lines
    header = next(line for line in lines if line.startswith("size (B)"))
    assert header.split()[2:5] == ["p50", "min", "max"]
    assert "95 % interval of p50" in header
    assert [line.split()[0] for line in lines if line.strip().startswith(("8 ", "65536 "))]
    assert lines[-2] == "12 of 12 launches complete"
    assert lines[-1].endswith(f"weft report {where}")
    assert captured.err == ""
    assert read_run(where).complete


def test_json_and_csv_hold_the_same_figures_as_the_run(
    mine: str, tmp_path: Path, capsys: Capture
) -> None:
    assert (
        run(["study", "run", mine, "--mock", "--dir", str(tmp_path / "a"), "--format", "json"]) == 0
    )
    record = json.loads(capsys.readouterr().out)
    assert (record["n_launches"], record["n_done"], record["n_failed"]) == (12, 12, 0)
    assert (
        run(["study", "run", mine, "--mock", "--dir", str(tmp_path / "b"), "--format", "csv"]) == 0
    )
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [float(row["median"]) for row in rows] == [row["median"] for row in record["rows"]]


def test_without_dir_a_fresh_directory_is_taken(
    mine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["study", "run", mine, "--mock"]) == 0
    (where,) = (tmp_path / "runs").iterdir()
    assert where.name.startswith("mine-")
    assert read_run(where).complete


def test_resume_of_a_finished_run_measures_nothing_again(
    mine: str, tmp_path: Path, capsys: Capture
) -> None:
    argv = ["study", "run", mine, "--mock", "--dir", str(tmp_path / "run")]
    assert run(argv) == 0
    capsys.readouterr()
    assert run([*argv, "--resume", "--format", "json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["n_before"], record["n_done"]) == (12, 0)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ([], "not empty"),
        (["--resume", "--repeats", "7"], "planned differently"),
        (["--resume", "--seed", "3"], "started differently: seed 1, now 3"),
        (["--resume", "--nodes", "5"], "started differently: nodes"),
    ],
)
def test_a_directory_of_another_run_is_refused(
    mine: str, tmp_path: Path, capsys: Capture, more: list[str], said: str
) -> None:
    argv = ["study", "run", mine, "--mock", "--dir", str(tmp_path / "run")]
    assert run(argv) == 0
    assert run([*argv, *more]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["show", "smoek"], "did you mean 'smoke'"),
        (["show", "no/such.toml"], "no/such.toml"),
        (["run", "smoke", "--mock", "--resume"], "--resume needs the run"),
        (["run", "smoke", "--mock", "--nodes", "1"], "needs 2 nodes, 1 available"),
        (["run", "smoke", "--mock", "--dir", "none", "--resume"], "not a run directory"),
    ],
)
def test_wrong_input_is_said_and_nothing_is_left(
    argv: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Capture,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["study", *argv]) == 2
    captured = capsys.readouterr()
    assert said in captured.err
    assert captured.out == ""
    assert not list(tmp_path.iterdir())


def test_a_dry_run_prints_one_recipe_a_trial_and_leaves_nothing(
    mine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    before = list(tmp_path.iterdir())
    assert run(["study", "run", mine, "--mock", "--dry-run"]) == 0
    assert capsys.readouterr().out.count("# t00") == 2
    assert list(tmp_path.iterdir()) == before


def test_failures_are_said_as_they_happen_and_exit_4(
    mine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    backend = MockBackend(failing=["t000-latency.r02"], hanging=["t001-barrier.r00"])
    nodes = ("n001", "n002")
    monkeypatch.setattr("weft.cli.measure.open_backend", lambda _, **__: (backend, nodes))
    where = tmp_path / "run"
    assert run(["study", "run", mine, "--mock", "--dir", str(where)]) == 4
    captured = capsys.readouterr()
    assert "t000-latency.r02 failed: " in captured.err
    assert "t001-barrier.r00 hung: " in captured.err
    assert "10 of 12 launches complete, 2 failed" in captured.out


def test_an_interrupt_says_how_to_go_on_and_going_on_finishes(mine: str, tmp_path: Path) -> None:
    where = tmp_path / "run"
    argv = ["study", "run", mine, "--mock", "--dir", str(where)]
    slow = (
        "import sys, tests.mock_backend as m; from weft.cli import run; m.put_into_verbs();"
        "old = m.MockBackend.__init__;"
        "m.MockBackend.__init__ = lambda s, **k: old(s, **{**k, 'delay_s': 0.2});"
        "sys.exit(run(sys.argv[1:]))"
    )
    child = subprocess.Popen([sys.executable, "-c", slow, *argv], stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not list(where.glob("samples/*.jsonl")) and time.monotonic() < deadline:
        time.sleep(0.01)
    os.kill(child.pid, signal.SIGINT)
    _, said = child.communicate(timeout=60)
    assert child.returncode == 130
    assert f"--dir {where} --resume" in said
    assert "Traceback" not in said
    assert not read_run(where).complete
    assert run([*argv, "--resume"]) == 0
    assert read_run(where).complete


def test_a_terminal_sees_progress_and_a_pipe_does_not_see_it_in_the_data(
    mine: str, tmp_path: Path
) -> None:
    terminal, its_other_end = os.openpty()
    argv = ["study", "run", mine, "--mock", "--dir", str(tmp_path / "run"), "--format", "csv"]
    code = (
        "import sys, tests.mock_backend as m; from weft.cli import main; m.put_into_verbs();"
        "old = m.MockBackend.__init__;"
        "m.MockBackend.__init__ = lambda s, **k: old(s, **{**k, 'delay_s': 0.5}); main()"
    )
    child = subprocess.run(
        [sys.executable, "-c", code, *argv],
        stdout=subprocess.PIPE,
        stderr=its_other_end,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "100"},
        check=True,
        timeout=60,
    )
    os.close(its_other_end)
    seen = _read_to_end(terminal)
    os.close(terminal)
    assert b" of 12 launches" in seen
    assert seen.rstrip().endswith((b"\x1b[2K", b"\x1b[?25h")), "the bar is gone at the end"
    rows = list(csv.DictReader(io.StringIO(child.stdout.decode())))
    assert len(rows) == 3


def _read_to_end(terminal: int) -> bytes:
    """All that its other end wrote: one read returns no more than a buffer's worth."""
    seen = b""
    with contextlib.suppress(OSError):  # Linux says the end of a terminal as an error.
        while piece := os.read(terminal, 1 << 16):
            seen += piece
    return seen


def test_what_hosts_did_is_no_sample_of_switches(tmp_path: Path, capsys: Capture) -> None:
    """A buffer above what switches take: the setting was not in force, and why is in the run."""
    pytest.importorskip("weft._engine", reason="the engine is not built")
    model = "{ reduction_ns = 450, payload_bytes = 256, max_bytes = 4096 }"
    study = tmp_path / "switches.toml"
    study.write_text(
        f"""
schema = "weft.study/1"
name = "switches"
title = "Switches"
question = "Are they faster?"
repeats = 2
nodes = [16]

[[benchmarks]]
name = "allreduce"
sizes = "8,8K"

[[factors]]
name = "reduced_by"

[[factors.settings]]
name = "hosts"

[[factors.settings]]
name = "switches"
options = {{ algorithm = "sharp", in_network = {model} }}
evidence = {{ carried_out_by = "operations" }}
"""
    )
    into = tmp_path / "run"
    words = ["study", "run", str(study), "--twin", "fat-tree", "--nodes", "16"]
    assert run([*words, "--dir", str(into)]) == 0
    out = capsys.readouterr().out
    assert "reduced_by=switches needs carried_out_by='operations', found 'hosts'" in out
    lines = "".join(path.read_text() for path in (into / "samples").iterdir())
    assert "8192 bytes are more than in_network.max_bytes (4096)" in lines


ARMS = """
[[factors]]
name = "routing"
settings = [{ name = "static" }, { name = "adaptive", options = { adaptive_routing = "on" } }]
"""


def test_a_study_ends_with_the_verdict_of_every_benchmark(tmp_path: Path, capsys: Capture) -> None:
    study = tmp_path / "arms.toml"
    text = STUDY.replace('name = "latency"', 'name = "alltoall"') + ARMS
    study.write_text(text)
    argv = ["study", "run", str(study), "--twin", "fat-tree", "--nodes", "32", "--repeats", "1"]
    argv += ["--job-nodes", "8", "--node-sets", "7", "--dir", str(tmp_path / "run")]
    assert run([*argv, "--format", "json"]) == 0
    record = json.loads(capsys.readouterr().out)
    named = {one["facts"].get("benchmark") for one in record["findings"]}
    assert {"alltoall", "barrier"} <= named
    argv[-1] = str(tmp_path / "again")
    assert run(argv) == 0
    printed = capsys.readouterr().out
    verdict = printed.split("\n\n")[0].splitlines()
    findings = [line for line in verdict if "ratio" in line]
    assert {word for line in findings for word in ("alltoall", "barrier") if word in line} == {
        "alltoall",
        "barrier",
    }
    assert [line for line in verdict if line.startswith("would show: ")] == [
        f"would show: {one}" for one in record["would_show"]
    ]


def test_a_plan_says_that_the_job_is_smaller_than_the_twin(mine: str, capsys: Capture) -> None:
    argv = ["study", "plan", mine, "--twin", "fat-tree", "--nodes", "16"]
    assert run(argv) == 0
    size = "the job runs on 2 of the twin's 16 nodes; --job-nodes sets how many"
    assert size in capsys.readouterr().out.splitlines()
    assert run([*argv, "--job-nodes", "16"]) == 0
    assert "of the twin's" not in capsys.readouterr().out
    assert run([*argv, "--job-nodes", "4", "--node-sets", "5", "--format", "json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert len({tuple(one["nodes"]) for one in record["launches"]}) == 5
    assert record["remarks"] == [size.replace("on 2", "on 4")]


def test_factors_say_what_switches_each_setting(capsys: Capture) -> None:
    assert run(["study", "factors"]) == 0
    assert re.search(r"^sharp +off on$", capsys.readouterr().out, re.MULTILINE)
    assert run(["study", "factors", "adaptive-routing"]) == 0
    out = capsys.readouterr().out
    assert "  twin      adaptive_routing = on" in out
    assert "  machine   by hand: in opensm.conf routing_engine" in out
    assert run(["study", "factors", "sharp", "--format", "csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["setting"] for row in rows] == ["off", "on"]
    assert "MV2_ENABLE_SHARP=1" in rows[1]["machine"]
    assert run(["study", "factors", "sharpe"]) == 2


def test_a_study_may_say_how_large_its_twin_is(capsys: Capture) -> None:
    assert run(["study", "plan", "frontera-ar", "--twin", "frontera", "--node-sets", "1"]) == 0
    assert "the job runs on 256 or 512 of the twin's 3696 nodes" in capsys.readouterr().out
    words = ["study", "plan", "frontera-ar", "--twin", "frontera", "--nodes", "600"]
    assert run([*words, "--node-sets", "1"]) == 0
    assert "of the twin's 600 nodes" in capsys.readouterr().out
