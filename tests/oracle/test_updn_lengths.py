"""Lengths of the paths of a fabric document's engine `updn`, held to OpenSM's on ibsim."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.oracle.ibsim import Ibsim, Net, irregular, require_tools, torus
from tests.seeds import drawn

from weft.core.errors import InputError
from weft.topology.fabric import Fabric
from weft.topology.subnet.subnet import Subnet

Pair = tuple[str, str]

TORI = [[3, 3], [4, 3], [4, 4], [5, 3], [5, 4], [5, 5], [6, 5], [7, 3], [3, 3, 3]]


@pytest.fixture(autouse=True)
def _tools() -> None:
    require_tools()


def ring(n_switches: int) -> Net:
    """A ring with one host a switch."""
    return torus([n_switches])


def roots_of(document: dict[str, Any]) -> list[str]:
    """The switches of the highest level; the first alone where a cable joins two of them."""
    highest = max(switch["level"] for switch in document["switches"])
    tops = [switch["name"] for switch in document["switches"] if switch["level"] == highest]
    ends = [{link[end].rpartition("[")[0] for end in ("a", "b")} for link in document["links"]]
    joined = any(len(pair & set(tops)) == 2 for pair in ends)
    return tops[:1] if joined else tops


def dumped(dumps: Path) -> Subnet:
    """The subnet of OpenSM's dumps."""
    return Subnet.read([str(dumps / name) for name in ("opensm-subnet.lst", "opensm-lfts.dump")])


def paths_of(fabric: Fabric) -> dict[Pair, list[str]]:
    """The switches on the path between every two HCAs."""
    hcas = [hca for node in fabric.document["nodes"] for hca in node["hcas"]]
    pairs = [(a, b) for a in hcas for b in hcas if a != b]
    paths = fabric.paths(pairs)
    return {
        pair: [port.rpartition("[")[0] for port in path[1:]]
        for pair, path in zip(pairs, paths, strict=True)
    }


def order_of(document: dict[str, Any], roots: list[str]) -> dict[str, tuple[int, int]]:
    """By switch the distance from the nearest root and its number: the least is the highest."""
    ends = [[link[end].rpartition("[")[0] for end in ("a", "b")] for link in document["links"]]
    names = [switch["name"] for switch in document["switches"]]
    ranks = dict.fromkeys(roots, 0)
    for at in (queue := list(roots)):
        for a, b in [*ends, *(pair[::-1] for pair in ends)]:
            if a == at and b in names and b not in ranks:
                ranks[b] = ranks[at] + 1
                queue.append(b)
    return {name: (ranks.get(name, len(names)), number) for number, name in enumerate(names)}


def goes_up_again(path: list[str], order: dict[str, tuple[int, int]]) -> bool:
    """Whether a path goes up after it went down."""
    ups = [order[b] < order[a] for a, b in pairwise(path)]
    return any(not here and there for here, there in pairwise(ups))


def by_opensm(sim: Ibsim, subnet: Subnet, roots: list[str]) -> dict[str, Any]:
    """The fabric document with the tables that OpenSM's updn fills from these roots."""
    guids = [node.guid for node in subnet.nodes if subnet.name(node.index) in roots]
    named = sim.folder / "roots"
    named.write_text("".join(f"0x{guid:016x}\n" for guid in guids))
    routed = dumped(sim.opensm("updn", "-a", str(named)))
    log = (sim.folder / "osm-updn.log").read_text()
    assert "updn tables configured on all switches" in log
    return routed.fabric_document("net", 1, 0)[0]


def compared(net: Net) -> tuple[dict[Pair, int], dict[Pair, int], set[Pair]]:
    """Lengths of our paths, of OpenSM's, and the pairs whose path in OpenSM's tables goes up
    again. Ours never do."""
    with Ibsim(net.text()) as sim:
        subnet = dumped(sim.opensm("minhop"))
        document, _ = subnet.fabric_document("net", 1, 0)
        roots = roots_of(document)
        try:
            theirs = by_opensm(sim, subnet, roots)
            real = paths_of(Fabric.from_document(theirs))
        except InputError:
            # No legal path leads from one root to another: one root always has one.
            roots = roots[:1]
            theirs = by_opensm(sim, subnet, roots)
            real = paths_of(Fabric.from_document(theirs))
    order = order_of(theirs, roots)
    untabled = {key: value for key, value in theirs.items() if key != "lfts"}
    ours = paths_of(Fabric.from_document(untabled, engine="updn"))
    assert not any(goes_up_again(path, order) for path in ours.values())
    valleys = {pair for pair, path in real.items() if goes_up_again(path, order)}
    own, their = ({pair: len(path) for pair, path in of.items()} for of in (ours, real))
    return own, their, valleys


@pytest.mark.parametrize("n_switches", range(4, 15))
def test_paths_of_a_ring_are_as_long_as_opensms(n_switches: int) -> None:
    ours, theirs, valleys = compared(ring(n_switches))
    assert (ours, valleys) == (theirs, set())


@pytest.mark.parametrize("dimensions", TORI, ids=str)
def test_paths_of_a_torus_are_as_long_as_opensms(dimensions: list[int]) -> None:
    ours, theirs, valleys = compared(torus(dimensions))
    assert (ours, valleys) == (theirs, set())


@pytest.mark.parametrize("seed", drawn(range(30), 8))
def test_paths_of_an_irregular_net_are_as_long_as_opensms(seed: int) -> None:
    ours, theirs, valleys = compared(irregular(2000 + seed))
    assert (ours, valleys) == (theirs, set())
