"""What a collective of one dimension takes on a platform: the NCCL model, for groups of ranks."""

from dataclasses import dataclass, field

from weft.catalog.machine.platform import Platform
from weft.core.errors import InputError
from weft.expect.model import Conditions, Transport
from weft.expect.nccl.collectives import nccl
from weft.train.network_state import NetworkState


@dataclass(frozen=True, slots=True)
class RankGroup:
    """`n` ranks that exchange, `per_node` of them on each node that has any. `at_once`: groups of
    the same kind that one node has; `distance`: nodes from one member's to the next."""

    n: int
    per_node: int
    at_once: int = 1
    distance: int = 1

    @property
    def n_nodes(self) -> int:
        """Nodes that have members."""
        return -(-self.n // self.per_node)


@dataclass(frozen=True, slots=True)
class ModelPrice:
    """What NCCL's model says of one exchange: its algorithm, latency and transfer in ns."""

    algorithm: str
    latency_ns: float
    transfer_ns: float


@dataclass(frozen=True, slots=True)
class CollectivePrices:
    """Seconds of collectives on a platform, in a state of its network."""

    platform: Platform
    network: NetworkState
    _known: dict[tuple[str, int, RankGroup], float] = field(default_factory=dict)

    @property
    def gpus_per_node(self) -> int:
        """GPUs of a node. Raises InputError where the platform has none."""
        if self.platform.gpus is None:
            raise InputError(f"platform '{self.platform.name}' has no GPUs")
        return self.platform.gpus.per_node.whole

    def link(self, group: RankGroup) -> str:
        """What joins the ranks of a group: links of the GPUs of a node or domain (NVLink, of AMD
        Infinity Fabric, else PCIe), or rails."""
        gpus = self.platform.gpus
        if self._by_rails(group) or gpus is None:
            return "rails"
        if gpus.architecture.startswith("cdna"):
            return "Infinity Fabric"
        return "NVLink" if gpus.nvlink is not None else "PCIe"

    def _by_rails(self, group: RankGroup) -> bool:
        if group.n_nodes == 1:
            return False
        gpus = self.platform.gpus
        domain = gpus.nvlink_domain.whole if gpus is not None and gpus.nvlink_domain else 0
        return group.n_nodes * group.distance * self.gpus_per_node > domain

    def seconds(self, collective: str, size_bytes: float, group: RankGroup) -> float:
        """The time of one, of so many bytes as nccl-tests counts them; 0 of a group of one."""
        if group.n < 2 or size_bytes < 1:
            return 0.0
        key = (collective, round(size_bytes), group)
        if key not in self._known:
            self._known[key] = self._priced(collective, round(size_bytes), group)
        return self._known[key]

    def _priced(self, collective: str, size: int, group: RankGroup) -> float:
        model = self._model(collective, size, group)
        return (model.latency_ns + model.transfer_ns) / 1e9

    def _model(self, collective: str, size: int, group: RankGroup) -> "ModelPrice":
        several = self._by_rails(group)
        # NVLink may join some of the nodes between which rails are taken.
        transport: Transport = (self.network.transport or "rdma") if several else ""
        conditions = Conditions(
            benchmark=collective,
            size_bytes=size,
            n_nodes=group.n_nodes,
            tasks_per_node=group.per_node,
            memory="gpu",
            library="nccl",
            transport=transport,
            gpudirect=self.network.gpudirect or not several,
        )
        expected = nccl(self.platform, conditions)
        latency, transfer = (
            expected.terms[0].time_ns,
            sum(one.time_ns for one in expected.terms[1:]),
        )
        if several:
            transfer *= self._shared(group) * self.network.slowdown(
                self.platform, group.n_nodes, group.distance, to_all=collective == "alltoall"
            )
        return ModelPrice(expected.algorithm, latency, transfer)

    def _shared(self, group: RankGroup) -> float:
        """How many ranks' worth of traffic an adapter carries more than the group alone gives it:
        all groups of a node send at once, over the adapters that are left."""
        n_hcas = max(1, self.platform.hcas_per_node)
        left = max(1, n_hcas - self.network.lost_rails)
        ranks = group.per_node * group.at_once
        alone = max(1, min(n_hcas, -(-n_hcas * group.per_node // self.gpus_per_node)))
        return max(1.0, ranks / group.per_node * alone / left)


def group_of(n: int, stride: int, gpus_per_node: int, n_gpus: int) -> RankGroup:
    """Ranks `stride` apart, as a machine fills nodes one after another. Where a node is no multiple
    of such groups, the group is one of those that cross to the next node: a step waits for it."""
    span = n * stride
    if n > 1 and span < gpus_per_node < n_gpus and gpus_per_node % span:
        return _crossing_group(n, stride, gpus_per_node)
    on_node = max(1, min(n, -(-gpus_per_node // stride)))
    busy = min(gpus_per_node, n_gpus)
    distance = max(1, stride // gpus_per_node)
    return RankGroup(n, on_node, max(1, busy // on_node), distance)


def _crossing_group(n: int, stride: int, gpus_per_node: int) -> RankGroup:
    """Of the groups that lie on two nodes the one that is split most evenly."""
    most = n - 1
    for block in range(1, gpus_per_node):
        before = -(block * n * stride) % gpus_per_node
        on_first = min(n, -(-before // stride))
        if 0 < on_first < n:
            most = min(most, max(on_first, n - on_first))
    # A node has crossing groups at both of its ends.
    return RankGroup(n, most, max(1, min(2 * stride, gpus_per_node // most)))


def stage_pair(n_stages: int, n_gpus: int, gpus_per_node: int) -> RankGroup:
    """Ranks of neighbouring stages, on different nodes where any two are: the slowest pair bounds a
    pipeline."""
    stride = n_gpus // n_stages
    if n_stages < 2 or n_gpus <= gpus_per_node:
        return group_of(min(2, n_stages), stride, gpus_per_node, n_gpus)
    return RankGroup(2, 1, min(stride, gpus_per_node), max(1, stride // gpus_per_node))


def joined_groups(inner: RankGroup, outer: RankGroup, gpus_per_node: int) -> RankGroup:
    """Ranks of two dimensions as one group: gradients of DP x CP."""
    per_node = min(inner.per_node * outer.per_node, gpus_per_node)
    n = inner.n * outer.n
    per_node = min(per_node, n)
    distance = outer.distance if outer.n_nodes > 1 else inner.distance
    return RankGroup(n, per_node, max(1, gpus_per_node // per_node), distance)
