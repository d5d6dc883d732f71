"""Chooses a network as a real libnccl.so does for a communicator, which wants no GPU for that.

Run as a program: nccl_plugin_probe.py LIBRARY; NCCL_NET_PLUGIN and NCCL_DEBUG=INFO are set. It
calls the library's own functions with an empty communicator. The last line on standard output is
MARK and the names of networks that the library wrote into it: a network begins with its name.
"""

import ctypes
import os
import sys
from collections.abc import Iterator

from elftools.elf.elffile import ELFFile
from nccl_probe import base_of

MARK = "CHOSEN"
FIRST = "_Z17ncclNetPluginInitv"
"""Where a library has it, as 2.18.3 does, it opens the plug-in once for the process, which asking
for a unique id begins."""
STEPS = (
    "_ZL17envConfigOverrideP8ncclComm",
    "_Z17ncclNetPluginLoadP8ncclComm",
    "_Z11ncclNetInitP8ncclComm",
)
"""The order of init.cc; 2.26.5 has the second one."""
N_BYTES = 16 << 20
"""More than a communicator has."""


def offsets(path: str) -> dict[str, int]:
    with open(path, "rb") as file:
        table = ELFFile(file).get_section_by_name(".symtab")
        names = {FIRST, *STEPS}
        return {one.name: one["st_value"] for one in table.iter_symbols() if one.name in names}


def read(memory: int, address: int, n_bytes: int) -> bytes:
    try:
        return os.pread(memory, n_bytes, address)
    except (OSError, OverflowError):
        return b""


def networks(communicator: ctypes.Array[ctypes.c_char]) -> Iterator[str]:
    memory = os.open("/proc/self/mem", os.O_RDONLY)
    for word in filter(None, memoryview(communicator).cast("B").cast("Q")):
        first = read(memory, word, 8)
        name = read(memory, int.from_bytes(first, sys.byteorder), 64).partition(b"\0")[0]
        if name.isalpha():
            yield name.decode()


def main() -> None:
    path = sys.argv[1]
    library = ctypes.CDLL(path)
    communicator = ctypes.create_string_buffer(N_BYTES)
    found = offsets(path)
    if FIRST in found:
        library.ncclGetUniqueId(ctypes.create_string_buffer(128))
    for name in STEPS:
        if name in found:
            call = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(base_of(path) + found[name])
            call(communicator)
    ctypes.CDLL(None).fflush(None)
    print(MARK, *sorted(set(networks(communicator))), flush=True)


if __name__ == "__main__":
    main()
