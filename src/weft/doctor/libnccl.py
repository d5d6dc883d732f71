"""A given libnccl.so: its version and the names that it asks the environment for."""

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from weft.core.documents.text_file import open_file
from weft.core.errors import InputError

if TYPE_CHECKING:
    from elftools.elf.sections import Section

MOST_BYTES = 1 << 30
NAME = re.compile(rb"(?<!_)(NCCL_[A-Z0-9][A-Z0-9_]*)\x00")
VERSION = re.compile(rb"NCCL version (\d+\.\d+\.\d+)")


@dataclass(frozen=True, slots=True)
class Libnccl:
    """A library of NCCL. `names` are all texts in it that look like a variable's name."""

    path: Path
    version: str
    names: frozenset[str]


def read_libnccl(path: Path) -> Libnccl:
    """Names and version from the read-only data of a library. Raises InputError.

    Debugging symbols, which hold names of constants too, are in other sections.
    """
    from elftools.common.exceptions import ELFError
    from elftools.elf.elffile import ELFFile

    def refusal(what: str) -> InputError:
        return InputError(what, where=str(path), expected="a libnccl.so")

    try:
        with open_file(path, expected="a libnccl.so", most_bytes=MOST_BYTES) as file:
            section = ELFFile(file).get_section_by_name(".rodata")
            data = b"" if section is None else _data(section, os.fstat(file.fileno()).st_size)
    except (ELFError, ValueError, KeyError, OverflowError, AttributeError, AssertionError) as error:
        raise refusal(f"no shared library ({error})") from error
    names = frozenset(found[1].decode() for found in NAME.finditer(data))
    version = VERSION.search(data)
    if "NCCL_DEBUG" not in names:
        raise refusal("no variables of NCCL are in it")
    return Libnccl(path, version[1].decode() if version is not None else "", names)


def _data(section: "Section", n_bytes_of_file: int) -> bytes:
    """All of it. Raises ELFError for a length that only the header of the section claims."""
    from elftools.common.exceptions import ELFError

    if section["sh_size"] > n_bytes_of_file or section.compressed:
        raise ELFError("more read-only data than the file has")
    return section.data()
