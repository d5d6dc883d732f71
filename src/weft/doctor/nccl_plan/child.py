"""The process in which a libnccl.so is loaded and asked: it may crash there, and weft does not.

The request is JSON on standard input. Each call is announced on standard output before it is made,
as `CALL name`; the last line is `ANSWER ` and JSON. NCCL wants no GPU for these calls.
"""

import ctypes
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

CALL, ANSWER = "CALL ", "ANSWER "
PATTERNS = {"ring": 4, "tree": 1, "collnetchain": 3, "nvls": 5, "collnetdirect": 6}
"""Of the search. SOURCE: NVIDIA/nccl, src/include/graph.h, 2.18 to 2.30."""
IDS = {"ring": 0, "tree": 1, "collnetchain": 2, "nvls": 3, "collnetdirect": 4}
"""Of the graphs. SOURCE: NVIDIA/nccl, src/init.cc."""
TUNED = ("tree", "ring", "collnetdirect", "collnetchain", "nvls", "nvlstree", "pat")
"""Algorithms as the tuner numbers them. SOURCE: NVIDIA/nccl, src/include/nccl_common.h."""
GRAPH_OF = {**{name: name for name in TUNED}, "nvlstree": "nvls", "pat": "tree"}
N_PROTOCOLS = 3
READ, BUILD = "ncclTopoGetXmlFromFile", "ncclTopoGetSystemFromXml"
PATHS, TRIM, SEARCH = "ncclTopoComputePaths", "ncclTopoTrimSystem", "ncclTopoSearchInit"
COMPUTE, TUNE, TIME = "ncclTopoCompute", "ncclTopoTuneModel", "ncclTopoGetAlgoTime"
PROCESSOR, CONSTANTS = "ncclTopoComputeCommCPU", "ncclTopoInitTunerConstants"
SETTINGS = "initEnv"
"""Reads nccl.conf."""
PATH_NAMES = "topoPathTypeStr"
FUNCTIONS = (READ, BUILD, PATHS, TRIM, SEARCH, COMPUTE, TUNE, TIME, PROCESSOR, CONSTANTS, SETTINGS)
X86 = 1
_VALUES = {1: ctypes.c_int8, 4: ctypes.c_int32, 8: ctypes.c_int64}


class Memory:
    """A zeroed structure of the library, its members by name."""

    def __init__(self, structure: Mapping[str, Any], n_bytes: int = 0) -> None:
        self._fields = structure["fields"]
        self._buffer = ctypes.create_string_buffer(max(n_bytes, structure["n_bytes"]))
        self.address = ctypes.addressof(self._buffer)

    def has(self, name: str) -> bool:
        """Whether this version has the member."""
        return name in self._fields

    def put(self, name: str, value: int) -> None:
        """Write a member."""
        offset, n_bytes, _ = self._fields[name]
        _VALUES[n_bytes or 8].from_address(self.address + offset).value = value

    def number(self, name: str) -> int:
        """A member that is one number."""
        return int(self.numbers(name)[0])

    def numbers(self, name: str) -> list[int]:
        """A member's elements."""
        offset, n_bytes, n = self._fields[name]
        return list((_VALUES[n_bytes] * n).from_address(self.address + offset))

    def fractions(self, name: str) -> list[float]:
        """As `numbers`, of a member of floats."""
        offset, _, n = self._fields[name]
        return list((ctypes.c_float * n).from_address(self.address + offset))


