"""The command that tells more of a path than its rows do."""

from pathlib import Path

from weft.catalog.paths.gpu_product import product_of
from weft.core.shell_line import quoted
from weft.judge.path_class.evidence import PathEvidence
from weft.judge.path_class.fit import ClassFit, PathFit, is_of_one_host, next_faster

WIRES = ("rdma", "sockets")


def next_step(path: str, evidence: PathEvidence, fit: PathFit) -> str:
    """`weft judge` again with the GPU, the hosts or the link that the rows leave open."""
    judge = f"weft judge {quoted(Path(path))}"
    if evidence.memory == "gpu":
        product = product_of(evidence.devices)
        return f"{judge} --gpu {product.name if product else 'a100-sxm4'}"
    if is_of_one_host(evidence):
        return f"{judge} --all-rows"
    if fit.transports == ("memory",):
        return f"{judge} --nodes 1"
    link = _link(evidence, fit)
    if link is None:
        return f"{judge} --nodes 2"
    rails = f" --rails {link.count}" if link.count > 1 else ""
    return f"{judge} --link {link.path_class.name}{rails}"


def _link(evidence: PathEvidence, fit: PathFit) -> ClassFit | None:
    """The most common link that fits, else the slowest that is faster; None without a rate."""
    named = [one for one in fit.links if one.family.transport in WIRES]
    if named:
        return min(named, key=lambda one: (one.path_class.uncommon, one.count))
    shown = evidence.link_shown
    wires = [family for family in fit.families if family.transport in WIRES]
    return None if shown is None else next_faster(wires, shown.gb_s)
