"""Any one cable cut or slowed in a regular net: the audit names that one, and nothing else."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.oracle.ibsim import Net, fat_tree, frontera_like, irregular, torus

from weft.audit.audit import audit
from weft.audit.case import AuditCase
from weft.audit.facts import AuditPort
from weft.core.finding import Finding, Severity
from weft.topology.subnet.subnet import Subnet

NETS: dict[str, Callable[[], Net]] = {
    "small": lambda: fat_tree(4, 4, 2, 2),
    "wide": lambda: fat_tree(20, 6, 5, 1),
    "directors": lambda: frontera_like(12),
}
Socket = tuple[str, int]


def findings(net: Net, folder: Path) -> tuple[Finding, ...]:
    path = folder / "net.txt"
    path.write_text(net.text())
    return audit(AuditCase(Subnet.read([str(path)]))).findings


def up_links(net: Net) -> list[tuple[Socket, Socket]]:
    """Cables from a leaf to a switch above it."""
    return [
        ((name, port), (peer, peer_port))
        for name, sockets in net.cables.items()
        for port, (peer, peer_port, _) in sockets.items()
        if ";leaf" in name and ";" in peer
    ]


def cut(net: Net, a: Socket, b: Socket) -> None:
    del net.cables[a[0]][a[1]]
    del net.cables[b[0]][b[1]]


@pytest.mark.parametrize("kind", list(NETS))
def test_a_cut_up_link_is_named(kind: str, tmp_path: Path) -> None:
    draw = random.Random(kind)
    n_exact = 0
    for _ in range(12):
        net = NETS[kind]()
        a, b = draw.choice(up_links(net))
        cut(net, a, b)
        (missing,) = findings(net, tmp_path)
        assert missing.severity is Severity.BAD
        (cable,) = missing.facts.cables
        assert (cable.a.node, cable.a.port) == a
        if isinstance(cable.b, AuditPort):
            assert (cable.b.node, cable.b.port) == b
            n_exact += 1
        else:
            # The first or last leaf on a board has too few neighbours there to tell the board.
            assert cable.b.unit in b[0]
    assert n_exact >= 10


@pytest.mark.parametrize("kind", list(NETS))
def test_a_slow_cable_is_named(kind: str, tmp_path: Path) -> None:
    draw = random.Random(kind)
    for _ in range(6):
        net = NETS[kind]()
        name = draw.choice([name for name in net.nodes if net.cables[name]])
        port = draw.choice(list(net.cables[name]))
        peer, peer_port, _ = net.cables[name][port]
        net.cables[name][port] = (peer, peer_port, "1xHDR")
        net.cables[peer][peer_port] = (name, port, "1xHDR")
        (slow,) = findings(net, tmp_path)
        assert slow.severity is Severity.BAD
        (cable,) = slow.facts.cables
        ends = {(end.node, end.port) for end in (cable.a, cable.b)}
        assert ends == {(name, port), (peer, peer_port)}


def test_a_cut_cable_of_a_torus_is_named(tmp_path: Path) -> None:
    draw = random.Random(7)
    for _ in range(6):
        net = torus((4, 4, 3))
        name = draw.choice([name for name in net.nodes if name.startswith("sw ")])
        port = draw.randrange(1, 7)
        peer, peer_port, _ = net.cables[name][port]
        cut(net, (name, port), (peer, peer_port))
        (missing,) = findings(net, tmp_path)
        assert missing.severity is Severity.WARNING
        (cable,) = missing.facts.cables
        ends = {(end.node, end.port) for end in (cable.a, cable.b)}
        assert ends == {(name, port), (peer, peer_port)}


@pytest.mark.parametrize("kind", list(NETS))
def test_whole_nets_raise_no_alarm(kind: str, tmp_path: Path) -> None:
    assert findings(NETS[kind](), tmp_path) == ()
    assert findings(torus((4, 4, 3)), tmp_path) == ()


def test_any_net_is_judged_without_an_accident(tmp_path: Path) -> None:
    for seed in range(60):
        for finding in findings(irregular(seed), tmp_path):
            assert finding.sentence
            assert finding.facts.rule
