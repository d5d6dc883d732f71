"""Distances between GPUs and adapters as NCCL computes them, and its use of GPUDirect RDMA.

SOURCE: NVIDIA/nccl, src/graph/paths.cc and topo.cc. tests/oracle/test_nccl_topology.py holds it to
the functions of libnccl 2.32.3, from which the order of preference in `_step` was found.
"""

from dataclasses import dataclass, replace

from weft.catalog.libraries.nccl_topology import nccl_topology
from weft.doctor.topo.graph import Graph, Link, PathType, Vertex

GDR_DEFAULT = PathType.P2C
"""PXB, and over C2C where NCCL_NET_GDR_C2C is not 0, which is the default."""
P2P_DEFAULT = PathType.PXB
PXN_MOST = PathType.P2C
_AMPERE = 80
_CHANNELS = 64


@dataclass(frozen=True, slots=True)
class PathRules:
    """What differs between versions of NCCL. The last ones prefer the nearer path; before 2.29 the
    faster one of fewer links counts, the processor of fewest links is the local one, and PXN does
    not ask for GPUDirect. P2C is of 2.27 and later."""

    prefers_near: bool = True
    has_p2c: bool = True

    @staticmethod
    def of_version(version: tuple[int, int, int]) -> "PathRules":
        """The rules of a version."""
        return PathRules(prefers_near=version >= (2, 29, 0), has_p2c=version >= (2, 27, 0))


LAST_RULES = PathRules()


@dataclass(slots=True)
class TopologyPath:
    """From one vertex to another: links in order, GB/s of the slowest, and the type."""

    links: tuple[Link, ...]
    gb_s: float
    type: PathType

    @property
    def n_links(self) -> int:
        """How many links it has."""
        return len(self.links)


_NONE = TopologyPath((), 0.0, PathType.DIS)


