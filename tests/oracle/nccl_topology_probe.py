"""Reads topology files with the functions of a real libnccl.so, which wants no GPU for that.

Run as a program: nccl_topology_probe.py LIBRARY VERSION FILE...; the last lines of standard output
are MARK and a JSON object each: {"rc", "nodes": [[name, [[key, value]...], parent]...], "paths"}.
`paths` are NCCL's own words for them, where the file is one of a whole job.
"""

import ctypes
import json
import os
import sys
from dataclasses import dataclass

from elftools.elf.elffile import ELFFile
from tests.oracle.nccl_probe import base_of

MARK = "TOPOLOGY "
HOST_HASH = 0x1
"""Of the host that a file of a whole job names."""
_STRING = 256
_SLOTS = 17


@dataclass(frozen=True)
class Layout:
    """Of struct ncclXml. SOURCE: NVIDIA/nccl, src/graph/xml.h of the version."""

    n_subs: int
    n_nodes: int

    @property
    def node_bytes(self) -> int:
        """name, attributes, nAttrs and type, parent, subs, nSubs; aligned to 8."""
        return _STRING + _SLOTS * 2 * _STRING + 8 + 8 + 8 * self.n_subs + 8


NODES_AT = 8
"""maxIndex and maxNodes stand before the nodes."""
LAYOUTS = {"2.26.5": Layout(128, 256), "2.32.3": Layout(640, 256)}


class Library:
    """The functions, by where the table of symbols says that they are."""

    def __init__(self, path: str, version: str) -> None:
        self.layout = LAYOUTS[version]
        ctypes.CDLL(path)
        self.base = base_of(path)
        with open(path, "rb") as file:
            table = ELFFile(file).get_section_by_name(".symtab")
            self.offsets = {one.name: one["st_value"] for one in table.iter_symbols()}

    def function(self, name: str, *arguments: type) -> ctypes.CFUNCTYPE:
        return ctypes.CFUNCTYPE(ctypes.c_int, *arguments)(self.base + self.offsets[name])

    def read(self, path: str) -> tuple[int, ctypes.Array]:
        xml = ctypes.create_string_buffer(NODES_AT + self.layout.node_bytes * self.layout.n_nodes)
        ctypes.c_int.from_buffer(xml, 4).value = self.layout.n_nodes
        function = self.function(
            "_Z22ncclTopoGetXmlFromFilePKcP7ncclXmli",
            ctypes.c_char_p, ctypes.c_void_p, ctypes.c_int,
        )  # fmt: skip
        return function(path.encode(), ctypes.addressof(xml), 1), xml

    def nodes(self, xml: ctypes.Array) -> list[list[object]]:
        layout = self.layout
        n_nodes = ctypes.c_int.from_buffer(xml, 0).value
        first = ctypes.addressof(xml) + NODES_AT
        return [self._node(first, first + i * layout.node_bytes) for i in range(n_nodes)]

    def _node(self, first: int, at: int) -> list[object]:
        n_attributes = ctypes.c_int.from_address(at + _STRING * (1 + 2 * _SLOTS)).value
        parent = ctypes.c_uint64.from_address(at + _STRING * (1 + 2 * _SLOTS) + 8).value
        pairs = []
        for i in range(n_attributes):
            key = at + _STRING * (1 + 2 * i)
            pairs.append([_text(key), _text(key + _STRING)])
        index = (parent - first) // self.layout.node_bytes if parent else None
        return [_text(at), pairs, index]

    def print_paths(self, xml: ctypes.Array) -> int:
        """NCCL logs the paths; the code of the first function that fails."""
        system = ctypes.c_void_p()
        build = self.function(
            "_Z24ncclTopoGetSystemFromXmlP7ncclXmlPP14ncclTopoSystemm",
            ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64,
        )  # fmt: skip
        rc = build(ctypes.addressof(xml), ctypes.addressof(system), HOST_HASH)
        if rc == 0:
            compute = "_Z20ncclTopoComputePathsP14ncclTopoSystemP8ncclComm"
            rc = self.function(compute, ctypes.c_void_p, ctypes.c_void_p)(system, None)
        if rc == 0:
            name = "_Z18ncclTopoPrintPathsP14ncclTopoSystem"
            rc = self.function(name, ctypes.c_void_p)(system)
        return rc


def _text(address: int) -> str:
    return ctypes.string_at(address).decode("utf-8", "replace")


def main() -> None:
    path, version, mode, *files = sys.argv[1:]
    library = Library(path, version)
    for file in files:
        rc, xml = library.read(file)
        nodes = library.nodes(xml)
        if mode == "paths" and rc == 0:
            rc = library.print_paths(xml)
        os.write(1, (f"\n{MARK}{json.dumps({'file': file, 'rc': rc, 'nodes': nodes})}\n").encode())


if __name__ == "__main__":
    main()
