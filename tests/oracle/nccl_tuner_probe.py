"""Asks a real libnccl.so what it would choose on a topology: no GPU is needed for that.

Run as a program: nccl_tuner_probe.py LIBRARY VERSION FILE BYTES NODES...; the last line of standard
output is MARK and a JSON object: {"ring": [channels, GB/s of each], "choices": {nodes: [algorithm,
protocol, us]}, "nvlstree": us on the last number of nodes}. A communicator is only what the tuner
reads of one: the rest is zero.
"""

import ctypes
import json
import os
import sys
from dataclasses import dataclass

from tests.oracle.nccl_topology_probe import HOST_HASH, Library

MARK = "CHOICES "
ALGORITHMS = ("tree", "ring", "collnetdirect", "collnetchain", "nvls", "nvlstree", "pat")
PROTOCOLS = ("ll", "ll128", "simple")
N_GPUS = 8
HOPPER = 90
ALLREDUCE = 4
X86, INTEL = 1, 1
ROOM = 1 << 20
"""A graph takes less, whatever the version; a communicator takes less than four times as much."""
RING, BALANCED_TREE, TREE, NVLS, COLLNET_DIRECT = 4, 1, 3, 5, 6
"""Patterns of the search. SOURCE: NVIDIA/nccl, src/include/graph.h."""


@dataclass(frozen=True)
class CommLayout:
    """Offsets in struct ncclComm, as ncclTopoTuneModel, ncclTopoGetAlgoTime and ncclTopoCheckP2p of
    the version read them; `peer_bytes` is the size of struct ncclPeerInfo."""

    n_ranks: int
    n_nodes: int
    compute_capability: int
    n_channels: int
    cpu_arch: int
    cpu_vendor: int
    peer_bytes: int
    topology: int = 0x66A8
    peers: int = 0x66A0


LAYOUTS = {
    "2.26.5": CommLayout(0x784BC, 0x78570, 0x784CC, 0x785D0, 0x78564, 0x78568, 104),
}
PEER_HOST_HASH = 0x10
GRAPH_CHANNELS, GRAPH_BW_INTER = 0x18, 0x20


