"""Opens a net plug-in as a real libnccl.so does, which wants no GPU for that.

Run as a program: nccl_plugin_probe.py LIBRARY; NCCL_NET_PLUGIN and NCCL_DEBUG=INFO are set.
Libraries up to 2.18 open it for a unique id; of newer ones their own function is called.
"""

import ctypes
import os
import sys

from elftools.elf.elffile import ELFFile
from nccl_probe import base_of

OPEN = "ncclOpenNetPluginLib"


def offset_of(path: str, part: str) -> int | None:
    with open(path, "rb") as file:
        table = ELFFile(file).get_section_by_name(".symtab")
        found = (one for one in table.iter_symbols() if part in one.name)
        return next((one["st_value"] for one in found), None)


def main() -> None:
    path = sys.argv[1]
    library = ctypes.CDLL(path)
    offset = offset_of(path, OPEN)
    if offset is None:
        library.ncclGetUniqueId(ctypes.create_string_buffer(128))
        return
    function = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_char_p)(base_of(path) + offset)
    name = os.environ.get("NCCL_NET_PLUGIN", "")
    function(name.encode() or None)


if __name__ == "__main__":
    main()
