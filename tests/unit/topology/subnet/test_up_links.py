"""Up-links against siblings: who lacks some, and of whom that is unknown."""

from tests.unit.topology.hand_subnet import Ends, described, tree_cables, tree_switches
from tests.unit.topology.subnet.test_siblings import level

from weft.topology.subnet.subnet import Subnet
from weft.topology.subnet.up_links import UpLinks, up_links_of

PLANE_CABLES = [(f"b{a}", n, f"b{b}", m) for a, n, b, m in tree_cables(spines=3)]
PLANE_SWITCHES = {f"b{name}": at for name, at in tree_switches(spines=3).items()}


def judged(switches: dict[str, int | None], cables: list[Ends]) -> tuple[UpLinks, Subnet]:
    subnet = described(switches, cables)
    return up_links_of(subnet, level(subnet)), subnet


def names(subnet: Subnet, switches: object) -> set[str]:
    return {subnet.nodes[switch].description for switch in switches}  # type: ignore[attr-defined]


def test_a_leaf_with_fewer_lacks_them() -> None:
    cables = [cable for cable in tree_cables() if cable[:2] != ("leaf2", 3)]
    links, subnet = judged(tree_switches(), cables)
    assert names(subnet, links.n_lacking) == {"leaf2"}
    assert set(links.n_lacking.values()) == {1}
    assert links.unknown == ()


def test_a_switch_without_hosts_and_with_half_of_the_up_links_is_not_judged() -> None:
    cables = [
        cable
        for cable in tree_cables()
        if cable[0] != "leaf0" or (cable[2].startswith("spine") and cable[1] % 2)
    ]
    links, subnet = judged(tree_switches(), cables)
    assert names(subnet, links.unknown) == {"leaf0"}
    assert "leaf0" not in names(subnet, links.usual)
    assert set(links.usual.values()) == {4}


def test_a_leaf_without_any_up_link_is_of_no_plane_where_planes_differ() -> None:
    cables = [
        cable
        for cable in [*tree_cables(), *PLANE_CABLES]
        if not (cable[0] == "leaf0" and cable[2].startswith("spine"))
    ]
    links, subnet = judged(tree_switches() | PLANE_SWITCHES, cables)
    assert links.n_lacking == {}
    assert names(subnet, links.unknown) == {"leaf0"}
    assert names(subnet, (it for p in links.patterns for it in p.stray)) == {"leaf0"}


def test_where_planes_are_alike_it_lacks_what_they_all_have() -> None:
    alike = [(f"b{a}", n, f"b{b}", m) for a, n, b, m in tree_cables()]
    cables = [
        cable
        for cable in [*tree_cables(), *alike]
        if not (cable[0] == "leaf0" and cable[2].startswith("spine"))
    ]
    switches = tree_switches() | {f"b{name}": at for name, at in tree_switches().items()}
    links, subnet = judged(switches, cables)
    assert names(subnet, links.n_lacking) == {"leaf0"}
    assert set(links.n_lacking.values()) == {4}
