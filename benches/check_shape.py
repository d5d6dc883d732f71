"""The fabrics of the scoreboard as documents: generated ones, tori, irregular ones, planes."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from random import Random
from typing import Any

from weft.catalog.machine.platform import Platform
from weft.core.errors import InputError
from weft.topology.fabric import Fabric
from weft.topology.fabric_spec import fabric_spec
from weft.topology.subnet.subnet import Subnet
from weft.topology.subnet_document import own_fabric

Document = Mapping[str, Any]

HOST_DELAY_PS, SWITCH_DELAY_PS = 415_000, 50_000
"""As the platform `fat-tree` has them: the cable with the adapter; a cable between switches."""

RATE = 200_000_000_000


def shape_spec(twin: Mapping[str, Any], platform: Platform) -> dict[str, Any]:
    """The generator's document of a twin of check.toml: of its `shape`, or the platform's."""
    return fabric_spec(platform, twin["nodes"]) if "nodes" in twin else _spec(twin["shape"])


def with_tables(
    spec: Document, engine: str | None, platform: Platform, dead: Sequence[str] = ()
) -> dict[str, Any]:
    """The whole document with the tables of its own engine, or those that OpenSM's fills; without
    the cables at the ports `dead`: minhop goes on as they die, ftree starts then, since entries
    that it keeps may make a credit loop, which the engine refuses."""
    if engine is None:
        return dict(Fabric.from_document(spec).document)
    bare = {key: value for key, value in spec.items() if key not in ("lfts", "routing")}
    if engine == "minhop":
        routed = _filled(bare, engine)
        if dead:
            routed, _ = routed.rerouted(dead, engine)
    else:
        routed = _filled(_without(bare, set(dead)) if dead else bare, engine)
    document, _ = own_fabric(routed, str(spec.get("name", "fabric")), platform)
    return dict(Fabric.from_document(document).document)


def _without(document: Document, dead: set[str]) -> Document:
    links = [link for link in document["links"] if not dead & {link["a"], link["b"]}]
    return {**document, "links": links}


def _filled(bare: Document, engine: str) -> Subnet:
    """The subnet with OpenSM's tables, of minhop where an engine refuses the fabric, as ftree does
    without a cable."""
    subnet = Subnet.of_fabric(Fabric.from_document(bare).document)
    try:
        return subnet.route(engine)
    except InputError:
        return subnet.route("minhop")


def _spec(shape: Document) -> dict[str, Any]:
    if "torus" in shape:
        return _torus(shape["torus"], shape["nodes_per_switch"])
    if "irregular" in shape:
        return _irregular(**shape["irregular"])
    if "planes" in shape:
        return _planes(**shape["planes"])
    rates = {f"{part}_bits_per_s": RATE for part in _PARTS[shape["generate"]]}
    delays = {f"{part}_delay_ps": SWITCH_DELAY_PS for part in _PARTS[shape["generate"]]}
    delays["host_delay_ps"] = HOST_DELAY_PS
    return {"schema": "weft.fabric/1", "hcas_per_node": 1, **rates, **delays, **shape}


_PARTS = {
    "fat_tree": ("host", "switch"),
    "directors": ("host", "switch", "inside"),
    "dragonfly": ("host", "local", "global"),
}


def _torus(sizes: Sequence[int], nodes_per_switch: int) -> dict[str, Any]:
    """Each switch joined to the next in every dimension, the last to the first."""
    places = list(product(*map(range, sizes)))
    number = {place: i for i, place in enumerate(places)}
    cables = set()
    for place in places:
        for axis, size in enumerate(sizes):
            beside = (*place[:axis], (place[axis] + 1) % size, *place[axis + 1 :])
            cables.add((number[place], number[beside]))
    return _joined([[nodes_per_switch]] * len(places), sorted(cables))


def _irregular(switches: int, nodes: int, cables: int, seed: int) -> dict[str, Any]:
    """Switches joined at random, all of them reachable; nodes on switches drawn at random."""
    draws = Random(seed)  # noqa: S311
    tree = [(draws.randrange(i), i) for i in range(1, switches)]
    more = [tuple(draws.sample(range(switches), 2)) for _ in range(cables - len(tree))]
    on = Counter(draws.choices(range(switches), k=nodes))
    return _joined([[on[i]] for i in range(switches)], [*tree, *more])


def _planes(planes: int, leaves: int, nodes_per_leaf: int, spines: int) -> dict[str, Any]:
    """Trees that never meet; a node has an adapter in each."""
    each = leaves + spines
    hosts = [[0] * planes for _ in range(planes * each)]
    cables = []
    for plane in range(planes):
        for leaf in range(leaves):
            hosts[plane * each + leaf][plane] = nodes_per_leaf
            above = range(plane * each + leaves, (plane + 1) * each)
            cables += [(plane * each + leaf, spine) for spine in above]
    document = _joined(hosts, cables)
    # An engine refuses paths that do not exist.
    del document["routing"]
    return document


def _joined(hosts: Sequence[Sequence[int]], cables: Iterable[Sequence[int]]) -> dict[str, Any]:
    """Switches with so many hosts' adapters of each rail, and cables between switches."""
    used = Counter[int]()
    links: list[dict[str, Any]] = []
    adapters: dict[str, list[str]] = {}

    def port(switch: int) -> str:
        used[switch] += 1
        return f"sw-{switch:02d}[{used[switch]}]"

    counts = Counter[int]()
    for switch, by_rail in enumerate(hosts):
        for rail, n in enumerate(by_rail):
            for _ in range(n):
                name = f"n{counts[rail]:03d}"
                counts[rail] += 1
                adapters.setdefault(name, []).append(f"{name}/hca{rail}")
                links.append(_link(f"{name}/hca{rail}[1]", port(switch), HOST_DELAY_PS))
    links += [_link(port(a), port(b), SWITCH_DELAY_PS) for a, b in cables]
    return {
        "schema": "weft.fabric/1",
        "name": "fabric",
        "nodes": [{"name": name, "hcas": hcas} for name, hcas in adapters.items()],
        "switches": [{"name": f"sw-{i:02d}", "ports": max(used[i], 1)} for i in range(len(hosts))],
        "links": links,
        "routing": {"engine": "updn"},
    }


def _link(a: str, b: str, delay_ps: int) -> dict[str, Any]:
    return {"a": a, "b": b, "bits_per_s": RATE, "delay_ps": delay_ps}