class Distances:
    """All pairs of GPUs, and of GPUs with networks and NVSwitches, once NCCL has decided on every
    path. `is_job`: as in a job, where two GPUs use the network if that is faster."""

    def __init__(
        self,
        graph: Graph,
        *,
        gdr_level: PathType = GDR_DEFAULT,
        rules: PathRules = LAST_RULES,
        is_job: bool = False,
    ) -> None:
        self.graph = graph
        self.gdr_level = gdr_level
        self._rules = rules
        self._paths: dict[tuple[Vertex, Vertex], TopologyPath] = {}
        self._near: dict[Vertex, list[Vertex]] = {}
        self._proxy: dict[tuple[Vertex, Vertex], Vertex] = {}
        for base in (*graph.cpus, *graph.gpus, *graph.nets, graph.nvswitch):
            self._search(base)
        self._divert_gpus(is_job)
        if rules.has_p2c:
            self._shorten_c2c()
        self._divert_nets()

    def path(self, start: Vertex, end: Vertex) -> TopologyPath:
        """The path from one to the other."""
        return self._paths.get((start, end), _NONE)

    def nearest(self, start: Vertex, ends: list[Vertex]) -> list[Vertex]:
        """Those of most bandwidth, and of these the nearest. A GPU is only ever asked for networks,
        a network for GPUs."""
        if start not in self._near:
            paths = [(end, self.path(start, end)) for end in ends]
            keys = {end: (-path.gb_s, path.type) for end, path in paths if path.gb_s > 0}
            best = min(keys.values(), default=None)
            self._near[start] = [end for end, key in keys.items() if key == best]
        return self._near[start]

    def uses_gdr(self, gpu: Vertex, net: Vertex, *, sends: bool = False) -> bool:
        """Whether GPUDirect RDMA is on; where an adapter reads the GPU (`sends`), older GPUs need
        NVLink besides."""
        if not (gpu.has_gdr and net.has_gdr):
            return False
        if sends and 0 < gpu.sm < _AMPERE and len(self.graph.gpus) > 1:
            others = (one for one in self.graph.gpus if one is not gpu)
            if not any(self.path(gpu, one).type is PathType.NVL for one in others):
                return False
        near = self._proxy.get((gpu, net), gpu)
        return self.path(near, net).type <= self.gdr_level

    # --- the search

    def _search(self, base: Vertex) -> None:
        """Breadth first from a vertex, and again from each vertex that has a better path now."""
        self._set(base, base, TopologyPath((), nccl_topology().local_gb_s, PathType.LOC))
        layer = [base]
        while layer:
            following: list[Vertex] = []
            for vertex in layer:
                path = self._paths[vertex, base]
                for link in vertex.links:
                    if not self._may_lead(base, vertex, path, link):
                        continue
                    if self._step(base, vertex, path, link) and link.to not in following:
                        following.append(link.to)
            layer = following

    @staticmethod
    def _may_lead(base: Vertex, vertex: Vertex, path: TopologyPath, link: Link) -> bool:
        """A path leads through another GPU over two NVLinks and no further."""
        if vertex is base or vertex.kind != "GPU":
            return True
        return link.type is PathType.NVL and link.to.kind == "GPU" and path.n_links <= 1

    def _step(self, base: Vertex, vertex: Vertex, path: TopologyPath, link: Link) -> bool:
        """Whether a link leads somewhere on a better path than the known one, and notes that."""
        to, path_type = link.to, link.type
        known, gb_s = self.path(to, base), min(path.gb_s, link.gb_s)
        if path_type is PathType.NET:
            path_type = PathType.LOC
        elif vertex.kind == to.kind == "PCI":
            path_type = PathType.PXB
        elif path_type is PathType.PIX and "CPU" in (vertex.kind, to.kind):
            path_type = PathType.PHB
        elif vertex.kind == "GPU" and path.type is PathType.NVL and path_type is PathType.NVL:
            path_type = PathType.NVB
        path_type = max(path.type, path_type)
        is_better = known.gb_s == 0
        if self._rules.prefers_near:
            is_better = is_better or (path_type, -gb_s) < (known.type, -known.gb_s)
        else:
            is_better = (is_better or known.n_links > path.n_links) and known.gb_s < gb_s
        if is_better:
            back = (one for one in to.links if one.to is vertex and one.type is link.type)
            self._set(to, base, TopologyPath((next(back, link), *path.links), gb_s, path_type))
        return is_better

    def _set(self, start: Vertex, end: Vertex, path: TopologyPath) -> None:
        # INVARIANT: the remembered nearest vertices follow from the paths as they are now.
        self._near.pop(start, None)
        self._paths[start, end] = path

    def _local_cpu(self, gpu: Vertex) -> Vertex | None:
        """The processor of most bandwidth, then the nearest, then of fewest links."""
        paths = {cpu: self.path(gpu, cpu) for cpu in self.graph.cpus}
        near = self._rules.prefers_near
        keys = {
            cpu: (-one.gb_s, one.type, one.n_links) if near else (0.0, 0, one.n_links)
            for cpu, one in paths.items()
            if one.n_links
        }
        return min(keys, key=lambda cpu: keys[cpu], default=None)

    def _merged(self, one: PathType, other: PathType) -> PathType:
        """C2C to a processor and PHB from there is P2C; else the farther of both."""
        is_p2c = self._rules.has_p2c and {one, other} == {PathType.PHB, PathType.C2C}
        return PathType.P2C if is_p2c else max(one, other)

    def _via(self, via: Vertex, start: Vertex, end: Vertex) -> None:
        """Send a path through a third vertex."""
        first, second = self.path(start, via), self.path(via, end)
        path_type = self._merged(first.type, second.type) if via.kind != "GPU" else PathType.PXN
        links = (*first.links, *second.links)
        self._set(start, end, TopologyPath(links, min(first.gb_s, second.gb_s), path_type))

    def _divert_gpus(self, is_job: bool) -> None:
        """Two GPUs too far apart for peer-to-peer meet in host memory, or in the network."""
        few_on_amd = self.graph.is_amd and len(self.graph.gpus) <= 2
        level = PathType.SYS if few_on_amd else P2P_DEFAULT
        for gpu in self.graph.gpus:
            cpu = self._local_cpu(gpu)
            for peer in self.graph.gpus:
                if cpu is not None and self.path(peer, gpu).type > level:
                    self._via(cpu, peer, gpu)
            for peer in self.graph.gpus if is_job else ():
                path = self.path(peer, gpu)
                if peer is gpu or (path.n_links == 2 and path.links[0].to.kind == "GPU"):
                    continue
                if path.gb_s < min(map(self._near_net_gb_s, (peer, gpu))):
                    self._set(peer, gpu, replace(path, type=PathType.NET))

    def _near_net_gb_s(self, gpu: Vertex) -> float:
        paths = (self.path(gpu, net) for net in self.graph.nets)
        return max((one.gb_s for one in paths if one.type <= P2P_DEFAULT), default=0.0)

    def _shorten_c2c(self) -> None:
        """A GPU that hangs on its processor by C2C reaches that processor's adapters by P2C."""
        for gpu in self.graph.gpus:
            cpu = self._local_cpu(gpu)
            if cpu is None:
                continue
            nets = self.graph.nets
            for net in self.nearest(gpu, nets) if self._rules.prefers_near else nets:
                if self._merged(self.path(gpu, cpu).type, self.path(net, cpu).type) is PathType.P2C:
                    for ends in ((gpu, net), (net, gpu)):
                        path = self.path(*ends)
                        self._set(*ends, replace(path, type=min(PathType.P2C, path.type)))

    def _divert_nets(self) -> None:
        for net in self.graph.nets:
            for gpu in self.graph.gpus:
                self._by_another_gpu(gpu, net)
                cpu = self._local_cpu(gpu)
                is_near = self.path(gpu, net).type < PathType.PHB
                if cpu is not None and is_near and not self.uses_gdr(gpu, net):
                    self._via(cpu, net, gpu)
                    self._via(cpu, gpu, net)

    def _by_another_gpu(self, gpu: Vertex, net: Vertex) -> None:
        """PXN: over NVLink to the GPU near the adapter, where that is better."""
        peer = self.local_gpu(net)
        if peer is None or peer is gpu:
            return
        its, own = self.path(peer, net), self.path(gpu, net)
        is_near = its.type <= PXN_MOST
        if self._rules.prefers_near:
            is_near = is_near and self.uses_gdr(peer, net, sends=True)
        is_joined = self.path(peer, gpu).type <= PathType.NVL
        if is_near and is_joined and (its.gb_s > own.gb_s or own.type > PathType.PXN):
            self._via(peer, gpu, net)
            self._proxy[gpu, net] = peer

    def local_gpu(self, net: Vertex) -> Vertex | None:
        """The GPU that uses a network before others do: by the channels, each GPU takes its nearest
        networks in turn."""
        turns = [(gpu, *self._turn(gpu)) for gpu in self.nearest(net, self.graph.gpus)]
        n_channels = min(_CHANNELS, max((len(nets) for _, nets, _, _ in turns), default=0))
        for channel in range(n_channels):
            for gpu, nets, first, n_in_turn in turns:
                if nets and nets[(first + channel % n_in_turn) % len(nets)] is net:
                    return gpu
        return None

    def own_nets(self, gpu: Vertex) -> list[Vertex]:
        """The networks that a GPU takes in turn, by channel."""
        nets, first, n_in_turn = self._turn(gpu)
        return [nets[(first + i) % len(nets)] for i in range(n_in_turn)] if nets else []

    def _turn(self, gpu: Vertex) -> tuple[list[Vertex], int, int]:
        """A GPU's nearest networks, the one it begins with, and how many it takes in turn."""
        nets = self.nearest(gpu, self.graph.nets)
        if not nets:
            return [], 0, 1
        n_gpus = max(1, len(self.nearest(nets[0], self.graph.gpus)))
        is_power_of_2 = len(nets) & (len(nets) - 1) == 0
        first = _mirrored(gpu.number, len(nets)) if is_power_of_2 else gpu.number
        return nets, first, -(-len(nets) // n_gpus)


def _mirrored(number: int, power: int) -> int:
    """The bits of a number below a power of two, from behind."""
    width = power.bit_length() - 1
    return int(f"{number % power:0{width}b}"[::-1], 2) if width > 0 else 0
