"""The commands that give the cables of a virtual cluster their faults."""

from dataclasses import replace
from pathlib import Path

import pytest

from weft.cluster.local import impairment
from weft.cluster.local.impairment import impair, limit_uplinks, queue_bytes
from weft.cluster.local.layout import Impairment, virtual_hosts


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The commands, without the words that enter the network."""
    found: list[str] = []
    monkeypatch.setattr(impairment, "run", lambda *argv: found.append(" ".join(argv)))
    monkeypatch.setattr(impairment, "_within", lambda process: ("of", str(process)))
    return found


def test_each_end_of_an_uplink_is_limited_and_takes_its_ports_in_turn(lines: list[str]) -> None:
    limit_uplinks(1, virtual_hosts(5, 3), "200mbit/2kb")
    for device, ports in (("up1", [[1], [2]]), ("down1", [[3, 4], [5]]), ("up3", [[5]])):
        own = [line for line in lines if f"dev {device} " in line]
        (limit,) = (line for line in own if " tbf " in line)
        assert "rate 200mbit burst 2kb" in limit
        classes = [line for line in own if " class add " in f" {line} "]
        assert len(classes) == 1 + len(ports)
        flows = [line.split("match ip src ")[1] for line in own if "u32" in line]
        wanted = [
            f"10.77.0.{host}/32 flowid 2:{at}" for at, of in enumerate(ports, 2) for host in of
        ]
        assert flows == wanted


def test_uplinks_without_a_limit_have_no_queue(lines: list[str]) -> None:
    limit_uplinks(1, virtual_hosts(4, 2), None)
    assert len([line for line in lines if "qdisc del" in line]) == 4
    assert not any("tbf" in line or "htb" in line for line in lines)
    lines.clear()
    limit_uplinks(1, virtual_hosts(4, 1), "200mbit")
    assert lines == []


@pytest.mark.parametrize("n_leaves", [1, 2])
def test_a_leaf_takes_the_ports_of_those_that_send_to_a_host_in_turn(
    lines: list[str], tmp_path: Path, n_leaves: int
) -> None:
    """Of a cluster without leaves the switch is one bridge with one queue a host."""
    hosts = virtual_hosts(6, n_leaves)
    slow = Impairment(rate="200mbit")
    new = replace(hosts[0], sending=slow, receiving=slow)
    others = [host for host in hosts if host.leaf == new.leaf and host.name != new.name]
    impair(tmp_path, 1, 2, hosts[0], new, on_leaf=others)
    of_host = [line for line in lines if line.startswith("of 2 ")]
    assert len([line for line in of_host if " tbf " in line]) == 1
    assert not any("htb" in line for line in of_host)
    flows = [line.split("match ip src ")[1] for line in lines if "u32" in line]
    # What comes over the uplink has the first class, which is the default one.
    wanted = ["10.77.0.2/32 flowid 2:2", "10.77.0.3/32 flowid 2:3"] if n_leaves == 2 else []
    assert flows == wanted


def test_a_cable_lets_so_many_bytes_wait_as_it_passes_in_20_ms_and_at_once() -> None:
    assert queue_bytes("200mbit/2kb") == 500_000 + 2048
    assert queue_bytes("1gbit") == 2_500_000 + 131_072
    assert queue_bytes("64kbit/2kb") == 160 + 2048
    assert queue_bytes("800bit/2kb") == 2 + 2048
