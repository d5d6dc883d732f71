"""Nodes that are no compute nodes: they make no leaf, have no rail, and accuse no cable."""

from pathlib import Path

from tests.oracle.ibsim import Net, fat_tree

from weft.audit.audit import Audit, audit
from weft.audit.case import AuditCase
from weft.cli import run
from weft.core.finding import Severity
from weft.topology.subnet.subnet import Subnet

SPINE = "MF0;spine00:MQM8700/U1"


def audited(net: Net, folder: Path) -> Audit:
    path = folder / "net.out"
    path.write_text(net.text())
    return audit(AuditCase(Subnet.read([str(path)])))


def with_adapters(net: Net, switch: str, *names: str) -> Net:
    """The net with these adapters in ports behind those of the switch."""
    kind, n_ports, guid = net.nodes[switch]
    net.nodes[switch] = (kind, n_ports + len(names), guid)
    for at, name in enumerate(names, start=1):
        net.add(name, "Ca", 1)
        net.link((switch, n_ports + at), (name, 1))
    return net


def test_service_nodes_at_a_spine_are_no_leaf(tmp_path: Path) -> None:
    net = with_adapters(fat_tree(5, 4, 2, 2), SPINE, "svc1 mlx5_0", "svc2 mlx5_0", "svc3 mlx5_0")
    assert audited(net, tmp_path).findings == ()


def test_login_nodes_with_both_adapters_on_one_leaf_are_on_no_rail(tmp_path: Path) -> None:
    net = fat_tree(4, 0, 2, 2, leaf_ports=30)
    leaves = [name for name in net.nodes if ";leaf" in name]
    for rail, leaf in enumerate(leaves):
        for node in range(5):
            name = f"gpu{node} mlx5_{rail}"
            net.add(name, "Ca", 1)
            net.link((leaf, 20 + node), (name, 1))
    with_adapters(net, leaves[2], "login mlx5_0", "login mlx5_1")
    found = audited(net, tmp_path)
    judged = {rule.name for rule, ruling in found.rulings if ruling.judged}
    assert "wrong-rail" in judged
    assert "wrong-rail" not in {str(finding.facts.rule) for finding in found.findings}
    assert not found.is_bad


def test_a_taper_is_told_only_where_it_differs(tmp_path: Path) -> None:
    net = fat_tree(5, 4, 2, 2)
    leaf = "MF0;leaf001:MQM8700/U1"
    peer, peer_port, _ = net.cables[leaf].pop(5)
    del net.cables[peer][peer_port]
    (missing,) = audited(net, tmp_path).findings
    assert "taper 0.67:1 instead of 0.50:1" in missing.evidence
    # One of its four hosts (of 100 Gb/s) is down as well: 300 below 600 up.
    host, port, _ = net.cables[leaf].pop(1)
    del net.cables[host][port]
    found = audited(net, tmp_path).findings
    texts = [line for finding in found for line in finding.evidence]
    assert not [line for line in texts if "taper" in line]
    assert [finding.severity for finding in found] == [Severity.BAD] * 2


def test_two_leaves_do_not_tell_which_lacks_a_cable(tmp_path: Path) -> None:
    net = fat_tree(2, 4, 2, 1)
    peer, peer_port, _ = net.cables["MF0;leaf001:MQM8700/U1"].pop(5)
    del net.cables[peer][peer_port]
    found = audited(net, tmp_path)
    assert (found.is_bad, found.is_unknown) == (False, True)
    assert run(["fabric", "audit", str(tmp_path / "net.out")]) == 5
    before = tmp_path / "before.out"
    before.write_text(fat_tree(2, 4, 2, 1).text())
    assert run(["fabric", "audit", str(tmp_path / "net.out"), "--before", str(before)]) == 1
