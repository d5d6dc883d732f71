"""A virtual cluster on this machine, brought up and measured through real ssh and real MPI.

Its hosts are namespaces that the test made; nothing of it is seen outside them.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from weft.cli import run
from weft.cluster.folder import cluster_folder
from weft.cluster.local.inside import ENVIRONMENT
from weft.cluster.local.start import TOOLS, leftovers, room_of
from weft.cluster.remote import Ssh

Capture = pytest.CaptureFixture[str]
Weft = Callable[..., tuple[int, Any]]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
NAME = "under-test"
STAGES = {
    "reach", "account", "keys", "mpi", "limits", "names", "interface", "kernel", "hello",
}  # fmt: skip


@pytest.fixture
def weft(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> Iterator[Weft]:
    """A verb's exit code and its JSON; every virtual cluster is ended with the test."""
    for tool, package in TOOLS.items():
        if shutil.which(tool, path=ENVIRONMENT["PATH"]) is None:
            pytest.skip(f"needs '{tool}' ({package})")
    own = () if os.geteuid() == 0 else ("--user", "--map-root-user")
    spaces = ("--net", "--uts", "--mount", "--ipc", "--pid", "--fork", "--mount-proc")
    try_it = "mount -t tmpfs none /run && ip link add br0 type bridge"
    probe = ["unshare", *own, *spaces, "sh", "-c", try_it]
    if subprocess.run(probe, check=False, env=ENVIRONMENT, timeout=20).returncode:
        pytest.skip("this sandbox allows no such namespaces")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))

    def called(*argv: str) -> tuple[int, Any]:
        code = run([*argv, "--format", "json"])
        said = capsys.readouterr()
        return code, json.loads(said.out) if said.out else said.err

    yield called
    run(["cluster", "down", NAME])
    capsys.readouterr()
    assert NAME not in leftovers()


def up(weft: Weft, n: int, *more: str) -> tuple[int, Any]:
    return weft("cluster", "up", "--local", str(n), "--name", NAME, *more)


def ssh() -> Ssh:
    return Ssh(cluster_folder(NAME) / "ssh_config")


def states(said: dict[str, Any], host: str) -> dict[str, str]:
    return {stage: of["state"] for stage, of in said["hosts"][host].items()}


def test_four_hosts_from_nothing_to_a_latency_table(weft: Weft, tmp_path: Path) -> None:
    code, said = up(weft, 4)
    assert code == 0, said
    assert said["good"] == ["node1", "node2", "node3", "node4"]
    assert {*said["hosts"]["node3"]} == STAGES
    assert states(said, "node3")["keys"] == states(said, "node3")["kernel"] == "mended"
    where = ("--cluster", NAME, "--dir", str(tmp_path / "run"))
    code, table = weft("bench", "latency", *where, "--sizes", "8,64K")
    assert code == 0, table
    assert {sample["size_bytes"] for sample in table["rows"]} == {8, 65536}
    code, again = up(weft, 4)
    assert code == 0
    assert {state for host in again["hosts"] for state in states(again, host).values()} == {"right"}


def test_hosts_are_apart_and_know_one_another(weft: Weft) -> None:
    assert up(weft, 2)[0] == 0
    key = f"{Path.home()}/.ssh/weft-{NAME}"
    assert ssh().run("node1", ("uname", "-n"), timeout_s=20).out == "node1\n"
    assert ssh().run("node1", ("touch", f"{Path.home()}/mine"), timeout_s=20).ok
    assert not ssh().run("node2", ("test", "-e", f"{Path.home()}/mine"), timeout_s=20).ok
    said = ssh().run("node1", (f"{key}/ssh", "node2", "uname", "-n"), timeout_s=20)
    assert said.out == "node2\n", said
    modes = ssh().run("node2", ("stat", "-c", "%a", key, f"{key}/id_ed25519"), timeout_s=20)
    assert modes.out.split() == ["700", "600"]
    config = ssh().run("node2", ("cat", f"{key}/config"), timeout_s=20).out
    assert "StrictHostKeyChecking yes" in config


def test_a_host_without_sshd_is_named_and_the_others_go_on(weft: Weft) -> None:
    assert up(weft, 3)[0] == 0
    ssh().run("node2", ("pkill", "-o", "sshd"), timeout_s=20)
    code, said = up(weft, 3)
    assert code == 1
    assert said["good"] == ["node1", "node3"]
    assert states(said, "node2")["reach"] == "failed"
    assert states(said, "node3")["hello"] == "right"


def test_nothing_is_left_when_its_first_process_is_killed(weft: Weft) -> None:
    assert up(weft, 2)[0] == 0
    assert leftovers()[NAME] > 0
    room = room_of(cluster_folder(NAME))
    assert room is not None
    os.kill(room.pid, 9)
    assert weft("cluster", "down", NAME)[0] == 0
    assert NAME not in leftovers()
    assert not cluster_folder(NAME).exists()
