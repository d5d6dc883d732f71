"""Rails: adapter i of every node on a leaf of rail i."""

from typing import Any

from tests.unit.audit.subnet_faults import TREE, FaultySubnet, ruling

from weft.core.finding import Severity


def railed(
    n_nodes: int = 8, n_rails: int = 4, name: str = "gpu{node:02d} mlx5_{rail}"
) -> FaultySubnet:
    """Leaf r of the tree holds adapter r of every node, in port `node`."""
    document = {**TREE, "nodes": n_nodes * n_rails, "nodes_per_leaf": n_nodes, "spines": 2}
    subnet = FaultySubnet(document)
    for rail in range(n_rails):
        for node in range(n_nodes):
            own = f"n{rail * n_nodes + node + 1:03d} hca0"
            subnet.rename(own, name.format(node=node, rail=rail))
    return subnet


def swap(subnet: FaultySubnet, a: tuple[str, int], b: tuple[str, int]) -> None:
    ends: list[dict[str, Any]] = [subnet.cable(*a)[1], subnet.cable(*b)[1]]
    (one, two) = ends
    one["node"], two["node"] = two["node"], one["node"]


def test_rails_as_they_should_be() -> None:
    found = ruling("wrong-rail", railed())
    assert (found.judged, found.findings) == ("32 adapters", ())


def test_two_swapped_cables_of_a_node_are_one_finding() -> None:
    subnet = railed()
    swap(subnet, ("leaf-02", 4), ("leaf-03", 4))
    (found,) = ruling("wrong-rail", subnet).findings
    assert found.severity is Severity.BAD
    assert found.sentence == "gpu03: adapters 2 and 1 are on each other's rail"
    assert len(found.facts.cables) == 2
    assert "7 of 8 adapters on leaf-02 have the number 1" in found.evidence


def test_four_nodes_have_a_majority_too() -> None:
    subnet = railed(n_nodes=4)
    swap(subnet, ("leaf-01", 2), ("leaf-04", 2))
    (found,) = ruling("wrong-rail", subnet).findings
    assert found.sentence == "gpu01: adapters 3 and 0 are on each other's rail"


def test_one_adapter_on_a_leaf_of_another_rail() -> None:
    subnet = railed()
    for leaf in ("leaf-01", "leaf-02", "leaf-03", "leaf-04"):
        subnet.record["nodes"][subnet.node(leaf)]["n_ports"] = 14
    subnet.move("leaf-01", 3, "leaf-02", 13)
    (found,) = ruling("wrong-rail", subnet).findings
    assert found.sentence == "gpu02: adapter 0 is on leaf-02 port 13, a leaf of rail 1"
    assert "leaf-01" in found.facts.fix


def test_all_adapters_of_a_node_on_one_leaf_are_no_rails() -> None:
    subnet = FaultySubnet({**TREE, "nodes": 6, "hcas_per_node": 4})
    names = [node["description"] for node in subnet.record["nodes"]]
    assert "n001 hca3" in names
    found = ruling("wrong-rail", subnet)
    assert (found.judged, found.findings) == ("", ())


def test_hosts_with_one_adapter_have_no_rails() -> None:
    found = ruling("wrong-rail", FaultySubnet())
    assert found.judged == ""
    assert "several adapters" in found.missing


def test_the_platform_names_its_devices() -> None:
    from weft.catalog.load import platform

    subnet = railed(name="h{node:02d} mlx5_ib{rail}")
    swap(subnet, ("leaf-02", 4), ("leaf-03", 4))
    (found,) = ruling("wrong-rail", subnet, platform=platform("azure-ndv5")).findings
    assert found.sentence == "h03: adapters 2 and 1 are on each other's rail"
    assert any(line.startswith("azure-ndv5: ") for line in found.evidence)


def test_a_dead_adapter_is_missed_by_its_number() -> None:
    subnet = railed()
    assert ruling("missing-adapters", subnet).findings == ()
    subnet.cut("leaf-03", 5)
    (found,) = ruling("missing-adapters", subnet).findings
    assert found.severity is Severity.BAD
    assert found.sentence == "gpu04 has 3 of 4 adapters in the subnet: 2 not there"


def test_login_nodes_with_fewer_adapters_are_no_fault() -> None:
    subnet = railed()
    for leaf in (2, 3, 4):
        subnet.cut(f"leaf-{leaf:02d}", 8)
    (found,) = ruling("missing-adapters", subnet).findings
    assert found.severity is Severity.WARNING
    assert found.sentence == "gpu07 has 1 of 4 adapters in the subnet: 1, 2, 3 not there"


def test_nodes_of_two_kinds_have_no_number_of_adapters() -> None:
    subnet = railed()
    for node in range(4):
        subnet.cut("leaf-03", node + 1)
    assert ruling("missing-adapters", subnet).judged == ""


def test_a_platform_has_more_adapters_and_faster_cables() -> None:
    from weft.catalog.load import platform

    ndv5 = platform("azure-ndv5")
    subnet = railed(name="h{node:02d} mlx5_ib{rail}")
    (few,) = ruling("missing-adapters", subnet, platform=ndv5).findings
    assert few.severity is Severity.WARNING
    assert few.sentence == "nodes have 4 adapters, azure-ndv5 has 8"
    hosts, switches = ruling("platform-rates", subnet, platform=ndv5).findings
    # NDR on both; the net has 100 and 200 Gb/s.
    assert hosts.sentence == (
        "cables of hosts to switches run 2xHDR (100 Gb/s); azure-ndv5 has 400"
    )
    assert switches.severity is Severity.BAD


def test_without_a_platform_rates_are_those_of_the_siblings() -> None:
    found = ruling("platform-rates", railed())
    assert (found.judged, found.findings) == ("", ())
    from weft.catalog.load import platform

    frontera = platform("frontera")
    assert ruling("platform-rates", FaultySubnet(), platform=frontera).findings == ()