class Tuner:
    """A communicator of the right shape, and the graphs that the search finds for it."""

    def __init__(self, path: str, version: str, file: str) -> None:
        self.library, self.layout = Library(path, version), LAYOUTS[version]
        self.comm = ctypes.create_string_buffer(4 * ROOM)
        self.system = self._system(file)
        self.ring = self._graph(0, RING, 1, 32)
        n = self._int(ctypes.addressof(self.ring) + GRAPH_CHANNELS)
        tree = self._graph(1, BALANCED_TREE, n, n)
        nvls = self._graph(3, NVLS, 1, 64)
        chain = self._graph(2, TREE, n, n, collnet=1)
        direct = self._graph(4, COLLNET_DIRECT, 1, N_GPUS, collnet=1)
        self.graphs = (tree, self.ring, direct, chain, nvls, nvls, tree)

    def _system(self, file: str) -> ctypes.c_void_p:
        rc, xml = self.library.read(file)
        system = ctypes.c_void_p()
        build = self.library.function(
            "_Z24ncclTopoGetSystemFromXmlP7ncclXmlPP14ncclTopoSystemm",
            ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64,
        )  # fmt: skip
        rc = rc or build(ctypes.addressof(xml), ctypes.addressof(system), HOST_HASH)
        layout, at = self.layout, ctypes.addressof(self.comm)
        self.peers = ctypes.create_string_buffer(N_GPUS * layout.peer_bytes)
        for rank in range(N_GPUS):
            peer = ctypes.addressof(self.peers) + rank * layout.peer_bytes
            ctypes.c_int.from_address(peer).value = rank
            ctypes.c_uint64.from_address(peer + PEER_HOST_HASH).value = HOST_HASH
        ctypes.c_void_p.from_address(at + layout.peers).value = ctypes.addressof(self.peers)
        ctypes.c_void_p.from_address(at + layout.topology).value = system.value
        paths = "_Z20ncclTopoComputePathsP14ncclTopoSystemP8ncclComm"
        rc = rc or self.library.function(paths, ctypes.c_void_p, ctypes.c_void_p)(system, at)
        begin = "_Z18ncclTopoSearchInitP14ncclTopoSystem"
        rc = rc or self.library.function(begin, ctypes.c_void_p)(system)
        if rc != 0:
            raise SystemExit(f"NCCL gave {rc} for {file}")
        return system

    def _graph(
        self, number: int, pattern: int, least: int, most: int, *, collnet: int = 0
    ) -> ctypes.Array:
        graph = ctypes.create_string_buffer(ROOM)
        at = ctypes.addressof(graph)
        for i, value in enumerate((number, pattern, 0, collnet, least, most)):
            ctypes.c_int.from_address(at + 4 * i).value = value
        search = "_Z15ncclTopoComputeP14ncclTopoSystemP13ncclTopoGraph"
        self.library.function(search, ctypes.c_void_p, ctypes.c_void_p)(self.system, at)
        return graph

    @staticmethod
    def _int(address: int) -> int:
        return ctypes.c_int.from_address(address).value

    def ring_found(self) -> list[float]:
        """[channels, GB/s of each between nodes]."""
        at = ctypes.addressof(self.ring)
        return [
            self._int(at + GRAPH_CHANNELS),
            ctypes.c_float.from_address(at + GRAPH_BW_INTER).value,
        ]

    def choice(self, n_nodes: int, n_bytes: int) -> tuple[str, str, float]:
        """The fastest algorithm and protocol by the library's own estimate, and its us."""
        layout, at = self.layout, ctypes.addressof(self.comm)
        for offset, value in (
            (layout.n_ranks, N_GPUS * n_nodes),
            (layout.n_nodes, n_nodes),
            (layout.compute_capability, HOPPER),
            (layout.n_channels, 2 * N_GPUS),
            (layout.cpu_arch, X86),
            (layout.cpu_vendor, INTEL),
        ):
            ctypes.c_int.from_address(at + offset).value = value
        graphs = (ctypes.c_void_p * len(self.graphs))(*map(ctypes.addressof, self.graphs))
        model = "_Z17ncclTopoTuneModelP8ncclCommiiPP13ncclTopoGraph"
        self.library.function(
            model, ctypes.c_void_p, ctypes.c_int, ctypes.c_int, ctypes.c_void_p
        )(at, HOPPER, HOPPER, ctypes.addressof(graphs))  # fmt: skip
        times = (
            (algorithm, protocol, self.time_us(i, k, n_bytes))
            for i, algorithm in enumerate(ALGORITHMS)
            for k, protocol in enumerate(PROTOCOLS)
        )
        return min((one for one in times if one[2] > 0), key=lambda one: one[2])

    def time_us(self, algorithm: int, protocol: int, n_bytes: int) -> float:
        """The library's estimate in us; not above 0 where it does not take an algorithm."""
        time_us = ctypes.c_float()
        ask = self.library.function(
            "_Z19ncclTopoGetAlgoTimeP8ncclCommiiimiPf", ctypes.c_void_p, *[ctypes.c_int] * 3,
            ctypes.c_uint64, ctypes.c_int, ctypes.c_void_p,
        )  # fmt: skip
        at = ctypes.addressof(self.comm)
        ask(at, ALLREDUCE, algorithm, protocol, n_bytes, 1, ctypes.addressof(time_us))
        return time_us.value


def main() -> None:
    path, version, file, n_bytes, *nodes = sys.argv[1:]
    tuner = Tuner(path, version, file)
    choices = {n: tuner.choice(int(n), int(n_bytes)) for n in nodes}
    at = ALGORITHMS.index("nvlstree"), PROTOCOLS.index("simple")
    found = {"ring": tuner.ring_found(), "choices": choices}
    # After a choice, the communicator has the estimates of the last number of nodes.
    found["nvlstree"] = tuner.time_us(*at, int(n_bytes))
    os.write(1, f"\n{MARK}{json.dumps(found)}\n".encode())


if __name__ == "__main__":
    main()
