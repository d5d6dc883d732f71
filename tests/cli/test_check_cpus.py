"""`weft check` of hosts with different numbers of CPUs: rounds in which every rank finds one."""

import json
import os
from pathlib import Path

import pytest

from weft.cli import run

Capture = pytest.CaptureFixture[str]
PAIRS = ["--tasks-per-node", "8", "--dry-run", "--format", "json"]


@pytest.fixture(autouse=True)
def _no_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SLURM_JOB_NODELIST", raising=False)
    monkeypatch.delenv("SLURM_JOB_CPUS_PER_NODE", raising=False)


def n_rounds(capsys: Capture, *argv: str) -> int:
    assert run(["check", *argv, *PAIRS]) == 0
    n: int = json.loads(capsys.readouterr().out)["plan"]["rounds"]
    return n


def test_hosts_of_which_nothing_is_known_are_not_taken_for_this_machine(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    assert n_rounds(capsys, "--hosts", "node1,node2") == 1
    # A machine that is measured itself stands for the others: two of eight ranks at a time.
    assert n_rounds(capsys, "--hosts", f"{os.uname().nodename},node2") == 4


def test_slots_say_how_many_ranks_a_host_holds_at_a_time(tmp_path: Path, capsys: Capture) -> None:
    hostfile = tmp_path / "hosts"
    for text, rounds in (
        ("node1 slots=8\nnode2 slots=8\n", 1),
        ("node1 slots=4\nnode2 slots=8\n", 2),
        ("node1:1\nnode2:8\n", 8),
        ("node1\nnode2\n", 1),
    ):
        hostfile.write_text(text)
        assert n_rounds(capsys, "--hostfile", str(hostfile)) == rounds, text


def test_slurm_says_how_many_cpus_a_job_has_on_each_node(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setenv("SLURM_JOB_NODELIST", "node[1-3]")
    monkeypatch.setenv("SLURM_JOB_CPUS_PER_NODE", "8(x2),4")
    assert n_rounds(capsys, "--hosts", "node[1-2]") == 1
    assert n_rounds(capsys, "--hosts", "node[2-3]") == 2


def test_ranks_of_one_host_are_as_many_as_its_slots(tmp_path: Path, capsys: Capture) -> None:
    hostfile = tmp_path / "hosts"
    hostfile.write_text("far slots=6\n")
    assert run(["check", "--hostfile", str(hostfile), "--dry-run"]) == 0
    assert "all pairs: 15 of 15 pairs of 6 ranks" in capsys.readouterr().out


def test_one_host_of_which_nothing_is_known_is_refused_with_what_to_say(capsys: Capture) -> None:
    assert run(["check", "--hosts", "far", "--dry-run"]) == 2
    said = capsys.readouterr().err
    assert "the number of CPUs of far is unknown" in said
    assert "--tasks-per-node N" in said
    assert run(["check", "--hosts", "far", "--tasks-per-node", "4", "--dry-run"]) == 0


def test_slots_that_are_no_number_are_wrong_input(tmp_path: Path, capsys: Capture) -> None:
    hostfile = tmp_path / "hosts"
    hostfile.write_text("node1 slots=all\nnode2\n")
    assert run(["check", "--hostfile", str(hostfile), "--dry-run"]) == 2
    assert f"{hostfile}:1: 'all' is no number of slots" in capsys.readouterr().err


def test_real_ranks_of_hosts_that_hold_fewer_meet_one_after_the_other(
    two_hosts: tuple[str, str], tmp_path: Path, capsys: Capture
) -> None:
    """Both names are this machine: two active ranks at a time need no more than two CPUs."""
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("two ranks at a time need two CPUs")
    hostfile, where = tmp_path / "hosts", tmp_path / "run"
    hostfile.write_text(f"{two_hosts[0]} slots=1\n{two_hosts[1]} slots=2\n")
    argv = ["check", "--hostfile", str(hostfile), "--tasks-per-node", "2", "--dir", str(where)]
    assert run([*argv, "--large", "64K", "--no-report", "--format", "json"]) == 5
    rows = json.loads(capsys.readouterr().out)["readings"]
    met = {(row["round"], *sorted((row["from"], row["to"]))) for row in rows}
    alpha, beta = two_hosts
    assert met == {(0, f"{alpha}:0", f"{beta}:2"), (1, f"{alpha}:1", f"{beta}:3")}
