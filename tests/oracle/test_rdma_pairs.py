"""`weft bench rdma-pairs` between hosts apart, over real ssh, with stand-ins for perftest.

No RDMA device is asked: what the stand-ins print was measured elsewhere
(tests/perftest_stand_in.py). What is proved is that all of it starts there, and that nothing stays.
"""

import io
import os
import signal
import subprocess
import sys
import tarfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.oracle.virtual import Virtual
from tests.perftest_stand_in import (
    ROWS_BACK,
    ROWS_THERE,
    StandIn,
    averages,
    ndv4_ports,
)

from weft.cluster.remote import Ssh

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]
THERE = "/tmp/stand_in"
NAMES = [port.device for port in ndv4_ports()]


def host(rows: Sequence[str], n: int = 8) -> StandIn:
    return StandIn(ndv4_ports()[:n], dict(zip(NAMES, rows, strict=False)))


class Hosts:
    """node1 and node2 of a virtual cluster, each with the files of a stand-in."""

    def __init__(self, virtual: Virtual, folder: Path, **of: StandIn) -> None:
        self.virtual = virtual
        self.ssh = Ssh(virtual.folder / "ssh_config")
        for name, one in of.items():
            self._give(name, one, folder / name)

    def _give(self, name: str, one: StandIn, folder: Path) -> None:
        one.write(folder)
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as file:
            file.add(folder, arcname=".")
        unpack = ("sh", "-c", f"mkdir {THERE} && tar -x -C {THERE} -f -")
        said = self.ssh.run(name, unpack, timeout_s=20, stdin=packed.getvalue())
        assert said.ok, said

    def argv(self, *more: str) -> list[str]:
        stand_in = ("--sysfs", f"{THERE}/sys", "--perftest", f"{THERE}/bin")
        words = ("bench", "rdma-pairs", "node1", "node2", "--seconds", "5")
        return [*words, *stand_in, *more]

    def measure(self, *more: str) -> tuple[int, Any]:
        config = ("--ssh-config", str(self.virtual.folder / "ssh_config"))
        return self.virtual.weft(*self.argv(*config, *more))

    def running(self) -> dict[str, int]:
        """By host how many processes of the stand-ins there are."""
        count = f"cat {THERE}/calls.jsonl 2>/dev/null | sed 's/.*\"pid\": //;s/,.*//' | " + (
            "while read pid; do [ -e /proc/$pid ] && echo $pid; done | wc -l"
        )
        return {
            name: int(self.virtual.on(name, "sh", "-c", count).out) for name in ("node1", "node2")
        }


@pytest.fixture
def two(virtual: Virtual) -> Virtual:
    """Two bare hosts: nothing is brought up on them."""
    from weft.cluster.local.layout import virtual_hosts
    from weft.cluster.local.start import start

    start(virtual.folder, virtual_hosts(2), shared_home=False)
    return virtual


def test_eight_rails_at_once_in_both_directions(two: Virtual, tmp_path: Path) -> None:
    together = {"together": 8}
    hosts = Hosts(
        two,
        tmp_path,
        node1=replace(host(ROWS_THERE), faults=together),
        node2=replace(host(ROWS_BACK), faults=together),
    )
    code, record = hosts.measure("--dir", str(tmp_path / "run"))
    assert code == 0, record
    by_way = {(row["rail"], row["from"]): row for row in record["rows"]}
    for name, rows in (("node1", ROWS_THERE), ("node2", ROWS_BACK)):
        found = [by_way[f"{device}:1", name]["gbps"] for device in NAMES]
        assert found == pytest.approx(averages(rows))
    assert by_way["mlx5_ib7:1", "node1"]["client"].endswith(" 10.77.0.2")
    bound = two.on("node2", "cat", f"{THERE}/numactl.log").out
    assert bound.count("--cpunodebind=3 --membind=3") == 4
    assert hosts.running() == {"node1": 0, "node2": 0}


def test_faults_are_named_over_real_ssh(two: Virtual, tmp_path: Path) -> None:
    faults = dict(zip(NAMES, ("queue pair", "refused", ""), strict=False))
    ports = [
        replace(port, state="1: DOWN") if i == 3 else port for i, port in enumerate(ndv4_ports())
    ]
    deaf = {"mlx5_ib4": "server hangs"}
    hosts = Hosts(
        two,
        tmp_path,
        node1=replace(host(ROWS_THERE, 5), faults=faults),
        node2=replace(host(ROWS_BACK, 5), ports=ports[:5], faults=deaf),
    )
    code, record = hosts.measure("--dir", str(tmp_path / "run"))
    assert code == 4, record
    rows = {row["rail"]: row for row in record["rows"] if row["from"] == "node1"}
    assert rows["mlx5_ib0:1"]["cause"] == "the queue pair cannot reach the other port"
    assert rows["mlx5_ib1:1"]["cause"].startswith("nothing answered on node2:")
    assert rows["mlx5_ib2:1"]["state"] == "good"
    assert rows["mlx5_ib3:1"]["cause"] == "mlx5_ib3:1 of node2 is DOWN"
    assert rows["mlx5_ib4:1"]["cause"].startswith("its server on node2 did not listen")
    back = {row["rail"]: row["state"] for row in record["rows"] if row["from"] == "node2"}
    assert [back[f"{name}:1"] for name in NAMES[:5]] == ["good", "good", "good", "down", "good"]
    assert hosts.running() == {"node1": 0, "node2": 0}


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_nothing_is_left_when_it_is_killed(
    two: Virtual, tmp_path: Path, number: signal.Signals
) -> None:
    hosts = Hosts(
        two,
        tmp_path,
        node1=replace(host(ROWS_THERE, 2), faults=dict.fromkeys(NAMES, "client hangs")),
        node2=host(ROWS_BACK, 2),
    )
    main = [sys.executable, "-c", "from weft.cli import main; main()"]
    config = ("--ssh-config", str(two.folder / "ssh_config"), "--dir", str(tmp_path / "run"))
    process = subprocess.Popen(
        [*main, *hosts.argv(*config)], env=os.environ, stderr=subprocess.DEVNULL
    )
    try:
        _until(lambda: hosts.running() == {"node1": 2, "node2": 2})
    finally:
        process.send_signal(number)
        try:
            code = process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise
    assert code == (130 if number == signal.SIGINT else -signal.SIGKILL)
    _until(lambda: hosts.running() == {"node1": 0, "node2": 0})


def _until(holds: Any) -> None:
    until = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.2)
