"""What a library of NCCL would do on equal nodes, as it says itself."""

from collections.abc import Mapping
from dataclasses import dataclass

from weft.catalog.libraries.nccl import Algorithm, Protocol


@dataclass(frozen=True, slots=True)
class SearchGraph:
    """What the search found: channels with GB/s of each inside a node and between nodes, and the
    farthest path of each kind, in NCCL's words. By channel: `gpus` in their order (ranks of a
    node), and `nets` by which it enters and leaves the node, where it does. `cross_nic`: NCCL's
    number for whether a ring may leave by another adapter than it enters."""

    name: str
    n_channels: int
    gb_s_inside: float
    gb_s_between: float
    path_inside: str
    path_between: str
    gpus: tuple[tuple[int, ...], ...]
    nets: tuple[tuple[int, int], ...]
    cross_nic: int


@dataclass(frozen=True, slots=True)
class TunedTime:
    """The tuner's estimate for an algorithm and a protocol, in us."""

    algorithm: Algorithm
    protocol: Protocol
    time_us: float


@dataclass(frozen=True, slots=True)
class NodePlan:
    """On so many nodes: the graphs by name; by collective and size in bytes the estimates, the
    fastest first, none where this version's tuner cannot be asked."""

    n_nodes: int
    graphs: Mapping[str, SearchGraph]
    times: Mapping[tuple[str, int], tuple[TunedTime, ...]]

    def choice(self, collective: str, size_bytes: int) -> TunedTime | None:
        """What the library takes."""
        found = self.times.get((collective, size_bytes), ())
        return found[0] if found else None


@dataclass(frozen=True, slots=True)
class NcclPlan:
    """Of a library of a version, on nodes of `n_gpus` GPUs; `nets` are the adapters' names by
    NCCL's number. `is_model`: by weft's own search, which tells no times."""

    version: str
    n_gpus: int
    nets: tuple[str, ...]
    by_nodes: Mapping[int, NodePlan]
    is_model: bool = False

    @property
    def has_times(self) -> bool:
        """Whether the tuner could be asked."""
        return any(one.times for one in self.by_nodes.values())
