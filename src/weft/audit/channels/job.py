"""The hops of a job's NCCL channels between hosts, as a log or a plan tells them."""

from collections.abc import Mapping
from dataclasses import dataclass

RING = "ring"
TREE = "tree"


@dataclass(frozen=True, slots=True)
class NcclHop:
    """One channel from a host to another: their places in the job's order, and NCCL's numbers of
    the network devices."""

    channel: int
    src: int
    src_net: int
    dst: int
    dst_net: int


@dataclass(frozen=True, slots=True)
class NcclJob:
    """`hosts` in the order of their ranks; `devices`: by host, NCCL's number -> 'mlx5_0:1', as far
    as the job's files tell. `gaps`: hops that they do not tell, in words."""

    source: str
    pattern: str
    n_ranks: int
    n_channels: int
    hosts: tuple[str, ...]
    devices: tuple[Mapping[int, str], ...]
    hops: tuple[NcclHop, ...]
    gaps: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def busbw_factor(self) -> float:
        """Bus bandwidth of an allreduce over the sum of the channels' rates.

        A ring sends 2(n-1)/n of its part over each hop, which is the factor of busbw; a tree sends
        the whole part up and, at the same time, down. SOURCE: NVIDIA/nccl-tests, PERFORMANCE.md.
        """
        return 1.0 if self.pattern == RING else 2 * (self.n_ranks - 1) / self.n_ranks
