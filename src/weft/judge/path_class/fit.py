"""Which path classes fit the evidence of a run, each with the share of its rate reached."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from weft.catalog.paths.gpu_product import GpuProduct, product_of
from weft.catalog.paths.path_class import PathClass, PathFamily, Transport, path_classes
from weft.judge.path_class.evidence import PathEvidence
from weft.judge.path_class.proof import FoundProof

ROUNDING = 0.01
"""Printed digits and timers: a share this much above the reachable one is that one."""
ADAPTERS = (2, 4, 8, 16)
"""How many adapters of a node commonly work together."""
TWO_LINKS = (2,)
"""SOURCE: Open MPI FAQ, tuning TCP: messages are striped over all networks between two hosts."""
FILLED = 0.9
"""From this share of its rate on, a link is filled.
SOURCE: packets of 1024 bytes over Ethernet reach 0.926 of the rate (RoCE), of 1500 bytes 0.941
(TCP); a link that lost a lane or half its rate reaches 0.75 or 0.5."""
LEAST_OF_A_NODE = 0.8
"""NCCL uses the adapters of a node together to this share at least."""
SLOW_TRANSPORTS = ("memory", "sockets")
"""Those that a rank drives which waits for a CPU: meant where a latency fits no family."""
ONLY_TRANSPORT = {"verbs": "rdma", "sockets": "sockets"}
"""Library -> the only transport that it measures."""
SLOW_RDMA_US = 5.0
"""Families of RDMA slower than this are meant only where a latency, or a name, speaks for them."""


@dataclass(frozen=True, slots=True)
class ClassFit:
    """A class that fits: `count` links of it, of whose rate `share` was reached."""

    family: PathFamily
    path_class: PathClass
    count: int
    share: float

    @property
    def gb_s(self) -> float:
        """The rate of the links together, one direction, GB/s."""
        return self.count * self.path_class.gb_s


@dataclass(frozen=True, slots=True)
class PathFit:
    """What the evidence leaves. `transports`: those that the latency and the proofs allow.

    `links`: classes whose rate fits. `behind`: buses that an adapter of a faster class may sit
    behind. `halves`: classes of which just one half was reached.
    """

    transports: tuple[Transport, ...]
    families: tuple[PathFamily, ...]
    links: tuple[ClassFit, ...] = ()
    behind: tuple[ClassFit, ...] = ()
    halves: tuple[ClassFit, ...] = ()

    @property
    def best_share(self) -> float:
        """The greatest share of a class that fits; 0 where none does."""
        return max((fit.share for fit in self.links), default=0.0)

    @property
    def is_one_rate(self) -> bool:
        """Whether all classes that fit have one rate."""
        rates = [fit.gb_s for fit in self.links]
        return bool(rates) and max(rates) <= (1 + ROUNDING) * min(rates)


def fit_of(evidence: PathEvidence) -> PathFit:
    """The classes that fit a run: of host memory, of GPUs in a node, or of GPUs between nodes."""
    if evidence.memory == "gpu":
        return _fit_of_gpus(evidence)
    families = _families_left(evidence)
    transports = tuple(dict.fromkeys(family.transport for family in families))
    plateau = evidence.link_shown
    if plateau is None or plateau.rises or is_of_one_host(evidence):
        return PathFit(transports, families)
    counts = (1,) if plateau.n_pairs == 1 else (1, *ADAPTERS)
    links = _fitting(families, plateau.gb_s, counts)
    alone = {1, plateau.n_pairs} if _may_be_apart(evidence, plateau.n_pairs) else {1}
    ones = tuple(fit for fit in links if fit.count in alone)
    links = ones or links or _rare(families, plateau.gb_s, evidence)
    buses = path_classes().of_transport("bus") if "rdma" in transports else ()
    slots = _fitting(buses, plateau.gb_s, (1,))
    behind = tuple(fit for fit in slots if fit.path_class.adapters)
    halves = tuple(
        ClassFit(family, one, 1, plateau.gb_s / one.gb_s)
        for family, one in _all_classes(families)
        if _fits(family, 2 * plateau.gb_s / one.gb_s) and 2 * plateau.gb_s >= FILLED * one.gb_s
    )
    return PathFit(transports, families, links, behind, halves)


def _may_be_apart(evidence: PathEvidence, n_pairs: int) -> bool:
    """Whether each pair may have hosts, and so links, of its own."""
    return evidence.n_nodes is None or evidence.n_nodes >= 2 * n_pairs


def _rare(
    families: Sequence[PathFamily], gb_s: float, evidence: PathEvidence
) -> tuple[ClassFit, ...]:
    """Where no common link fits: an uncommon width; or two links of TCP of just that rate, where
    the latency, or the width, speaks for so slow a path."""
    rare = _fitting(families, gb_s, (1,), uncommon=True)
    sockets = [family for family in families if family.transport == "sockets"]
    two = [fit for fit in _fitting(sockets, gb_s, TWO_LINKS) if fit.share >= FILLED]
    return (*two, *rare) if rare or evidence.latency_us is not None else ()


def _families_left(evidence: PathEvidence) -> tuple[PathFamily, ...]:
    """Families that the latency, the library and the proofs allow."""
    families = path_classes().of_transport("memory", "rdma", "sockets")
    only = ONLY_TRANSPORT.get(evidence.library)
    if only is not None:
        families = tuple(family for family in families if family.transport == only)
    named = _named_families(evidence)
    if is_of_one_host(evidence):
        return _families_of_one_host(evidence, named)
    if named:
        return tuple(family for family in families if family.name in named) or families
    if evidence.n_nodes is not None and (evidence.n_ranks or 2) <= evidence.n_nodes:
        families = tuple(family for family in families if family.transport != "memory")
    left = tuple(
        family for family in families if not family.named_only and _rows_allow(family, evidence)
    )
    return left or tuple(family for family in families if family.transport in SLOW_TRANSPORTS)


def is_of_one_host(evidence: PathEvidence) -> bool:
    """Whether all ranks of MPI ran on one host: no link between hosts was measured."""
    return evidence.n_nodes == 1 and evidence.library != "verbs" and evidence.memory == "host"


def _families_of_one_host(evidence: PathEvidence, named: set[str]) -> tuple[PathFamily, ...]:
    """Shared memory or kernel sockets. A slow message may be either: shared memory of ranks that
    wait for a CPU took 108 us."""
    (memory,) = path_classes().of_transport("memory")
    (sockets,) = path_classes().of_transport("sockets")
    if sockets.name in named or evidence.library == "sockets":
        return (sockets,)
    bounds, latency_us = memory.latency_us, evidence.latency_us
    is_fast = bounds is not None and latency_us is not None and latency_us <= bounds.high
    return (memory,) if is_fast else (memory, sockets)


def proofs_that_hold(evidence: PathEvidence) -> tuple[FoundProof, ...]:
    """All proofs but requests that the rows refute: a library may ignore a setting that is not its
    own, and then messages are faster, or shared memory slower, than what was asked for."""
    return tuple(
        found
        for found in evidence.proofs
        if not (found.proof.asks and _is_refuted(found, evidence))
    )


def _is_refuted(asked: FoundProof, evidence: PathEvidence) -> bool:
    times = [time for time in (evidence.latency_us, evidence.step_us) if time is not None]
    ranges = {family.name: family.latency_us for family in path_classes().families}
    bounds = [one for name in asked.proof.families if (one := ranges[name]) is not None]
    (memory,) = path_classes().of_transport("memory")
    is_slow = (
        memory.name in asked.proof.families
        and memory.latency_us is not None
        and evidence.latency_us is not None
        and evidence.latency_us > memory.latency_us.high
    )
    return is_slow or any(time < min(one.low for one in bounds) for time in times)


def _named_families(evidence: PathEvidence) -> set[str]:
    """Families that every proof leaves; empty where there is no proof, or proofs contradict."""
    named: set[str] | None = None
    for found in proofs_that_hold(evidence):
        of = set(found.proof.families)
        named = of if named is None else named & of
    return named or set()


def adapters_apart(evidence: PathEvidence) -> tuple[FoundProof, FoundProof] | None:
    """Two lines that name adapters of different families: the file is of several machines."""
    named = [found for found in proofs_that_hold(evidence) if not found.proof.asks]
    for at, one in enumerate(named):
        for other in named[at + 1 :]:
            if set(one.proof.families).isdisjoint(other.proof.families):
                return one, other
    return None


def _rows_allow(family: PathFamily, evidence: PathEvidence) -> bool:
    bounds, rate = family.latency_us, family.pair_rate_mps
    if rate is not None and (evidence.pair_rate_mps or 0.0) > rate.high:
        return False
    if bounds is None:
        return True
    if evidence.latency_us is not None:
        return bounds.low <= evidence.latency_us <= bounds.high
    # A collective takes one message at least: a family that cannot be so fast is none.
    if evidence.step_us is not None:
        return bounds.low <= evidence.step_us
    return family.transport != "rdma" or bounds.low < SLOW_RDMA_US


def is_slower_than_all(evidence: PathEvidence) -> bool:
    """Whether a small message takes longer than over any healthy path."""
    families = path_classes().of_transport("memory", "rdma", "sockets")
    slowest = max(family.latency_us.high for family in families if family.latency_us)
    return evidence.latency_us is not None and evidence.latency_us > slowest


def _fit_of_gpus(evidence: PathEvidence) -> PathFit:
    """GPUs: links between them or PCIe inside a node, adapters between nodes."""
    plateau = evidence.plateau
    between = _networks(evidence)
    if is_between_nodes(evidence):
        links = () if plateau is None else _fitting(between, plateau.gb_s, (1, *ADAPTERS))
        used = [fit for fit in links if fit.share >= LEAST_OF_A_NODE]
        return PathFit(("rdma", "sockets"), between, _filled_first(used))
    product = product_of(evidence.devices)
    inside = _inside(product)
    transports: tuple[Transport, ...] = ("gpu-link", "bus")
    if evidence.library != "nccl" or evidence.n_nodes is None:
        transports = ("gpu-link", "bus", "rdma")
    if plateau is None or plateau.rises:
        return PathFit(transports, inside)
    links = _fitting(inside, plateau.gb_s, None)
    if product is not None:
        links = tuple(fit for fit in links if _has(product, fit))
    if evidence.library != "nccl" or (product is None and evidence.n_nodes is None):
        # Buffers in GPU memory may also go through the adapter, inside a node, too.
        one = _fitting(between, plateau.gb_s, (1,))
        links = (*links, *(fit for fit in one if fit.share >= LEAST_OF_A_NODE))
    return PathFit(transports, inside, _filled_first(links))


def _inside(product: GpuProduct | None) -> tuple[PathFamily, ...]:
    """Families inside a node: those of the product, else all that need not be named."""
    families = path_classes().of_transport("gpu-link", "bus")
    if product is None:
        return tuple(family for family in families if not family.named_only)
    own = {path_classes().class_of(name)[0].name for name in (product.link, product.pcie) if name}
    return tuple(family for family in families if family.name in own)


def _has(product: GpuProduct, fit: ClassFit) -> bool:
    """Whether a product has these links, or this slot."""
    name = fit.path_class.name
    return (name == product.link and fit.count <= product.links) or name == product.pcie


def _filled_first(links: Sequence[ClassFit]) -> tuple[ClassFit, ...]:
    """Only links that were filled, where there is one: of the others a faster part was idle."""
    filled = tuple(fit for fit in links if fit.share >= FILLED)
    return filled or tuple(links)


def is_between_nodes(evidence: PathEvidence) -> bool:
    """Whether GPUs of several nodes took part: as the file says, or more than a node has."""
    if evidence.n_nodes is not None:
        return evidence.n_nodes > 1
    return (evidence.n_ranks or 0) > evidence.gpus_of_a_node


def _networks(evidence: PathEvidence) -> tuple[PathFamily, ...]:
    """Networks between GPU nodes: those that the file names, else those of RDMA."""
    named = _named_families(evidence)
    networks = path_classes().of_transport("rdma", "sockets")
    return tuple(family for family in networks if family.name in named) or tuple(
        family for family in networks if family.transport == "rdma" and not family.named_only
    )


def _fitting(
    families: Iterable[PathFamily],
    gb_s: float,
    counts: Sequence[int] | None,
    *,
    uncommon: bool = False,
) -> tuple[ClassFit, ...]:
    """Classes whose reachable share holds the rate, best share first. `counts`: links together;
    None: as many as the class has. `uncommon`: those that are named only where no other fits."""
    found = [
        ClassFit(family, one, count, gb_s / (count * one.gb_s))
        for family, one in _all_classes(families, uncommon=uncommon)
        for count in counts or one.counts
        if _fits(family, gb_s / (count * one.gb_s))
    ]
    return tuple(sorted(found, key=lambda fit: -fit.share))


def _all_classes(
    families: Iterable[PathFamily], *, uncommon: bool = False
) -> list[tuple[PathFamily, PathClass]]:
    return [
        (family, one) for family in families for one in family.classes if one.uncommon == uncommon
    ]


def _fits(family: PathFamily, share: float) -> bool:
    return family.share.low <= share <= family.share.high * (1 + ROUNDING)


def next_faster(families: Iterable[PathFamily], gb_s: float) -> ClassFit | None:
    """The slowest class that is faster than a rate, and its share; None where none is."""
    faster = [
        ClassFit(family, one, 1, gb_s / one.gb_s)
        for family, one in _all_classes(families)
        if one.gb_s >= gb_s
    ]
    return max(faster, key=lambda fit: fit.share, default=None)


def rounded_percent(share: float) -> int:
    """A share in whole per cent, rounded down beyond 99: 100 % is never said of less."""
    return math.floor(100 * share) if share > 0.99 else round(100 * share)
