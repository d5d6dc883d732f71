"""Leaves of a virtual cluster: flows between two of them share the cable, and the ports behind it
have equal shares of it; flows inside a leaf do not cross it."""

import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.oracle.virtual import Virtual

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

MBIT = 100
PAYLOAD = 1448 / 1514
"""Of an Ethernet frame of TCP with time stamps, as `tc` counts it."""
PORT = 7702
TAKE = """
import select, socket, sys, time
at = socket.create_server(("", int(sys.argv[1])))
at.settimeout(60)
open_ = [at.accept()[0]]
begin = time.monotonic() + 1
taken = 0
while time.monotonic() < begin + 2:
    for one in select.select([at, *open_], [], [], 0.1)[0]:
        if one is at:
            open_.append(at.accept()[0])
        elif time.monotonic() > begin:
            taken += len(one.recv(1 << 16))
        else:
            one.recv(1 << 16)
print(taken * 8 / (time.monotonic() - begin) / 1e6)
"""
GIVE = """
import select, socket, sys, time
time.sleep(2)
to = (sys.argv[1], int(sys.argv[2]))
open_ = [socket.create_connection(to, timeout=20) for _ in range(int(sys.argv[3]))]
for one in open_:
    one.setblocking(False)
until = time.monotonic() + 5
try:
    while time.monotonic() < until:
        for one in select.select([], open_, [], 0.1)[1]:
            one.send(bytes(1 << 14))
except OSError:  # The other end has measured enough.
    pass
"""


def mbit_per_s(cluster: Virtual, *flows: tuple[str, str, int]) -> list[float]:
    """What arrives of flows (from, to, connections) that run at once."""
    python = (sys.executable, "-c")
    with ThreadPoolExecutor(2 * len(flows)) as all_:
        taking = [
            all_.submit(cluster.on, to, *python, TAKE, str(PORT), timeout_s=90)
            for _, to, _ in flows
        ]
        giving = [
            all_.submit(cluster.on, of, *python, GIVE, to, str(PORT), str(n), timeout_s=90)
            for of, to, n in flows
        ]
        said = [one.result() for one in (*giving, *taking)]
    assert all(one.ok for one in said), said
    return [float(one.out) for one in said[len(flows) :]]


def test_flows_between_leaves_share_the_uplink_by_ports(virtual: Virtual) -> None:
    code, said = virtual.up(4, "--leaves", "2", "--uplink", f"{MBIT}mbit/4kb")
    assert code == 0, said
    assert said["leaves"] == [["node1", "node2"], ["node3", "node4"]]
    assert said["uplink"] == f"{MBIT}mbit/4kb"
    whole = MBIT * PAYLOAD
    (alone,) = mbit_per_s(virtual, ("node1", "node3", 1))
    assert alone == pytest.approx(whole, rel=0.1)
    # By turns of the ports a second connection brings nothing.
    one, other = mbit_per_s(virtual, ("node1", "node3", 4), ("node2", "node4", 1))
    assert one + other == pytest.approx(whole, rel=0.1)
    assert other == pytest.approx(whole / 2, rel=0.25)
    inside, across = mbit_per_s(virtual, ("node1", "node2", 1), ("node3", "node1", 1))
    assert inside > 3 * whole
    assert across == pytest.approx(whole, rel=0.15)


def test_uplinks_change_while_the_cluster_runs_and_leaves_do_not(virtual: Virtual) -> None:
    assert virtual.up(3, "--leaves", "3", "--uplink", "50mbit")[0] == 0
    assert mbit_per_s(virtual, ("node1", "node3", 1))[0] < 55
    code, said = virtual.up(3, "--leaves", "2")
    assert code == 2
    assert "of 3 other hosts on 3 leaves is running" in said
    code, said = virtual.up(3, "--leaves", "3")
    assert code == 0, said
    assert said["uplink"] is None
    assert mbit_per_s(virtual, ("node1", "node3", 1))[0] > 200
