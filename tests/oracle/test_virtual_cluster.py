"""A virtual cluster on this machine, brought up and measured through real ssh and real MPI.

Its hosts are namespaces that the test made; nothing of it is seen outside them.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import pytest
from tests.oracle.virtual import Virtual, states

from weft.cluster.local.layout import virtual_hosts
from weft.cluster.local.namespace_commands import ENVIRONMENT
from weft.cluster.local.start import leftovers, namespace_root_of, processes_of, start

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
STAGES = {
    "reach", "account", "keys", "logins", "mpi", "limits", "names", "interface", "kernel", "hello",
}  # fmt: skip


def test_four_hosts_from_nothing_to_a_latency_table(virtual: Virtual, tmp_path: Path) -> None:
    code, said = virtual.up(4)
    assert code == 0, said
    assert said["good"] == ["node1", "node2", "node3", "node4"]
    assert {*said["hosts"]["node3"]} == STAGES
    assert states(said, "node3")["keys"] == states(said, "node3")["kernel"] == "mended"
    where = ("--cluster", virtual.name, "--dir", str(tmp_path / "run"))
    code, table = virtual.weft("bench", "latency", *where, "--sizes", "8,64K")
    assert code == 0, table
    assert {sample["size_bytes"] for sample in table["rows"]} == {8, 65536}
    code, again = virtual.up(4)
    assert code == 0
    assert {state for host in again["hosts"] for state in states(again, host).values()} == {"right"}


def test_hosts_are_apart_and_know_one_another(virtual: Virtual) -> None:
    assert virtual.up(2)[0] == 0
    key = f"{Path.home()}/.ssh/weft-{virtual.name}"
    assert virtual.on("node1", "uname", "-n").out == "node1\n"
    assert virtual.on("node1", "touch", f"{Path.home()}/mine").ok
    assert not virtual.on("node2", "test", "-e", f"{Path.home()}/mine").ok
    said = virtual.on("node1", f"{key}/ssh", "node2", "uname", "-n")
    assert said.out == "node2\n", said
    modes = virtual.on("node2", "stat", "-c", "%a", key, f"{key}/id_ed25519")
    assert modes.out.split() == ["700", "600"]
    assert "StrictHostKeyChecking yes" in virtual.on("node2", "cat", f"{key}/config").out


def test_a_shared_home_is_one_folder(virtual: Virtual) -> None:
    code, said = virtual.up(2, "--shared-home")
    assert code == 0, said
    assert virtual.on("node1", "touch", f"{Path.home()}/ours").ok
    assert virtual.on("node2", "test", "-e", f"{Path.home()}/ours").ok
    assert not (Path.home() / "ours").exists()


def test_a_host_that_is_slow_to_get_its_namespaces_gets_its_cable(
    virtual: Virtual, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = tmp_path / "unshare"
    slow.write_text(f'#!/bin/sh\nsleep 0.3\nexec {shutil.which("unshare")} "$@"\n')
    slow.chmod(0o755)
    monkeypatch.setitem(ENVIRONMENT, "PATH", f"{tmp_path}:{ENVIRONMENT['PATH']}")
    start(virtual.folder, virtual_hosts(2), shared_home=True)
    assert virtual.on("node2", "uname", "-n").out == "node2\n"


def test_who_keeps_clusters_elsewhere_ends_his_own(
    virtual: Virtual, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start(virtual.folder, virtual_hosts(1), shared_home=False)
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("XDG_STATE_HOME", str(tmp_path / "elsewhere"))
        assert leftovers() == {}
        assert virtual.weft("cluster", "down", "--all")[1]["ended"] == {}
    assert leftovers()[virtual.name] > 0
    assert virtual.on("node1", "true").ok


def test_a_host_without_sshd_is_named_and_the_others_go_on(virtual: Virtual) -> None:
    assert virtual.up(3)[0] == 0
    virtual.on("node2", "pkill", "-o", "sshd")
    code, said = virtual.up(3)
    assert code == 1
    assert said["good"] == ["node1", "node3"]
    assert states(said, "node2")["reach"] == "failed"
    assert states(said, "node3")["hello"] == "right"


def test_nothing_waits_here_for_a_host_that_was_given_up(virtual: Virtual) -> None:
    """Its sshd takes the connection and says nothing."""
    start(virtual.folder, virtual_hosts(1), shared_home=False)
    assert virtual.on("node1", "sh", "-c", "kill -STOP $(pgrep -o sshd)").ok
    assert virtual.on("node1", "true", timeout_s=1.5).code is None
    waiting = ["pgrep", "-f", f"connect.py {virtual.folder}/"]
    until = time.monotonic() + 5
    while subprocess.run(waiting, check=False).returncode == 0 and time.monotonic() < until:
        time.sleep(0.1)
    assert subprocess.run(waiting, check=False).returncode == 1


@pytest.mark.parametrize("is_killed", [False, True])
def test_nothing_is_left(virtual: Virtual, is_killed: bool) -> None:
    """No process, no namespace, no mount, no file; nor where its first process was killed."""
    mounts = Path("/proc/self/mountinfo").read_text()
    assert virtual.up(2)[0] == 0
    pids = list(processes_of(virtual.name))
    theirs = namespaces(pids) - namespaces([os.getpid()])
    # Of network, host name, mounts, processes and messages: the root and two hosts.
    assert len(theirs) >= 15
    root = namespace_root_of(virtual.folder)
    assert root is not None
    if is_killed:
        os.kill(root, 9)
        code, said = virtual.weft("cluster", "status", virtual.name)
        assert code == 1
        assert said["hosts"]["node2"]["reach"]["note"] == "the virtual cluster is not running"
    assert virtual.weft("cluster", "down", virtual.name)[0] == 0
    assert virtual.name not in leftovers()
    assert not theirs & namespaces(int(entry) for entry in os.listdir("/proc") if entry.isdigit())
    assert Path("/proc/self/mountinfo").read_text() == mounts
    assert not virtual.folder.exists()


def namespaces(pids: Iterable[int]) -> set[str]:
    """Those that these processes are in, as 'net:[4026531840]'; not of one that has ended and
    waits for its parent, which here is this process."""
    found = set()
    for pid in pids:
        with contextlib.suppress(OSError):
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
                kinds = ("net", "uts", "mnt", "pid", "ipc")
                found |= {os.readlink(f"/proc/{pid}/ns/{kind}") for kind in kinds}
    return found


@pytest.mark.parametrize("stage", ["reach", "keys", "kernel"])
def test_what_was_killed_is_brought_up_when_it_is_run_again(virtual: Virtual, stage: str) -> None:
    words = ("cluster", "up", "--local", "2", "--name", virtual.name)
    program = "import sys; from weft.cli import run; sys.exit(run(sys.argv[1:]))"
    with subprocess.Popen(
        [sys.executable, "-c", program, *words], stderr=subprocess.PIPE, text=True
    ) as up:
        assert up.stderr is not None
        assert any(line.startswith(stage) for line in up.stderr)
        up.kill()
        assert up.wait(20) == -signal.SIGKILL
    code, said = virtual.up(2)
    assert code == 0, said
    assert states(said, "node2")["hello"] == "right"
