"""The network that test_live_check.py measures on: whom it joins, and that nothing of it stays."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.oracle.ranks_apart import CGROUPS, ranks_apart, why_not

ROOT = Path(__file__).parents[2]
HOLD = """
import sys
from pathlib import Path
from tests.oracle.ranks_apart import ranks_apart

with ranks_apart(2, Path(sys.argv[1])) as ranks:
    print(ranks.hold(1, 0.5) is None, flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def possible() -> None:
    reason = why_not()
    if reason is not None:
        pytest.skip(reason)


def as_rank(folder: Path, rank: int, *argv: str) -> str:
    """What a command says where the launcher would start that rank."""
    done = subprocess.run(
        [str(folder / "rank"), *argv],
        env={**os.environ, "PMI_RANK": str(rank)},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=20,
        check=True,
    )
    return done.stdout.strip()


def networks() -> set[str]:
    """Network namespaces that a process is in, or that a file keeps."""
    found = set(re.findall(r"net:\[\d+\]", Path("/proc/self/mountinfo").read_text()))
    for link in Path("/proc").glob("[0-9]*/ns/net"):
        try:
            found.add(os.readlink(link))
        except OSError:  # it has just ended
            continue
    return found


def groups_of(process: int) -> list[Path]:
    return [group for root in CGROUPS for group in root.glob(f"weft{process}-*")]


def becomes_true(condition: Callable[[], bool], seconds: float = 20) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def test_each_rank_has_an_interface_of_its_own_and_reaches_the_others(tmp_path: Path) -> None:
    serve = "import socket; s = socket.create_server(('10.77.0.1', 7000)); print(1, flush=True);"
    serve += " s.accept()[0].sendall(b'over the bridge')"
    fetch = "import socket; print(socket.create_connection(('10.77.0.1', 7000), 10).recv(99))"
    with ranks_apart(2, tmp_path):
        for rank in (0, 1):
            assert as_rank(tmp_path, rank, "pwd") == str(tmp_path)
            assert set(as_rank(tmp_path, rank, "ls", "/sys/class/net").split()) >= {"lo", "eth0"}
        words = [str(tmp_path / "rank"), sys.executable, "-c", serve]
        environment = {**os.environ, "PMI_RANK": "0"}
        with subprocess.Popen(words, env=environment, stdout=subprocess.PIPE) as server:
            assert server.stdout is not None
            assert server.stdout.readline() == b"1\n"
            assert as_rank(tmp_path, 1, sys.executable, "-c", fetch) == "b'over the bridge'"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, None])
def test_nothing_stays_behind_however_the_test_ends(tmp_path: Path, number: int | None) -> None:
    pipe = subprocess.PIPE
    argv = [sys.executable, "-c", HOLD, str(tmp_path)]
    with subprocess.Popen(argv, cwd=ROOT, stdin=pipe, stdout=pipe) as holding:
        assert holding.stdout is not None
        held = {b"True\n": True, b"False\n": False}[holding.stdout.readline()]
        assert (groups_of(holding.pid) != []) is held
        theirs = {as_rank(tmp_path, rank, "readlink", "/proc/self/ns/net") for rank in (0, 1)}
        assert len(theirs) == 2
        assert theirs <= networks()
        if number is not None:
            holding.send_signal(number)
    assert becomes_true(lambda: not theirs & networks())
    assert becomes_true(lambda: groups_of(holding.pid) == [])
