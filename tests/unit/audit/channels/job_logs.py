"""Logs of NCCL jobs that were drawn, in the words of NCCL 2.18: what was drawn is what is true.

SOURCE: NVIDIA/nccl, v2.18.3-1: init.cc, graph/rings.cc, transport/net.cc, transport/net_ib.cc.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

Hop = tuple[int, str, int, str, int]
"""Channel, the sender's host and network device, the receiver's."""


@dataclass
class DrawnJob:
    """Hosts of `n_gpus` ranks each; by channel the adapter by which it enters and leaves a host,
    and the place where it does: GPU c enters, the one before it leaves."""

    hosts: Sequence[str]
    n_gpus: int
    nets: Sequence[tuple[int, int]]
    devices: Sequence[str]
    comm_id: str = "0x5ab1e"
    by_host: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def n_ranks(self) -> int:
        """All of them."""
        return len(self.hosts) * self.n_gpus

    def first(self, place: int, channel: int) -> int:
        """The rank at which a channel enters a host."""
        return place * self.n_gpus + channel % self.n_gpus

    def last(self, place: int, channel: int) -> int:
        """The rank at which it leaves."""
        return place * self.n_gpus + (channel - 1) % self.n_gpus

    def order(self, channel: int) -> list[int]:
        """All ranks as the ring passes them."""
        turn = [(channel + step) % self.n_gpus for step in range(self.n_gpus)]
        return [place * self.n_gpus + gpu for place in range(len(self.hosts)) for gpu in turn]

    @property
    def ring_hops(self) -> list[Hop]:
        """Hops between hosts."""
        n = len(self.hosts)
        return [
            (channel, self.hosts[at], leaves, self.hosts[(at + 1) % n], enters)
            for channel, (enters, leaves) in enumerate(self.nets)
            for at in range(n)
        ]

    @property
    def tree_edges(self) -> list[tuple[int, int, int]]:
        """Channel, child, parent: a chain of hosts, up in one half of channels, down in the other;
        the ranks at which channels enter carry it."""
        edges = []
        for channel in range(len(self.nets)):
            places = list(range(len(self.hosts)))
            if channel >= len(self.nets) // 2:
                places.reverse()
            ranks = [self.first(place, channel) for place in places]
            edges += [(channel, child, parent) for parent, child in pairwise(ranks)]
        return edges

    @property
    def tree_hops(self) -> list[Hop]:
        """Hops of trees between hosts: both directions of each edge."""
        host = [name for name in self.hosts for _ in range(self.n_gpus)]
        return [
            (channel, host[src], out, host[dst], into)
            for channel, src, dst, out, into in self._tree_directed()
        ]

    def text(self, *, orders: bool = True, trees: bool = True, connected: bool = True) -> str:
        """The whole log, rank after rank."""
        lines = []
        for rank in range(self.n_ranks):
            lines += self.lines_of(rank, orders=orders, trees=trees, connected=connected)
        return "\n".join(lines) + "\n"

    def lines_of(
        self, rank: int, *, orders: bool = True, trees: bool = True, connected: bool = True
    ) -> list[str]:
        """The lines of a rank."""
        host, gpu = self.hosts[rank // self.n_gpus], rank % self.n_gpus
        head = f"{host}:{1000 + gpu}:{2000 + gpu} [{gpu}] NCCL INFO "
        devices = self.by_host.get(host, self.devices)
        used = " ".join(f"[{n}]{name}/IB" for n, name in enumerate(devices))
        member = f"comm 0x7f00 rank {rank} nranks {self.n_ranks} cudaDev {gpu} nvmlDev {gpu}"
        init = f"ncclCommInitRank {member} busId {gpu}000 commId {self.comm_id} - Init"
        texts = [f"NET/IB : Using {used} [RO]; OOB eth0:10.0.0.1<0>", f"{init} START"]
        if orders and rank == 0:
            texts += [
                f"Channel {channel:02d}/{len(self.nets):02d} :"
                + "".join(f" {one:3d}" for one in self.order(channel))
                for channel in range(len(self.nets))
            ]
        if trees:
            texts.append("Trees" + "".join(self._tree_words(rank)))
        texts += self._connections(rank, self._ring_edges())
        texts += ["Connected all rings"] if connected else []
        if trees:
            known = {edge[:3] for edge in self._ring_edges()}
            texts += self._connections(
                rank, [edge for edge in self._tree_directed() if edge[:3] not in known]
            )
            texts += ["Connected all trees"] if connected else []
        texts.append(f"{init} COMPLETE")
        return [head + text for text in texts]

    def _ring_edges(self) -> list[tuple[int, int, int, int, int]]:
        n = len(self.hosts)
        return [
            (channel, self.last(at, channel), self.first((at + 1) % n, channel), leaves, enters)
            for channel, (enters, leaves) in enumerate(self.nets)
            for at in range(n)
        ]

    def _tree_directed(self) -> list[tuple[int, int, int, int, int]]:
        edges = []
        for channel, child, parent in self.tree_edges:
            net = self.nets[channel][0]
            edges += [(channel, child, parent, net, net), (channel, parent, child, net, net)]
        return edges

    def _tree_words(self, rank: int) -> list[str]:
        words = []
        for channel in range(len(self.nets)):
            own = [edge[1:] for edge in self.tree_edges if edge[0] == channel]
            children = [child for child, parent in own if parent == rank]
            parents = [parent for child, parent in own if child == rank]
            downs = "/".join(map(str, [*children, -1, -1, -1][:3]))
            words.append(f" [{channel}] {downs}->{rank}->{parents[0] if parents else -1}")
        return words

    def _connections(self, rank: int, edges: Sequence[tuple[int, int, int, int, int]]) -> list[str]:
        texts = []
        for channel, src, dst, leaves, enters in edges:
            ends = f"Channel {channel:02d}/0 : {src}[{src % self.n_gpus}] -> "
            ends += f"{dst}[{dst % self.n_gpus}]"
            if rank == dst:
                texts.append(f"{ends} [receive] via NET/IB/{enters}/GDRDMA")
            if rank == src:
                texts.append(f"{ends} [send] via NET/IB/{leaves}/GDRDMA")
        return texts
