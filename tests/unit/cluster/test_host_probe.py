"""A look at a host: the script on this machine's own shell, and what is made of what it prints."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from weft.cluster.host_probe import HostProbe, probe_hosts, read_probe
from weft.cluster.remote import Ssh, SshResult
from weft.cluster.ssh_failure import ssh_failure_of


@pytest.fixture
def ssh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ssh:
    """Stands in for ssh: the last word runs here, behind what a login script prints; `node9` does
    not answer."""
    stand_in = tmp_path / "ssh"
    stand_in.write_text(
        "#!/bin/sh\nfor last; do before=$host; host=$last; done\n"
        'if [ "$before" = node9 ]; then echo "port 22: Connection refused" >&2; exit 255; fi\n'
        'echo "weft-look? welcome"\nexec sh -c "$last"\n'
    )
    stand_in.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return Ssh()


def test_processes_that_run_that_are_stopped_and_that_are_gone(ssh: Ssh) -> None:
    stopped = subprocess.Popen(["sleep", "60"])
    ended = subprocess.Popen(["true"])
    ended.wait()
    try:
        os.kill(stopped.pid, signal.SIGSTOP)
        time.sleep(0.05)
        looks = probe_hosts(ssh, {"node1": (stopped.pid, ended.pid), "node9": ()})
    finally:
        stopped.kill()
        stopped.wait()
    assert looks["node1"].states == {stopped.pid: "T", ended.pid: "gone"}
    assert not looks["node1"].is_lost
    assert looks["node9"].is_lost
    assert looks["node9"].unreached is not None
    assert looks["node9"].unreached.cause == "nothing listens on its ssh port"


def test_an_interface_is_only_looked_at_by_its_name(ssh: Ssh, tmp_path: Path) -> None:
    looks = probe_hosts(ssh, {"node1": ()}, f"$(touch {tmp_path}/pwned)")
    assert not looks["node1"].link_down
    assert not (tmp_path / "pwned").exists()


@pytest.mark.parametrize(
    ("line", "full"),
    [
        ("weft-look folder 0 4096 1000 900 /tmp", ("/tmp",)),
        ("weft-look folder 255 4096 1000 900 /tmp", ("/tmp",)),
        ("weft-look folder 256 4096 1000 900 /tmp", ()),
        ("weft-look folder 9999 4096 1000 0 /dev/shm", ("/dev/shm",)),
        ("weft-look folder 9999 4096 0 0 /root", ()),
        ("weft-look folder 0 4096 1000 900 /home/a b", ("/home/a b",)),
        ("weft-look folder /nfs", ()),
        ("0 4096 1000 900 /tmp", ()),
    ],
)
def test_a_folder_is_full_without_blocks_or_inodes(line: str, full: tuple[str, ...]) -> None:
    assert read_probe("node1", SshResult(0, f"{line}\n", "")).full == full


@pytest.mark.parametrize(
    "line",
    [
        "",
        " process x R",
        " process \u00b2 R",
        " folder \u00b2 \u00b2 9 9 /tmp",
        " process " + "9" * 5000 + " R",
    ],
)
def test_what_is_no_look_is_passed_over(line: str) -> None:
    assert (
        read_probe("node1", SshResult(0, f"weft-look {line}\nweft-look end\n", "")) == HostProbe()
    )


@pytest.mark.parametrize(("word", "down"), [("down", True), ("up", False), ("unknown", False)])
def test_an_interface_that_is_down(word: str, down: bool) -> None:
    assert read_probe("node1", SshResult(0, f"weft-look link {word}\n", "")).link_down is down


@pytest.mark.parametrize(
    ("err", "alive"),
    [
        ("ssh: connect to host node1 port 22: Connection timed out", False),
        ("ssh: connect to host node1 port 22: No route to host", False),
        ("user@node1: Permission denied (publickey).", True),
        ("Host key verification failed.", True),
    ],
)
def test_who_lets_no_one_in_is_not_gone(err: str, alive: bool) -> None:
    probe = read_probe("node1", SshResult(255, "", err))
    assert probe.is_lost is not alive


def test_a_host_that_takes_too_long_is_gone() -> None:
    assert read_probe("node1", SshResult(None, "", "no answer within 12 s")).is_lost
    assert ssh_failure_of("node1", SshResult(None, "", "late")).cause == "late"


def test_a_machine_without_ssh_blames_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    probe = probe_hosts(Ssh(), {"node1": ()})["node1"]
    assert not probe.is_lost
    assert probe != HostProbe()
