"""Cables of virtual hosts do as `weft cluster up` was told: datagrams are late or lost by so much,
in the direction that was named, and no longer once the cables were made sound."""

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from math import sqrt

import pytest
from tests.oracle.virtual import Virtual, need_in_hosts

from weft.cluster.local.start import LOSS_TOOLS

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
