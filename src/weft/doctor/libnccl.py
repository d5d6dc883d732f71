"""A given libnccl.so: its version and the names that it asks the environment for."""

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from weft.core.documents.text_file import open_file
from weft.core.errors import InputError
from weft.core.units import format_size
from weft.core.work.progress import working

if TYPE_CHECKING:
    from elftools.elf.sections import Section

MOST_BYTES = 1 << 30
"""NCCL 2.18.3 has 290 MB, 2.26.5 has 423 MB, nearly all of it code for GPUs (measured)."""
MOST_DATA_BYTES = 256 << 20
"""Of read-only data, which is held in memory at once; the same two have 0.12 and 0.16 MB."""
NAME = re.compile(rb"(?<!_)(NCCL_[A-Z0-9][A-Z0-9_]*)\x00")
VERSION = re.compile(rb"NCCL version (\d+\.\d+\.\d+)")
INTERFACE = re.compile(rb"\x00ncclNetPlugin_v(\d{1,3})\x00|Loaded net plugin %s \(v(\d{1,3})\)")
"""A version of the interface to net plug-ins: the symbol that it asks for, or the line it logs."""
PEER_SIGN = re.compile(
    rb"(/sys/(?:kernel/mm/memory_peers/[\w-]{1,32}|module/nvidia_peermem)/version)\x00"
)
"""Files of the kernel by which it knows that adapters can read GPU memory."""
PLUGIN_FORMS = {
    "load": b"NET/Plugin : Plugin load (%s) returned %d : %s\0",
    "fall-back": b"%s/Plugin: Could not find:%s. %s\0",
    "list": b"%s/Plugin: Could not find:%s%s%s\0",
}
"""Formats of the line about a plug-in that does not load, by a name of ours."""
LOST_INTERFACE = b"NET/Plugin: Failed to find ncclNetPlugin_v"
"""Newer libraries with the form "list" have no such line; no older one of them was tried."""
ATTENTION = b" NCCL ATTN "


@dataclass(frozen=True, slots=True)
class Libnccl:
    """A library of NCCL. `names` are all texts in it that look like a variable's name,
    `interfaces` the versions of the interface to net plug-ins that it takes, `plugin_form` the
    format of its lines about plug-ins, "" for another one; `has_attention` whether it logs some at
    the level ATTN; `peer_signs` are files that tell it of the kernel's peer memory."""

    version: str
    names: frozenset[str]
    interfaces: frozenset[int] = frozenset()
    plugin_form: str = ""
    has_attention: bool = False
    peer_signs: frozenset[str] = frozenset()


def read_libnccl(path: Path) -> Libnccl:
    """As `libnccl_of`, of a file by its path. Raises InputError."""
    with open_file(path, expected="a libnccl.so", most_bytes=MOST_BYTES) as file:
        return libnccl_of(file, str(path))


def libnccl_of(file: BinaryIO, where: str) -> Libnccl:
    """Names and version from the read-only data of a library. Raises InputError, OSError.

    Debugging symbols, which hold names of constants too, are in other sections.
    """
    from elftools.common.exceptions import ELFError
    from elftools.elf.elffile import ELFFile

    def refusal(what: str) -> InputError:
        return InputError(what, where=where, expected="a libnccl.so")

    try:
        n_bytes = file.seek(0, os.SEEK_END)
        section = ELFFile(file).get_section_by_name(".rodata")
        data = b"" if section is None else _data(section, n_bytes)
    except (ELFError, ValueError, KeyError, OverflowError, AttributeError, AssertionError) as error:
        raise refusal(f"no shared library ({error})") from error
    names = _names(data)
    version = VERSION.search(data)
    if "NCCL_DEBUG" not in names:
        raise refusal("no variables of NCCL are in it")
    interfaces = frozenset(int(one[1] or one[2]) for one in INTERFACE.finditer(data))
    form = next((name for name, text in PLUGIN_FORMS.items() if text in data), "")
    if form == "list" and LOST_INTERFACE in data:
        form = ""
    number = version[1].decode() if version is not None else ""
    signs = frozenset(one[1].decode() for one in PEER_SIGN.finditer(data))
    return Libnccl(number, names, interfaces, form, ATTENTION in data, signs)


def _names(data: bytes) -> frozenset[str]:
    names: set[str] = set()
    at = 0
    with working("reading names in the library", ask=lambda: at / len(data)):
        for found in NAME.finditer(data):
            at = found.end()
            names.add(found[1].decode())
    return frozenset(names)


def _data(section: "Section", n_bytes_of_file: int) -> bytes:
    """All of it. Raises ELFError for a length that only the header of the section claims."""
    from elftools.common.exceptions import ELFError

    if section["sh_size"] > n_bytes_of_file or section.compressed:
        raise ELFError("more read-only data than the file has")
    if section["sh_size"] > MOST_DATA_BYTES:
        raise ELFError(f"more than {format_size(MOST_DATA_BYTES)} of read-only data")
    return section.data()
