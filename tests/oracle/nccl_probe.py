"""Calls every integer parameter of a real libnccl.so, which wants no GPU for that.

Run as a program: nccl_probe.py LIBRARY; the environment is what it reads. On standard error
the last line is MARK and one JSON object {"symbol": value}; what NCCL logs goes to either stream.
"""

import ctypes
import json
import os
import re
import sys

from elftools.elf.elffile import ELFFile

MARK = "VALUES "
PARAMETER = re.compile(r"_ZL?\d+ncclParam(\w+)v")


def symbols(path: str) -> dict[str, int]:
    """Offsets of the functions that read a parameter, by their names without ncclParam."""
    with open(path, "rb") as file:
        table = ELFFile(file).get_section_by_name(".symtab")
        found = {}
        for symbol in table.iter_symbols():
            name = PARAMETER.fullmatch(symbol.name)
            if name is not None and symbol["st_info"]["type"] == "STT_FUNC":
                found[name[1]] = symbol["st_value"]
        return found


def base_of(path: str) -> int:
    """Where the library lies in this process."""
    with open("/proc/self/maps", encoding="ascii", errors="replace") as file:
        return min(int(line.split("-")[0], 16) for line in file if line.rstrip().endswith(path))


def main() -> None:
    path = sys.argv[1]
    ctypes.CDLL(path)
    base = base_of(path)
    values = {
        name: ctypes.CFUNCTYPE(ctypes.c_int64)(base + offset)()
        for name, offset in sorted(symbols(path).items())
    }
    os.write(2, (MARK + json.dumps(values) + "\n").encode())


if __name__ == "__main__":
    main()
