"""What the rate between GPUs says: links inside a node, or adapters between nodes."""

from weft.catalog.paths.gpu_product import GpuProduct, product_of
from weft.catalog.paths.path_class import path_classes
from weft.core.units import format_significant, format_size
from weft.judge.path_class.evidence import PathEvidence, Plateau
from weft.judge.path_class.fit import (
    PathFit,
    is_between_nodes,
    next_faster,
    proofs_that_hold,
    rounded_percent,
)
from weft.judge.path_class.titles import by_rate, either, gbps, titles

MOST_GROUPS = 3
LARGE_OF_NCCL = 1 << 28
"""From this size on, a rate between nodes that still rises is most of its plateau.
SOURCE: 16 H100 on two nodes (NVIDIA/nccl-tests issue): 213 GB/s at 256 MiB, 339 at 8 GiB."""
REDUCING_LINK = "nvlink4"
"""The first generation of NVLink whose switches reduce."""


def said_of_gpus(evidence: PathEvidence, fit: PathFit) -> tuple[str, tuple[str, ...]]:
    """(sentence, notes) about a run on GPUs."""
    plateau = evidence.plateau
    if plateau is None:
        time = ""
        if evidence.latency_us is not None:
            us = format_significant(evidence.latency_us, 3)
            time = f"{us} us at {format_size(evidence.latency_bytes)}, "
        return f"{time}{_gpus(evidence)} {_place(evidence)}: no row shows a rate", ()
    rate = f"{format_significant(plateau.gb_s, 3)} GB/s ({gbps(plateau.gb_s)} Gb/s)"
    lead = f"{rate}, {_gpus(evidence)} {_place(evidence)}"
    if plateau.rises and (plateau.size_bytes < LARGE_OF_NCCL or not is_between_nodes(evidence)):
        rising = "the rate still rises at the last size, so no class of a link is named"
        return f"{lead}: {rising}", _ask(evidence) if is_between_nodes(evidence) else ()
    if is_between_nodes(evidence):
        so_far = "; the rate still rises at the last size" if plateau.rises else ""
        return f"{lead}: {_adapters(plateau, fit)}{so_far}", (*_sets(fit), *_ask(evidence))
    return f"{lead}: {_inside(evidence, plateau, fit)}", _too_slow(plateau, fit)


def _too_slow(plateau: Plateau, fit: PathFit) -> tuple[str, ...]:
    """The fastest slot that cannot carry the rate, where links do."""
    bus = path_classes().of_transport("bus")[0]
    slow = [one for one in bus.classes if bus.share.high * one.gb_s < plateau.gb_s]
    if not slow or not any(one.family.transport == "gpu-link" for one in fit.links):
        return ()
    most = max(slow, key=lambda one: one.gbps)
    carries = format_significant(bus.share.high * most.gb_s, 3)
    return (f"not PCIe {most.title} or slower: it carries at most {carries} GB/s",)


def _gpus(evidence: PathEvidence) -> str:
    name = evidence.devices[0] if product_of(evidence.devices) else "GPUs"
    return f"{evidence.n_ranks} {name}" if evidence.n_ranks else name


def _place(evidence: PathEvidence) -> str:
    if evidence.n_nodes == 1:
        return "of one node"
    if evidence.n_nodes is not None:
        return f"on {evidence.n_nodes} nodes"
    if is_between_nodes(evidence):
        return f"on two nodes or more, where a node has {evidence.gpus_of_a_node} as is common"
    return "(of one node or more: the file names no host)"


def _adapters(plateau: Plateau, fit: PathFit) -> str:
    if not fit.links:
        above = next_faster(fit.families, plateau.gb_s)
        least = f", {rounded_percent(above.share)} % of {titles([above])}" if above else ""
        return f"no common set of adapters fits{least}"
    rates = [
        f"{gbps(group[0].gb_s)} Gb/s a node at {rounded_percent(group[0].share)} %"
        for group in by_rate(fit.links)[:MOST_GROUPS]
    ]
    return f"fits {either(rates)}"


def _sets(fit: PathFit) -> tuple[str, ...]:
    if not fit.links:
        return ()
    group = by_rate(fit.links)[0]
    sets = dict.fromkeys(f"{one.count} x {gbps(one.path_class.gb_s)} Gb/s" for one in group)
    return (f"adapters of a node that carry this: {either(sets)}",)


def _ask(evidence: PathEvidence) -> tuple[str, ...]:
    if evidence.n_nodes is not None:
        return ()
    return ("--nodes N --tasks-per-node T says how many adapters of each link generation it takes",)


def _inside(evidence: PathEvidence, plateau: Plateau, fit: PathFit) -> str:
    product = product_of(evidence.devices)
    reduced = _reduced(product, plateau)
    if reduced:
        return reduced
    if fit.links:
        groups = [
            f"{titles(group)} at {rounded_percent(group[0].share)} %"
            for group in by_rate(fit.links)[:MOST_GROUPS]
        ]
        named = {one.family.name for one in fit.links}
        without = "no NVLink: " if named.isdisjoint(("nvlink", "xgmi")) else ""
        return f"{without}fits {', or '.join(groups)}"
    if product is not None and product.link:
        _, link = path_classes().class_of(product.link)
        share = plateau.gb_s / (product.links * link.gb_s)
        return f"{rounded_percent(share)} % of its {product.links} links"
    _, link = path_classes().class_of(REDUCING_LINK)
    most = max(link.counts) * link.gb_s
    if product is None and plateau.gb_s > most:
        return (
            f"above one direction of {max(link.counts)} links of NVLink{link.title}"
            f" ({most:.0f} GB/s): the NVSwitches reduce (NVLS), or a newer NVLink"
        )
    asked = [one for one in proofs_that_hold(evidence) if one.proof.families == ("tcp",)]
    if asked:
        return f"through kernel sockets ({asked[0].proof.says}): no link between GPUs is named"
    above = next_faster(fit.families, plateau.gb_s)
    share_text = f"; {rounded_percent(above.share)} % of {titles([above])}" if above else ""
    return f"no common number of links fits{share_text}"


def _reduced(product: GpuProduct | None, plateau: Plateau) -> str:
    """A bus bandwidth above one direction of all links: the switches reduce."""
    if product is None or not product.reduces or not product.link:
        return ""
    _, link = path_classes().class_of(product.link)
    most = product.links * link.gb_s
    if plateau.gb_s <= most:
        return ""
    return (
        f"above one direction of {product.links} NVLink links ({format_significant(most, 3)} GB/s):"
        " the NVSwitches reduce (NVLS)"
    )
