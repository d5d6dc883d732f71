"""A machine's dragonfly: the generator's, with adapters spread over a chassis and cables counted.

The generator puts all adapters of a node on one switch, and joins groups by as many cables as
ports allow. A machine spreads adapters over the switches of a chassis, so that two nodes of
different chassis have as many paths as adapters.
"""

import json
import math
from collections import Counter
from typing import Any

from weft.catalog.machine.cabling import Dragonfly
from weft.topology.engine import engine_module, refusals
from weft.topology.fabric import DRAGONFLY

Document = dict[str, Any]


def dragonfly_document(
    fabric: Dragonfly, n_groups: int, common: Document, rates: Document
) -> Document:
    """The whole document of so many groups, its tables left to the engine `dragonfly`.

    `common` has the keys of every generator, nodes included; `rates` those of a dragonfly.
    """
    n_switches, n_hcas = fabric.switches_per_group.whole, common["hcas_per_node"]
    outside = math.ceil(fabric.group_cables.whole * (n_groups - 1) / n_switches)
    spec = {
        **common,
        **rates,
        "generate": "dragonfly",
        "groups": n_groups,
        "routers_per_group": n_switches,
        "nodes_per_router": fabric.nodes_per_switch,
        "global_ports": outside,
    }
    with refusals():
        document: Document = json.loads(engine_module().build_fabric(json.dumps(spec)).document())
    first_port = fabric.nodes_per_switch * n_hcas + n_switches
    document["links"] = _counted(document, fabric, first_port)
    _spread(document, fabric, n_hcas)
    document.pop("lfts", None)
    return {**document, "routing": {"engine": DRAGONFLY}}


def _counted(document: Document, fabric: Dragonfly, first_port: int) -> list[Document]:
    """The links, of those between two groups only the first `group_cables`, which the switches of
    a group take in turn, from `first_port` on. The turn goes round by the golden ratio: switches
    with a cable more than others are spread over the group."""
    switches = document["switches"]
    group = {switch["name"]: switch["group"] for switch in switches}
    kept: list[Document] = []
    joined: Counter[tuple[int, int]] = Counter()
    used: Counter[int] = Counter()
    n_switches = fabric.switches_per_group.whole
    golden = range(round(n_switches * 0.618), 2 * n_switches + 1)
    stride = next(step for step in golden if math.gcd(step, n_switches) == 1)
    for link in document["links"]:
        ends = tuple(group.get(link[end].rpartition("[")[0], -1) for end in ("a", "b"))
        if -1 in ends or ends[0] == ends[1]:
            kept.append(link)
            continue
        joined[ends] += 1
        if joined[ends] > fabric.group_cables.whole:
            continue
        for end, own in zip(("a", "b"), ends, strict=True):
            port, turn = divmod(used[own], n_switches)
            number = turn * stride % n_switches
            used[own] += 1
            link[end] = f"{switches[own * n_switches + number]['name']}[{first_port + port}]"
        kept.append(link)
    return kept


def _spread(document: Document, fabric: Dragonfly, n_hcas: int) -> None:
    """Move the adapters of every node to the switches of its chassis, as many to each."""
    n_chassis = fabric.chassis_switches.whole
    nodes_per_chassis, on_one = fabric.nodes_per_switch * n_chassis, n_hcas // n_chassis
    switches = [switch["name"] for switch in document["switches"]]
    place = {}
    for index, node in enumerate(document["nodes"]):
        chassis, number = divmod(index, nodes_per_chassis)
        for rail, hca in enumerate(node["hcas"]):
            switch = switches[chassis * n_chassis + rail // on_one]
            place[hca] = f"{switch}[{number * on_one + rail % on_one + 1}]"
    for link in document["links"]:
        for end, other in (("a", "b"), ("b", "a")):
            hca = link[end].rpartition("[")[0]
            if hca in place:
                link[other] = place[hca]
