"""The commands that give the cables of a virtual cluster their faults."""

import pytest

from weft.cluster.local import impairment
from weft.cluster.local.impairment import limit_uplinks, queue_bytes
from weft.cluster.local.layout import virtual_hosts


def said(monkeypatch: pytest.MonkeyPatch, n: int, n_leaves: int, rate: str | None) -> list[str]:
    """The commands that limit the uplinks, without the words that enter the network."""
    lines: list[str] = []
    monkeypatch.setattr(impairment, "run", lambda *argv: lines.append(" ".join(argv)))
    monkeypatch.setattr(impairment, "_within", lambda _: ())
    limit_uplinks(1, virtual_hosts(n, n_leaves), rate)
    return lines


def test_each_end_of_an_uplink_is_limited_and_takes_its_ports_in_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lines = said(monkeypatch, 5, 3, "200mbit/2kb")
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


def test_uplinks_without_a_limit_have_no_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = said(monkeypatch, 4, 2, None)
    assert len([line for line in lines if "qdisc del" in line]) == 4
    assert not any("tbf" in line or "htb" in line for line in lines)
    assert said(monkeypatch, 4, 1, "200mbit") == []


def test_a_cable_lets_so_many_bytes_wait_as_it_passes_in_20_ms_and_at_once() -> None:
    assert queue_bytes("200mbit/2kb") == 500_000 + 2048
    assert queue_bytes("1gbit") == 2_500_000 + 131_072
    assert queue_bytes("64kbit/2kb") == 160 + 2048
    assert queue_bytes("800bit/2kb") == 2 + 2048
