"""Calls the readers of texts inside a real libnccl.so, which want no GPU for that.

Run as a program: nccl_readers_probe.py LIBRARY; standard input is one JSON object of requests by
name, the last line of standard output MARK and the answers by the same names.
"""

import ctypes
import json
import os
import sys

from elftools.elf.elffile import ELFFile
from tests.oracle.nccl_probe import base_of

MARK = "ANSWERS "
UNREAD = -1
"""What a level is before NCCL looks for it; -2 is what it is where it finds none."""
ROOM = 64 * 1024
MOST_NAMES = 32


class Readers:
    """The functions, by where the table of symbols says that they are."""

    def __init__(self, path: str) -> None:
        ctypes.CDLL(path)
        self.base = base_of(path)
        with open(path, "rb") as file:
            table = ELFFile(file).get_section_by_name(".symtab")
            self.offsets = {one.name: one["st_value"] for one in table.iter_symbols()}

    def call(self, name: str, result: type | None, *arguments: object) -> object:
        types = [ctypes.c_char_p if isinstance(one, bytes) else type(one) for one in arguments]
        return ctypes.CFUNCTYPE(result, *types)(self.base + self.offsets[name])(*arguments)

    def levels(self, settings: list[dict[str, str]]) -> list[int]:
        """ncclGetLevel, for each environment of NCCL_P2P_DISABLE and NCCL_P2P_LEVEL."""
        found = []
        for values in settings:
            for name in ("NCCL_P2P_DISABLE", "NCCL_P2P_LEVEL"):
                os.environ.pop(name, None)
            os.environ.update(values)
            level = ctypes.c_int(UNREAD)
            at = ctypes.c_void_p(ctypes.addressof(level))
            self.call(
                "_Z12ncclGetLevelPiPKcS1_", ctypes.c_int, at, b"NCCL_P2P_DISABLE", b"NCCL_P2P_LEVEL"
            )
            found.append(level.value)
        return found

    def taken(self, lists: list[str], devices: list[str]) -> list[list[str]]:
        """parseStringList and matchIfList: of each list the devices that it takes, port 1.

        Their callers cut the sign in front of the whole list off, and turn the answer over.
        """
        found = []
        for text in lists:
            excludes, is_exact = text.startswith("^"), text.removeprefix("^").startswith("=")
            room = ctypes.create_string_buffer(ROOM)
            at = ctypes.c_void_p(ctypes.addressof(room))
            wanted = text.removeprefix("^").removeprefix("=").encode()
            n = self.call(
                "_Z15parseStringListPKcP5netIfi", ctypes.c_int, wanted, at, ctypes.c_int(MOST_NAMES)
            )
            found.append([one for one in devices if self._match(one, at, n, is_exact) != excludes])
        return found

    def _match(self, device: str, at: ctypes.c_void_p, n: object, is_exact: bool) -> bool:
        name = "_Z11matchIfListPKciP5netIfib"
        arguments = (device.encode(), ctypes.c_int(1), at, ctypes.c_int(n), ctypes.c_bool(is_exact))
        if name in self.offsets:
            return bool(self.call(name, ctypes.c_bool, *arguments))
        return bool(self.call(f"{name}Pi", ctypes.c_bool, *arguments, ctypes.c_void_p()))

    def algorithms(self, lists: list[str], names: list[str]) -> list[list[str]]:
        """parseList of 2.18: the names that each list leaves on."""
        known = (ctypes.c_char_p * len(names))(*(one.encode() for one in names))
        found = []
        for text in lists:
            on = (ctypes.c_int * len(names))(*[1] * len(names))
            at = [ctypes.c_void_p(ctypes.addressof(one)) for one in (known, on)]
            self.call(
                "_Z9parseListPKcPS0_iPi",
                ctypes.c_int,
                text.encode(),
                at[0],
                ctypes.c_int(len(names)),
                at[1],
            )
            found.append([name for name, is_on in zip(names, on, strict=True) if is_on])
        return found

    def conf(self, path: str) -> dict[str, str]:
        """setEnvFile: what an nccl.conf adds to the environment."""
        self.call("_Z10setEnvFilePKc", None, path.encode())
        environment = ctypes.POINTER(ctypes.c_char_p).in_dll(ctypes.CDLL(None), "environ")
        found, i = {}, 0
        while environment[i]:
            name, _, value = environment[i].decode().partition("=")
            if name not in os.environ:
                found[name] = value
            i += 1
        return found

    def mask(self) -> int:
        """Which parts log, once NCCL has begun."""
        ctypes.CDLL(sys.argv[1]).ncclGetUniqueId(ctypes.create_string_buffer(128))
        return ctypes.c_uint64.from_address(self.base + self.offsets["ncclDebugMask"]).value


def main() -> None:
    readers = Readers(sys.argv[1])
    answers = {
        name: getattr(readers, name)(*arguments)
        for name, arguments in json.loads(sys.stdin.read()).items()
    }
    os.write(1, ("\n" + MARK + json.dumps(answers) + "\n").encode())


if __name__ == "__main__":
    main()
