"""What runs on a cluster's head ends when nobody waits for it any more."""

import subprocess
import time
from pathlib import Path

import pytest

from weft.cluster.head import GUARD, Head
from weft.cluster.remote import Ssh


def guarded(folder: Path, *command: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        ["sh", "-c", GUARD, "sh", str(folder), *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


@pytest.mark.parametrize("code", [0, 7])
def test_the_exit_code_and_the_output_come_back(tmp_path: Path, code: int) -> None:
    process = guarded(tmp_path / "new", "sh", "-c", f"pwd; exit {code}")
    assert process.stdout is not None
    assert process.stdout.read() == f"{tmp_path}/new\n".encode()
    assert process.wait(10) == code


@pytest.mark.parametrize("deaf", ["", "trap '' TERM; "])
def test_it_ends_with_its_standard_input(tmp_path: Path, deaf: str) -> None:
    """All that it started, too."""
    script = f"{deaf}sleep 60 & echo $$ $!; wait; sleep 60"
    process = guarded(tmp_path, "sh", "-c", script)
    assert process.stdout is not None
    assert process.stdin is not None
    pids = [int(word) for word in process.stdout.readline().split()]
    assert len(pids) == 2
    assert all(map(is_running, pids))
    process.stdin.close()
    process.wait(10)
    until = time.monotonic() + 10
    while any(map(is_running, pids)) and time.monotonic() < until:
        time.sleep(0.05)
    assert not any(map(is_running, pids))


def is_running(pid: int) -> bool:
    """Not where it has ended and waits for a parent that may never ask."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_variables_and_words_arrive_whole(tmp_path: Path) -> None:
    head = Head(Ssh(), "node1", f"{tmp_path}/x y", {"A": "1 2"})
    line = head.argv(
        ["sh", "-c", 'printf "%s|%s|%s|%s" "$PWD" "$A" "$B" "$1"', "sh", "a b"], {"B": "$A"}
    )[-1]
    with subprocess.Popen(["sh", "-c", line], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as run:
        assert run.stdout is not None
        assert run.stdout.read() == f"{tmp_path}/x y|1 2|$A|a b".encode()


def test_what_was_put_is_taken_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ssh = tmp_path / "ssh"
    ssh.write_text('#!/bin/sh\nfor last; do :; done\nexec sh -c "$last"\n')
    ssh.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    head, folder = Head(Ssh(), "node1", "/"), tmp_path / "-r of; x"
    assert head.put(f"{folder}/a b", b"text").ok
    assert (folder / "a b").read_bytes() == b"text"
    assert head.remove(str(folder)).ok
    assert not folder.exists()
    assert ssh.exists()
