"""Cables of virtual hosts do as `weft cluster up` was told: datagrams are late or lost by so much,
in the direction that was named, and no longer once the cables were made sound."""

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from math import sqrt

import pytest
from tests.oracle.virtual import Virtual, need_in_hosts

from weft.cluster.local import impairment
from weft.cluster.local.layout import read_layout
from weft.cluster.local.namespace_commands import NamespaceError
from weft.cluster.local.start import LOSS_TOOLS
from weft.core.errors import MissingError

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

N = 600
DELAY_MS = 5.0
LOSS = 0.1
PORT = 7701

ECHO = """
import socket, sys
at = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
at.bind(("", int(sys.argv[1])))
at.settimeout(60)
seen = 0
while True:
    text, who = at.recvfrom(64)
    if text == b"end":
        break
    seen += 1
    at.sendto(text, who)
print(seen)
"""
PING = """
import json, socket, sys, time
to = (sys.argv[1], int(sys.argv[2]))
at = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
time.sleep(2)
times = []
for number in range(int(sys.argv[3])):
    began = time.perf_counter()
    at.sendto(b"%d" % number, to)
    at.settimeout(0.2)
    try:
        while at.recv(64) != b"%d" % number:
            pass
        times.append(1e3 * (time.perf_counter() - began))
    except TimeoutError:
        pass
for _ in range(20):
    at.sendto(b"end", to)
print(json.dumps([len(times), min(times)]))
"""
FLOOD = """
import socket, sys
at = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
at.connect((sys.argv[1], int(sys.argv[2])))
sent = 0
while sent < 100_000_000:
    try:
        sent += at.send(bytes(60_000))
    except OSError:  # No one listens there, or the queue is full.
        pass
"""


def echoed(cluster: Virtual, n: int) -> tuple[int, int, float]:
    """Of n datagrams node1 sends to node2: how many came there, how many came back, and the
    shortest time for both ways in milliseconds."""
    with ThreadPoolExecutor() as both:
        python = (sys.executable, "-c")
        far = both.submit(cluster.on, "node2", *python, ECHO, str(PORT), timeout_s=90)
        near = cluster.on("node1", *python, PING, "node2", str(PORT), str(n), timeout_s=90)
        assert near.ok, near
        assert far.result().ok, far.result()
        back, shortest_ms = json.loads(near.out)
        return int(far.result().out), back, shortest_ms


def is_share(n_lost: int, n: int) -> bool:
    """Whether the loss is within five standard deviations of the one that was asked for."""
    return abs(n_lost - n * LOSS) <= 5 * sqrt(n * LOSS * (1 - LOSS))


def test_datagrams_are_late_or_lost_in_the_direction_that_was_named(virtual: Virtual) -> None:
    need_in_hosts(*LOSS_TOOLS, package=" ".join(LOSS_TOOLS.values()))
    code, _ = virtual.up(2, "--loss", "node2:receiving=10%", "--delay", "node1:sending=5ms")
    assert code == 0
    there, back, shortest_ms = echoed(virtual, N)
    assert is_share(N - there, N)
    assert back == there
    assert DELAY_MS <= shortest_ms < DELAY_MS + 3

    virtual.plant(losses=("node2:sending=10%",), delays=("node2=5ms", "node1:receiving=5ms"))
    there, back, shortest_ms = echoed(virtual, N)
    assert there == N
    assert is_share(there - back, N)
    assert 3 * DELAY_MS <= shortest_ms < 3 * DELAY_MS + 5

    virtual.plant()
    assert echoed(virtual, N)[:2] == (N, N)
    assert echoed(virtual, N)[2] < DELAY_MS / 2
    for host in ("node1", "node2"):
        assert "tbf" not in virtual.inside(host, "tc", "qdisc", "show", "dev", "eth0")
        assert virtual.inside(host, "nft", "list", "tables") == ""


@pytest.mark.parametrize("step", ["_limit", "_add_delay", "_lose"])
def test_a_change_that_fails_half_way_is_cleared_by_the_next(
    virtual: Virtual, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """The step fails once it has done its work; the cables of another host were done before."""
    need_in_hosts(*LOSS_TOOLS, package=" ".join(LOSS_TOOLS.values()))
    assert virtual.up(2)[0] == 0
    done = getattr(impairment, step)

    def fails(*args: object) -> None:
        done(*args)
        if read_layout(virtual.folder).hosts[1].is_changing:
            raise NamespaceError("it fails here")

    faults = {
        "rates": ("node[1-2]=200mbit",),
        "delays": ("node2=5ms",),
        "losses": ("node2=10%",),
    }
    with monkeypatch.context() as patch:
        patch.setattr(impairment, step, fails)
        with pytest.raises(MissingError, match="it fails here"):
            virtual.plant(**faults)
    assert read_layout(virtual.folder).hosts[0].sending.rate == "200mbit"
    virtual.plant()
    assert not any(host.is_changing for host in read_layout(virtual.folder).hosts)
    assert echoed(virtual, 100)[:2] == (100, 100)
    assert echoed(virtual, 100)[2] < DELAY_MS / 2
    for host in ("node1", "node2"):
        assert "tbf" not in virtual.inside(host, "tc", "qdisc", "show", "dev", "eth0")
        assert virtual.inside(host, "nft", "list", "tables") == ""


def test_a_delayed_cable_survives_a_sender_faster_than_its_rate(virtual: Virtual) -> None:
    assert virtual.up(2, "--rate", "node2=200mbit", "--delay", "node2=5ms")[0] == 0
    sent = virtual.on("node1", sys.executable, "-c", FLOOD, "node2", "9", timeout_s=60)
    assert sent.ok, sent
    assert DELAY_MS <= echoed(virtual, 50)[2] / 2 < DELAY_MS + 3
