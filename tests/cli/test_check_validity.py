"""`weft check` on real processes under two host names, with counters that a thread moves."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from tests.counter_files import growing, put

from weft.cli import run

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def sysfs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An adapter that is up and counts nothing, and an interface."""
    root = tmp_path / "sys"
    port = root / "class/infiniband/mlx5_0/ports/1"
    for name, text in {
        "link_layer": "InfiniBand", "state": "4: ACTIVE", "rate": "200 Gb/sec (4X HDR)",
        "counters/port_xmit_data": 0, "counters/port_rcv_data": 0,
    }.items():  # fmt: skip
        put(port / name, text)
    for name, text in {"type": 1, "operstate": "up", "speed": 10000}.items():
        put(root / "class/net/eth0" / name, text)
    put(root / "class/net/eth0/statistics/tx_bytes", 0)
    monkeypatch.setenv("WEFT_SYSFS", str(root))
    return root


def check(hosts: tuple[str, str], where: Path, capsys: Capture, *more: str) -> dict[str, Any]:
    """The large messages take long enough that a counter moves while they travel, on a machine that
    has other work too."""
    argv = ["check", "--hosts", ",".join(hosts), "--dir", str(where), "--format", "json"]
    argv += ["--small", "8", "--large", "4M", *more]
    code = run(argv)
    said = capsys.readouterr()
    assert said.out, said.err
    answer: dict[str, Any] = json.loads(said.out)
    assert code == answer["exit_code"]
    return answer


def named(answer: dict[str, Any], name: str) -> dict[str, Any] | None:
    found = [one for one in answer["findings"] if one["facts"].get("validity") == name]
    return found[0] if found else None


def test_bytes_past_the_adapter_refuse_a_verdict_and_name_both_devices(
    two_hosts: tuple[str, str], sysfs: Path, tmp_path: Path, capsys: Capture
) -> None:
    with growing(sysfs / "class/net/eth0/statistics/tx_bytes", 2**26):
        answer = check(two_hosts, tmp_path / "run", capsys)
    assert answer["exit_code"] == 4
    assert answer["findings"][0]["facts"]["validity"] == "not-on-fabric"
    said = answer["findings"][0]["evidence"]
    assert said[0].startswith("eth0 carried ")
    assert "mlx5_0:1 (InfiniBand, ACTIVE) 0 B" in said[0]
    assert said[-1].startswith("to mend: --rails mlx5_0:1 ")
    given = "--small 8 --large 4M"
    assert answer["next_command"] == f"weft check --hosts alpha,beta {given} --rails mlx5_0:1"
    assert answer["coverage"]["pairs"] == answer["coverage"]["pairs_possible"] == 1
    assert answer["readings"]
    page = tmp_path / "later.html"
    assert run(["report", str(tmp_path / "run"), "-o", str(page)]) == 0
    assert answer["next_command"] in page.read_text()


def test_traffic_before_the_test_is_reported_next_to_the_verdict(
    two_hosts: tuple[str, str], sysfs: Path, tmp_path: Path, capsys: Capture
) -> None:
    # A single step of 4 x 10^9 bytes in 0.3 s is over a twentieth of what the link can carry.
    counter = sysfs / "class/infiniband/mlx5_0/ports/1/counters/port_rcv_data"
    with growing(counter, 10**9):
        answer = check(two_hosts, tmp_path / "run", capsys)
    finding = named(answer, "not-quiet")
    assert finding is not None
    assert sorted(finding["facts"]["hosts"]) == list(two_hosts)
    assert "mlx5_0:1 of " in finding["sentence"]
    assert "received" in finding["sentence"]
    assert named(answer, "not-on-fabric") is None
    assert answer["exit_code"] == 5, "two hosts tell nothing of one another"


def test_counters_that_rest_before_and_after_leave_only_what_two_names_of_one_machine_prove(
    two_hosts: tuple[str, str], sysfs: Path, tmp_path: Path, capsys: Capture
) -> None:
    answer = check(two_hosts, tmp_path / "run", capsys)
    assert not [one for one in answer["findings"] if "validity" in one["facts"]]
    assert answer["caveats"][0].startswith("the 2 hosts are one machine (containers)")
    assert sysfs.exists()


def test_errors_that_an_adapter_counts_during_the_run_are_reported_with_what_to_do(
    two_hosts: tuple[str, str], sysfs: Path, tmp_path: Path, capsys: Capture
) -> None:
    with growing(sysfs / "class/infiniband/mlx5_0/ports/1/counters/link_downed", 1):
        # Messages so large that the counter moves while they are under way.
        answer = check(two_hosts, tmp_path / "run", capsys, "--large", "4M")
    finding = named(answer, "errors")
    assert finding is not None
    assert "mlx5_0:1 of " in finding["sentence"]
    assert finding["evidence"][-1].endswith("reseat or replace the cable of this port")


def test_two_hosts_that_are_given_one_cpu_support_no_verdict(
    two_hosts: tuple[str, str], tmp_path: Path, capsys: Capture
) -> None:
    ours = os.sched_getaffinity(0)
    if len(ours) < 2:
        pytest.skip("a CPU that is left over needs two")
    os.sched_setaffinity(0, {min(ours)})
    try:
        answer = check(two_hosts, tmp_path / "run", capsys)
    finally:
        os.sched_setaffinity(0, ours)
    assert answer["exit_code"] == 4
    (first,) = answer["findings"]
    assert first["facts"]["validity"] == "crowded-cpus"
    assert f"2 ranks may use no CPU but {min(ours)}, of {os.cpu_count()}" in first["evidence"][0]


def test_a_rank_far_from_the_device_it_was_given_is_reported(
    two_hosts: tuple[str, str], sysfs: Path, tmp_path: Path, capsys: Capture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv("UCX_LOG_LEVEL", "error")
    monkeypatch.setenv("UCX_NET_DEVICES", "all")  # the adapter is made up
    put(sysfs / "class/infiniband/mlx5_0/device/numa_node", 1)
    put(sysfs / "devices/system/node/node0/cpulist", "0-1023")
    put(sysfs / "devices/system/node/node1/cpulist", "")
    answer = check(two_hosts, tmp_path / "run", capsys, "--rails", "mlx5_0:1")
    finding = named(answer, "far-ranks")
    assert finding is not None
    assert finding["sentence"].startswith("2 ranks on 2 hosts ran on another NUMA node")
    assert "mlx5_0:1 on node 1" in finding["evidence"][0]


def test_a_job_of_somebody_else_on_a_host_under_test_is_reported(
    two_hosts: tuple[str, str], tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, line in {
        "squeue": "77|77|ada|alpha", "sinfo": "alpha\nbeta",
        "scontrol": "SwitchName=leaf1 Level=0 LinkSpeed=1 Nodes=alpha,beta",
    }.items():  # fmt: skip
        program = tmp_path / "bin" / name
        put(program, f"#!/bin/sh\ncat <<'END'\n{line}\nEND")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    answer = check(two_hosts, tmp_path / "run", capsys)
    finding = named(answer, "neighbours")
    assert finding is not None
    assert "job 77 of ada on alpha" in finding["sentence"]
    assert answer["exit_code"] == 5, "two hosts tell nothing of one another"
