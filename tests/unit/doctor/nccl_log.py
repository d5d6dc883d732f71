"""A job's log, line by line in the words of one version, with what is wrong with it."""

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class LoggedJob:
    """`n_nodes` hosts with `tasks_per_node` GPUs in a ring over `network`; NCCL 2.18.3's lines."""

    n_nodes: int = 2
    tasks_per_node: int = 8
    network: str = "IB"
    direct: bool = True
    before: tuple[str, ...] = ()
    """Messages of every rank before it chooses a network."""
    complete: bool = True
    version: str = "2.18.3+cuda12.2"

    def lines(self) -> list[str]:
        """All of it, rank by rank."""
        return [f"NCCL version {self.version}", *(line for r in self.ranks for line in self.of(r))]

    @property
    def ranks(self) -> range:
        """Their numbers."""
        return range(self.n_nodes * self.tasks_per_node)

    def of(self, rank: int) -> Iterator[str]:
        """What one rank logs."""
        node, device = divmod(rank, self.tasks_per_node)
        n_ranks = len(self.ranks)
        process = f"node{node}:{1000 + device}"
        boot = "Bootstrap : Using eth0:10.0.0.1<0>"
        yield f"{process}:{1000 + device} [{32000 + rank}] NCCL INFO {boot}"
        comm = f"comm 0x7f rank {rank} nranks {n_ranks} cudaDev {device} nvmlDev {device}"
        said = [
            *self.before,
            f"Using network {self.network}",
            f"{comm} busId {device}000 commId 0x9a - Init START",
            *self._channels(rank),
            "Connected all rings",
        ]
        if self.complete:
            said.append(f"{comm} busId {device}000 commId 0x9a - Init COMPLETE")
        for message in said:
            yield f"{process}:{2000 + device} [{device}] NCCL INFO {message}"

    def _channels(self, rank: int) -> Iterator[str]:
        n = len(self.ranks)
        after, before = (rank + 1) % n, (rank - 1) % n
        way = f"via NET/{self.network}/0{'/GDRDMA' if self.direct else ''}"
        if self._is_far(rank, after):
            yield f"Channel 00/0 : {rank}[0] -> {after}[0] [send] {way}"
        else:
            yield f"Channel 00/0 : {rank}[0] -> {after}[0] via P2P/IPC/read"
        if self._is_far(before, rank):
            yield f"Channel 00/0 : {before}[0] -> {rank}[0] [receive] {way}"

    def _is_far(self, one: int, other: int) -> bool:
        return one // self.tasks_per_node != other // self.tasks_per_node
