"""From a platform and a number of nodes to the generator's document (docs/reference/scenario.md).

A platform has its fabric in two forms. The twin's leaves out what does not matter to what it is
compared with: adapters of a node share a leaf, a director is one switch. The cabled form is the
machine as far as it is published, with each assumption in words. Of a dragonfly the twin has three
groups where one holds all nodes.
"""

import math
import re
from typing import Any

from weft.catalog.document import Figure, SourceClass
from weft.catalog.machine.cabling import Cabling, Directors, Dragonfly, FatTree, Rails
from weft.catalog.machine.platform import Cable, Links, Platform, PlatformHost, figures
from weft.core.errors import InputError
from weft.topology.dragonfly_document import dragonfly_document

Document = dict[str, Any]

LEAST_GROUPS = 3
"""Groups of a dragonfly that takes detours."""


def fabric_spec(platform: Platform, n_nodes: int, *, cabled: bool = False) -> Document:
    """The generator's document for a fabric of `n_nodes`; the twin's, unless `cabled`. Of a
    dragonfly, the whole document.

    Raises InputError.
    """
    if n_nodes < 1:
        raise InputError(f"{n_nodes} nodes", expected="at least one node")
    fabric, links, host = twin_parts(platform)
    spec = {
        "schema": "weft.fabric/1",
        "name": f"{platform.name}-{n_nodes}",
        "nodes": n_nodes,
        "hcas_per_node": platform.hcas_per_node,
        **_rate_and_delay("host", links.host, host.adapter_latency.value),
    }
    if cabled:
        spec["assumed"] = _assumed(fabric)
    if isinstance(fabric, Dragonfly):
        return _dragonfly(platform, fabric, links, spec, cabled=cabled)
    between = _rate_and_delay("switch", links.switch, 0.0)
    spec = {**spec, "generate": "fat_tree", **between, "routing": {"engine": fabric.routing}}
    return _tree(platform, fabric, spec, cabled=cabled)


def _tree(platform: Platform, tree: FatTree, spec: Document, *, cabled: bool) -> Document:
    n_nodes = spec["nodes"]
    if cabled:
        if tree.directors is not None:
            return {**spec, **_directors(platform, tree, tree.directors, n_nodes)}
        if tree.rails is not None:
            return {**spec, **_rails(platform, tree, tree.rails, n_nodes)}
    if n_nodes > tree.two_level_nodes.whole:
        if tree.shape == "fixed":
            raise _too_many(platform, n_nodes, tree.two_level_nodes.whole)
        return {**spec, "levels": 3, **_three_levels(tree, platform.hcas_per_node)}
    return {**spec, "levels": 2, **_two_levels(tree, n_nodes, platform.hcas_per_node)}


def _dragonfly(
    platform: Platform, fabric: Dragonfly, links: Links, spec: Document, *, cabled: bool
) -> Document:
    if spec["nodes"] > fabric.nodes.whole:
        raise _too_many(platform, spec["nodes"], fabric.nodes.whole)
    ends = (_rate_and_delay(end, links.switch, 0.0) for end in ("local", "global"))
    rates = {key: value for rates in ends for key, value in rates.items()}
    # Detours lead over a third group, so other groups matter only to nodes of several.
    in_one = spec["nodes"] <= fabric.nodes_per_group.whole and not cabled
    n_groups = min(fabric.groups.whole, LEAST_GROUPS) if in_one else fabric.groups.whole
    return dragonfly_document(fabric, n_groups, spec, rates)


def tapered(spec: Document, fabric: Document, ratio: str) -> Document:
    """`fabric` with cables between switches of such a rate that a full leaf of `spec`, its
    generator's document, has nodes to up-links at `ratio` ('2:1', '11:9'). Cables become thinner,
    not fewer: tables and collisions of paths stay.

    Raises InputError for another ratio, and where the fabric is no generated tree of two levels.
    """
    parts = re.fullmatch("([1-9][0-9]{0,2}):([1-9][0-9]{0,2})", ratio)
    if parts is None:
        raise InputError(
            f"option 'oversubscription' is {ratio!r}",
            where=f"fabric '{spec['name']}'",
            expected="two whole numbers of up to three digits, such as 2:1",
        )
    down, up = parts.groups()
    if spec.get("generate") not in ("fat_tree", "rails") or spec.get("levels") != 2:
        raise InputError(
            f"option 'oversubscription' on fabric '{spec['name']}'",
            expected="a generated fat-tree of two levels, of rails or not",
            hint="fewer --nodes, or another platform",
        )
    # A leaf of rails has one adapter of each of its nodes.
    is_rails = spec["generate"] == "rails"
    n_down = spec["nodes_per_unit"] if is_rails else spec["nodes_per_leaf"] * spec["hcas_per_node"]
    inwards = n_down * spec["host_bits_per_s"]
    n_up = spec["spines"] * spec.get("cables_per_spine", 1)
    rate = round(inwards * int(up) / (int(down) * n_up))
    if "links" not in fabric:
        return {**fabric, "switch_bits_per_s": rate}
    links = [
        link if "/" in link["a"] + link["b"] else {**link, "bits_per_s": rate}
        for link in fabric["links"]
    ]
    return {**fabric, "links": links}


