"""Which TCP ports listen, by the script that runs on the other host; children that end."""

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from weft.bench.rdma.children import RemoteChildren
from weft.bench.rdma.measure import LISTENING
from weft.cluster.remote import Ssh


def silent(*ports: int, ticks: int = 0) -> list[int]:
    argv = ["sh", "-c", LISTENING, "sh", str(ticks), *map(str, ports)]
    said = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=20)
    return [int(word) for word in said.stdout.split()]


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
def test_a_port_listens_or_not(family: socket.AddressFamily) -> None:
    address = "127.0.0.1" if family == socket.AF_INET else "::1"
    try:
        server = socket.create_server((address, 0), family=family)
    except OSError:
        pytest.skip("no such addresses here")
    with server, socket.create_server(("127.0.0.1", 0)) as closed:
        port, other = server.getsockname()[1], closed.getsockname()[1]
        assert silent(port, other) == []
        closed.close()
        assert silent(port, other) == [other]
        client = socket.create_connection((address, port))
        assert silent(client.getsockname()[1]) == [client.getsockname()[1]]
        client.close()


def test_it_waits_for_who_comes_later() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    late = f"import time,socket; time.sleep(0.5); s=socket.create_server(('127.0.0.1',{port}));"
    process = subprocess.Popen([sys.executable, "-c", late + "time.sleep(20)"])
    try:
        assert silent(port, ticks=60) == []
    finally:
        process.kill()
        process.wait()


def test_children_end_with_their_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ssh = tmp_path / "ssh"
    ssh.write_text('#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done\nexec sh -c "$3"\n')
    ssh.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    pids: list[str] = []

    def interrupted() -> None:
        with RemoteChildren(Ssh()) as children:
            for i in range(3):
                words = ("sh", "-c", "echo $$; exec sleep 60")
                children.start("n1", words, {}, tmp_path / f"child{i}")
            until = time.monotonic() + 10
            while not all(child.out.stat().st_size for child in children.all):
                assert time.monotonic() < until
                time.sleep(0.02)
            pids.extend(child.out.read_text().strip() for child in children.all)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert len(pids) == 3
    assert not any(Path("/proc", pid).exists() for pid in pids)


def test_who_writes_without_end_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ssh = tmp_path / "ssh"
    ssh.write_text('#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done\nexec sh -c "$3"\n')
    ssh.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("weft.bench.rdma.children.MAX_BYTES", 1 << 16)
    with RemoteChildren(Ssh()) as children:
        loud = children.start("n1", ("yes",), {}, tmp_path / "loud")
        children.wait([loud], 20)
        assert loud.process.exit_code is not None
        assert loud.too_loud
    n_bytes = loud.out.stat().st_size
    time.sleep(0.3)
    assert loud.out.stat().st_size == n_bytes, "it still writes"