class Library:
    """The functions and structures of a loaded library."""

    def __init__(self, request: Mapping[str, Any]) -> None:
        self._functions = request["functions"]
        self.structures = request["structures"]
        announce("dlopen")
        ctypes.CDLL(request["library"])
        self._base = _base_of(request["library"])

    def has(self, name: str) -> bool:
        """Whether this version has the function."""
        return name in self._functions

    def parameters(self, name: str) -> str:
        """The types of a function's parameters, mangled."""
        found: str = self._functions[name][1]
        return found

    def call(self, name: str, *arguments: "ctypes._SimpleCData[Any]") -> int:
        """What a function returns."""
        announce(name)
        function = ctypes.CFUNCTYPE(ctypes.c_int, *map(type, arguments))
        return int(function(self._base + self._functions[name][0])(*arguments))

    def must(self, name: str, *arguments: "ctypes._SimpleCData[Any]") -> None:
        """Call a function that returns 0. Raises SystemExit."""
        code = self.call(name, *arguments)
        if code != 0:
            raise SystemExit(f"{name} returned {code}")

    def path_names(self) -> list[str]:
        """NCCL's words for how far apart two devices are, by number."""
        address, _, n_bytes = self._functions[PATH_NAMES]
        pointers = (ctypes.c_char_p * (n_bytes // 8)).from_address(self._base + address)
        return [(one or b"").decode() for one in pointers]


def announce(name: str) -> None:
    """Say which call comes next, whatever NCCL does to the streams of C."""
    os.write(1, f"{CALL}{name}\n".encode())


def _base_of(path: str) -> int:
    real = str(Path(path).resolve())
    for line in Path("/proc/self/maps").read_text().splitlines():
        if line.endswith(real):
            return int(line.split("-")[0], 16)
    raise SystemExit(f"{path} is not mapped")


class Communicator:
    """A communicator with what the search and the tuner read of one: all ranks of `n_nodes` equal
    nodes, seen from the first."""

    def __init__(self, library: Library, request: Mapping[str, Any], n_nodes: int) -> None:
        self.library, self.n_gpus, self.n_nodes = library, request["n_gpus"], n_nodes
        self.capability = request["compute_capability"]
        self.comm = Memory(library.structures["ncclComm"])
        peers = library.structures["ncclPeerInfo"]
        self._peers = Memory(peers, self.n_gpus * n_nodes * peers["n_bytes"])
        at = {name: offset for name, (offset, *_) in peers["fields"].items()}
        for rank in range(self.n_gpus * n_nodes):
            peer = self._peers.address + rank * peers["n_bytes"]
            node, gpu = divmod(rank, self.n_gpus)
            ctypes.c_int32.from_address(peer + at["rank"]).value = rank
            ctypes.c_int64.from_address(peer + at["hostHash"]).value = request["host_hash"] + node
            ctypes.c_int64.from_address(peer + at["busId"]).value = request["bus_ids"][gpu]
        self.comm.put("peerInfo", self._peers.address)
        self.comm.put("nRanks", self.n_gpus * n_nodes)
        self.comm.put("nNodes", n_nodes)
        for name in ("minCompCap", "maxCompCap"):
            self.comm.put(name, self.capability)
        if self.comm.has("nvlsSupport"):
            self.comm.put("nvlsSupport", int(request["nvls"]))
        self.system = self._system(request)

    def _system(self, request: Mapping[str, Any]) -> ctypes.c_void_p:
        library, comm = self.library, ctypes.c_void_p(self.comm.address)
        xml_of, node = (library.structures[name] for name in ("ncclXml", "ncclXmlNode"))
        most = request["most_nodes"]
        xml = Memory(xml_of, xml_of["fields"]["nodes"][0] + most * node["n_bytes"])
        if xml.has("maxNodes"):
            xml.put("maxNodes", most)
        at = ctypes.c_void_p(xml.address)
        library.must(READ, ctypes.c_char_p(request["topology"].encode()), at, ctypes.c_int(1))
        system = ctypes.c_void_p()
        hosts = (
            (ctypes.c_uint64(request["host_hash"]),) if library.parameters(BUILD)[-1] == "m" else ()
        )
        library.must(BUILD, at, ctypes.c_void_p(ctypes.addressof(system)), *hosts)
        self.comm.put("topo", system.value or 0)
        library.must(PATHS, system, comm)
        library.must(TRIM, system, comm)
        library.must(PATHS, system, comm)
        library.must(SEARCH, system)
        if library.has(PROCESSOR):
            library.must(PROCESSOR, comm)
        return system

    def graphs(self, *, nvls: bool, collnet: bool) -> dict[str, Memory]:
        """The graphs that the search finds, in the order in which NCCL looks for them."""
        most = self.library.structures["ncclTopoGraph"]["fields"]["inter"][2] // 2
        found = {"ring": self._graph("ring", 1, most // 2)}
        n = found["ring"].number("nChannels")
        found["tree"] = self._graph("tree", n, n)
        if collnet:
            found["collnetchain"] = self._graph("collnetchain", n, n)
            found["collnetdirect"] = self._graph("collnetdirect", 1, most)
        if nvls:
            found["nvls"] = self._graph("nvls", 1, most)
        return found

    def _graph(self, name: str, least: int, most: int) -> Memory:
        graph = Memory(self.library.structures["ncclTopoGraph"])
        values = {"id": IDS[name], "pattern": PATTERNS[name], "minChannels": least}
        values |= {"maxChannels": most, "collNet": int(name.startswith("collnet"))}
        for field, value in values.items():
            graph.put(field, value)
        self.library.must(COMPUTE, self.system, ctypes.c_void_p(graph.address))
        return graph

    def told(self, graph: Memory) -> dict[str, Any]:
        """A graph in plain values."""
        n, names = graph.number("nChannels"), self.library.path_names()
        n_gpus = self._n_searched()
        ranks, nets = graph.numbers("intra"), graph.numbers("inter")
        return {
            "n_channels": n,
            "gb_s_inside": graph.fractions("bwIntra")[0],
            "gb_s_between": graph.fractions("bwInter")[0],
            "path_inside": names[graph.number("typeIntra")],
            "path_between": names[graph.number("typeInter")],
            "cross_nic": graph.number("crossNic"),
            "same_channels": graph.number("sameChannels"),
            "gpus": [ranks[i * n_gpus : (i + 1) * n_gpus] for i in range(n)],
            "nets": [nets[2 * i : 2 * i + 2] for i in range(n)],
        }

    def _n_searched(self) -> int:
        """GPUs in the search: not those that NCCL reaches by the network, where that is faster."""
        at, *_ = self.library.structures["ncclTopoSystem"]["fields"]["nodes"]
        # GPUs are the first kind of node, and a set of nodes begins with its count.
        return ctypes.c_int32.from_address((self.system.value or 0) + at).value

    def tune(self, graphs: Mapping[str, Memory]) -> None:
        """Let the tuner reckon rates and latencies of each algorithm."""
        # Each channel of the search becomes two.
        n = min(2 * graphs["ring"].number("nChannels"), 64)
        self.comm.put("nChannels", n)
        if self.library.has(CONSTANTS):
            self.library.must(CONSTANTS, ctypes.c_void_p(self.comm.address))
        of_algorithm = [graphs.get(GRAPH_OF[name], graphs["ring"]) for name in TUNED]
        self._empty = Memory(self.library.structures["ncclTopoGraph"])
        addresses = [
            (graph if GRAPH_OF[name] in graphs else self._empty).address
            for name, graph in zip(TUNED, of_algorithm, strict=True)
        ]
        pointers = (ctypes.c_void_p * len(addresses))(*addresses)
        capability = ctypes.c_int(self.capability)
        self.library.must(
            TUNE,
            ctypes.c_void_p(self.comm.address),
            capability,
            capability,
            ctypes.c_void_p(ctypes.addressof(pointers)),
        )

    def times(self, collective: int, n_bytes: int) -> Iterator[tuple[str, int, float]]:
        """Algorithm, number of the protocol and us of each that the tuner may take."""
        n_algorithms = len(self.comm.fractions("latencies")) // (5 * N_PROTOCOLS)
        for i, algorithm in enumerate(TUNED[:n_algorithms]):
            for protocol in range(N_PROTOCOLS):
                time_us = self._time_us(collective, i, protocol, n_bytes)
                if time_us > 0:
                    yield algorithm, protocol, time_us

    def _time_us(self, collective: int, algorithm: int, protocol: int, n_bytes: int) -> float:
        found = ctypes.c_float()
        out = ctypes.c_void_p(ctypes.addressof(found))
        which = ctypes.c_int(algorithm), ctypes.c_int(protocol)
        comm = ctypes.c_void_p(self.comm.address)
        parameters = self.library.parameters(TIME)
        if parameters == "P8ncclCommiiimiPf":
            given = (comm, ctypes.c_int(collective), *which, ctypes.c_size_t(n_bytes))
            self.library.must(TIME, *given, ctypes.c_int(1), out)
        elif parameters == "P8ncclInfoiiiPf":
            info = Memory(self.library.structures["ncclInfo"])
            for name, value in (("coll", collective), ("nBytes", n_bytes)):
                info.put(name, value)
            info.put("comm", self.comm.address)
            at = ctypes.c_void_p(info.address)
            self.library.must(TIME, at, *which, ctypes.c_int(1), out)
        return found.value


def answer(request: Mapping[str, Any]) -> dict[str, Any]:
    """What the library finds for each number of nodes."""
    library = Library(request)
    if library.has(SETTINGS):
        library.call(SETTINGS)
    return {str(n): _of_job(library, request, n) for n in request["n_nodes"]}


def _of_job(library: Library, request: Mapping[str, Any], n_nodes: int) -> dict[str, Any]:
    job = Communicator(library, request, n_nodes)
    graphs = job.graphs(nvls=request["nvls"], collnet=request["collnet"])
    times: dict[str, Sequence[Any]] = {}
    if library.has(TUNE) and library.has(TIME):
        job.tune(graphs)
        times = {
            f"{name} {n_bytes}": list(job.times(number, n_bytes))
            for name, number in request["collectives"].items()
            for n_bytes in request["sizes"]
        }
    return {"graphs": {name: job.told(graph) for name, graph in graphs.items()}, "times": times}


if __name__ == "__main__":
    found = answer(json.load(sys.stdin))
    os.write(1, f"\n{ANSWER}{json.dumps(found)}\n".encode())