def twin_parts(platform: Platform) -> tuple[Cabling, Links, PlatformHost]:
    """The parts of a twin. Raises InputError where the platform has none."""
    if platform.fabric is None or platform.links is None or platform.host is None:
        raise no_twin(platform)
    return platform.fabric, platform.links, platform.host


def no_twin(platform: Platform) -> InputError:
    """The error of a platform without a fabric."""
    return InputError(
        f"platform '{platform.name}' has no fabric to simulate",
        expected="a platform with a fabric, such as fat-tree",
        hint="'weft platform list' says which have a twin",
    )


def picoseconds(nanoseconds: float) -> int:
    """Nanoseconds as whole picoseconds."""
    return round(nanoseconds * 1000)


def _too_many(platform: Platform, n_nodes: int, most: int) -> InputError:
    return InputError(
        f"platform '{platform.name}' has {most} nodes, not {n_nodes}",
        expected=f"up to {most} nodes",
    )


def _assumed(tree: Cabling) -> list[str]:
    """The guesses in the cabling, figure by figure.

    Where adapters go by rails or directors have an inside, their own figures name
    it, not those that stand for it in the twin.
    """
    by_own, texts = {"adaptive": True}, []
    if isinstance(tree, FatTree):
        by_own |= {
            "two_level_nodes": tree.rails is not None,
            "spines": tree.directors is not None,
        }
        texts = [] if tree.rails is None else [tree.rails.basis]
    for path, figure in figures(tree):
        if figure.class_ is SourceClass.ASSUMED and not by_own.get(path.partition(".")[0], False):
            texts.append(_guess(path, figure))
    return texts


def _guess(path: str, figure: Figure) -> str:
    source = figure.source.removeprefix("assumed: ")
    return f"{path} = {figure.value:g} {figure.unit}: {source}"


def _directors(platform: Platform, tree: FatTree, directors: Directors, n_nodes: int) -> Document:
    if n_nodes > tree.two_level_nodes.whole:
        raise _too_many(platform, n_nodes, tree.two_level_nodes.whole)
    shape = _two_levels(tree, n_nodes, platform.hcas_per_node)
    return {
        "generate": "directors",
        "nodes_per_leaf": shape["nodes_per_leaf"],
        "directors": shape["spines"],
        "cables_per_director": shape["cables_per_spine"],
        "inside": "boards",
        "board_ports": directors.board_ports.whole,
        "line_board_down": directors.line_board_down.whole,
        "spine_boards": directors.spine_boards.whole,
        "inside_delay_ps": picoseconds(directors.inside_delay.value),
    }


def _rails(platform: Platform, tree: FatTree, rails: Rails, n_nodes: int) -> Document:
    """Non-blocking: as many cables up as down; a third level where a spine has no port left."""
    n_rails, radix = platform.hcas_per_node, tree.radix.whole
    per_unit = rails.nodes_per_unit.whole
    up = radix - per_unit
    n_units = math.ceil(n_nodes / per_unit)
    shape = {
        "generate": "rails",
        "hca_names": [rails.hca_name.format(rail=rail) for rail in range(n_rails)],
        "nodes_per_unit": per_unit,
    }
    if n_units * n_rails <= radix:
        return {**shape, "levels": 2, "spines": up}
    units_per_pod = radix // 2
    most = radix // n_rails * units_per_pod * per_unit
    if n_nodes > most:
        raise _too_many(platform, n_nodes, most)
    return {
        **shape,
        "levels": 3,
        "units_per_pod": units_per_pod,
        "spines_per_rail": up,
        "cores_per_spine": radix - units_per_pod,
    }


def _two_levels(tree: FatTree, n_nodes: int, hcas_per_node: int) -> Document:
    if tree.nodes_per_leaf is not None and tree.spines is not None:
        cables = tree.cables_per_spine.whole if tree.cables_per_spine is not None else 1
        return {
            "nodes_per_leaf": tree.nodes_per_leaf.whole,
            "spines": tree.spines.whole,
            "cables_per_spine": cables,
        }
    most = _usable_radix(tree, hcas_per_node) // 2 // hcas_per_node
    per_leaf = max(1, min(math.ceil(math.sqrt(n_nodes)), most))
    return {
        "nodes_per_leaf": per_leaf,
        "spines": per_leaf * hcas_per_node,
        "cables_per_spine": 1,
    }


def _three_levels(tree: FatTree, hcas_per_node: int) -> Document:
    """As many whole nodes a leaf as fit half its ports; what they leave free goes up too."""
    per_leaf = max(1, tree.radix.whole // 2 // hcas_per_node)
    radix = max(tree.radix.whole // 2 * 2, 2 * hcas_per_node)
    return {"radix": radix, "nodes_per_leaf": per_leaf}


def _usable_radix(tree: FatTree, hcas_per_node: int) -> int:
    """Ports of a switch, as far as whole nodes fill the lower half of a leaf."""
    half = tree.radix.whole // 2 // hcas_per_node * hcas_per_node
    return 2 * max(half, hcas_per_node)


def _rate_and_delay(end: str, cable: Cable, adapter_ns: float) -> Document:
    return {
        f"{end}_bits_per_s": round(cable.rate.value * 1e9),
        f"{end}_delay_ps": picoseconds(cable.delay.value + adapter_ns),
    }
