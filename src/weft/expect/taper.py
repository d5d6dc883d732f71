"""How much narrower a fabric's up-links are than what its nodes can send."""

from weft.catalog.machine.cabling import FatTree
from weft.catalog.machine.platform import Platform


def taper(platform: Platform, n_nodes: int) -> float:
    """Nodes' rate over up-links' rate of a leaf, for traffic of all to all; 1 where it suffices.

    Only the part of the traffic that leaves the leaf counts. SOURCE: arithmetic on `fabric`.
    """
    tree, links = platform.fabric, platform.links
    if not isinstance(tree, FatTree) or links is None or tree.shape != "fixed":
        return 1.0
    if tree.nodes_per_leaf is None or tree.spines is None or tree.cables_per_spine is None:
        return 1.0
    nodes = min(tree.nodes_per_leaf.value, n_nodes)
    if n_nodes <= nodes:
        return 1.0
    down = nodes * platform.hcas_per_node * links.host.rate.value
    up = tree.spines.value * tree.cables_per_spine.value * links.switch.rate.value
    leaving = (n_nodes - nodes) / (n_nodes - 1)
    return max(1.0, down * leaving / up)
