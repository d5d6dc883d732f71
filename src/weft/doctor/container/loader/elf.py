"""Facts that ld.so takes from an ELF file: what it needs, offers and says about paths."""

import os
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from weft.core.errors import InputError
from weft.core.units import format_size

MOST_PROGRAM_HEADERS = 4096
MOST_DYNAMIC_TAGS = 65_536
MOST_VERSIONS = 16_384
"""libc.so.6 defines about 50; a linker script of a library may name thousands."""
MOST_NAME_BYTES = 1 << 16
"""Spack writes a path of each library that a file needs into its RPATH."""
MOST_NAMES_BYTES = 1 << 18
"""Of all names that are taken from one file; of the files of a Debian machine at most 1.7 KB."""
_NAME_BYTES = 256
"""Most names are shorter."""
MOST_STRING_TABLE_BYTES = 64 << 20
_WINDOW_BYTES = 1 << 16
_LOAD, _DYNAMIC, _INTERP = 1, 2, 3
_NEEDED, _STRTAB, _STRSZ, _SONAME, _RPATH, _RUNPATH = 1, 5, 10, 14, 15, 29
_FLAGS_1, _VERDEF, _VERDEFNUM = 0x6FFFFFFB, 0x6FFFFFFC, 0x6FFFFFFD
_VERNEED, _VERNEEDNUM = 0x6FFFFFFE, 0x6FFFFFFF
_NO_DEFAULT_DIRECTORIES = 0x800
_WEAK = 2
MACHINES = {62: "x86_64", 183: "aarch64", 21: "ppc64le", 22: "s390x", 243: "riscv64", 3: "i686"}
"""SOURCE: System V ABI, registered values of e_machine."""


class ElfError(Exception):
    """A file that ld.so ends at, in its own words."""


@dataclass(frozen=True, slots=True)
class VersionNeed:
    """A version of symbols that the file asks of another one; a weak one may be missing."""

    file: str
    version: str
    is_weak: bool = False


@dataclass(frozen=True, slots=True)
class ElfFacts:
    """`versions` are those that it defines, None where it has no table of them. Of `rpath` and
    `runpath` the first counts only without the second."""

    bits: int
    machine: int
    soname: str = ""
    needed: tuple[str, ...] = ()
    rpath: str | None = None
    runpath: str | None = None
    interpreter: str = ""
    needs: tuple[VersionNeed, ...] = ()
    versions: frozenset[str] | None = None
    without_default_directories: bool = False
    damage: str = ""
    """The error at which ld.so ends, if the file is for its own architecture."""

    @property
    def architecture(self) -> str:
        """The name of the machine as `uname -m` prints it."""
        return MACHINES.get(self.machine, f"machine {self.machine}")

    def fits(self, other: "ElfFacts") -> bool:
        """Whether one process can load both."""
        return (self.bits, self.machine) == (other.bits, other.machine)


def read_elf(file: BinaryIO, path: str) -> ElfFacts:
    """The facts of an open file. Raises ElfError where ld.so would end, InputError for a file with
    more names than weft takes, OSError if it cannot be read."""
    elf = _Elf(_Reader(file), path)
    try:
        elf.read()
        return elf.facts()
    except ElfError as error:
        return ElfFacts(elf.bits, elf.machine, damage=str(error))


def interface_versions(file: BinaryIO, begin: str) -> tuple[int, ...]:
    """The versions of an interface of NCCL in a plug-in: N of its names BEGIN_vN, ascending.

    Raises ElfError, OSError.
    """
    reader = _Reader(file)
    elf = _Elf(reader, begin)
    elf.read()
    size = min(elf.tags.get(_STRSZ, [0])[0], MOST_STRING_TABLE_BYTES)
    table = reader.read(elf.offset_of(elf.tags.get(_STRTAB, [0])[0]), size)
    pattern = re.compile(rb"\x00%s_v(\d{1,3})(?=\x00)" % re.escape(begin).encode())
    return tuple(sorted({int(found[1]) for found in pattern.finditer(b"\0" + table)}))


class _Reader:
    """A file in windows, so that a library of gigabytes costs a few reads."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.size = file.seek(0, os.SEEK_END)
        self._start, self._window = 0, b""

    def read(self, offset: int, length: int) -> bytes:
        """Bytes at an offset, fewer at the end of the file."""
        if not 0 <= offset <= self.size or length < 0:
            raise ElfError("file too short")
        if length > _WINDOW_BYTES:
            return self._part(min(length, self.size - offset), offset)
        end = offset + length
        if not self._start <= offset or end > self._start + len(self._window):
            self._start, self._window = offset, self._part(_WINDOW_BYTES, offset)
        return self._window[offset - self._start : end - self._start]

    def _part(self, length: int, offset: int) -> bytes:
        self._file.seek(offset)
        return self._file.read(length)

    def whole(self, offset: int, length: int) -> bytes:
        """Bytes at an offset. Raises ElfError if the file ends before."""
        found = self.read(offset, length)
        if len(found) < length:
            raise ElfError("file too short")
        return found


class _Elf:
    """The headers and the dynamic section of a file."""

    def __init__(self, reader: _Reader, path: str) -> None:
        self._reader, self._path = reader, path
        self._n_name_bytes = 0
        identity = reader.read(0, 64)
        if len(identity) < 52:
            raise ElfError("file too short")
        if identity[:4] != b"\x7fELF" or identity[4] not in (1, 2) or identity[5] not in (1, 2):
            raise ElfError("invalid ELF header")
        self.bits = 32 * identity[4]
        self._order = "<>"[identity[5] - 1]
        self._is_wide = self.bits == 64
        layout, start = ("HHIQQQIHHHHHH", 16) if self._is_wide else ("HHIIIIIHHHHHH", 16)
        self._header = self._unpack(layout, start)
        self.machine = self._header[1]
        self._segments: list[tuple[int, int, int, int]] = []
        self.tags: dict[int, list[int]] = {}

    def read(self) -> None:
        """The segments and the dynamic section. Raises ElfError."""
        if self._header[0] not in (2, 3):
            raise ElfError("only ET_DYN and ET_EXEC can be loaded")
        header = self._header
        self._segments = list(self._program_headers(header[4], header[8], header[9]))
        self.tags = self._dynamic_tags()

    def _unpack(self, layout: str, offset: int) -> tuple[int, ...]:
        size = struct.calcsize(self._order + layout)
        return struct.unpack(self._order + layout, self._reader.whole(offset, size))

    def _program_headers(
        self, offset: int, size: int, number: int
    ) -> Iterator[tuple[int, int, int, int]]:
        """Of each (type, offset, address, bytes in the file)."""
        if number > MOST_PROGRAM_HEADERS or size < (56 if self._is_wide else 32):
            raise ElfError("invalid ELF header")
        for index in range(number):
            at = offset + index * size
            if self._is_wide:
                kind, _, start, address, _, length = self._unpack("IIQQQQ", at)
            else:
                kind, start, address, _, length = self._unpack("IIIII", at)
            yield kind, start, address, length

    def _dynamic_tags(self) -> dict[int, list[int]]:
        tags: dict[int, list[int]] = {}
        found = next((one for one in self._segments if one[0] == _DYNAMIC), None)
        if found is None:
            return tags
        layout, size = ("qQ", 16) if self._is_wide else ("iI", 8)
        for index in range(min(found[3] // size, MOST_DYNAMIC_TAGS)):
            tag, value = self._unpack(layout, found[1] + index * size)
            if tag == 0:
                break
            tags.setdefault(tag & 0xFFFFFFFF, []).append(value)
        return tags

    def offset_of(self, address: int) -> int:
        """The place in the file of an address of the loaded image."""
        for kind, start, first, length in self._segments:
            if kind == _LOAD and first <= address < first + length:
                return address - first + start
        raise ElfError("invalid ELF header")

    def _name(self, offset: int) -> str:
        start = self.offset_of(self.tags.get(_STRTAB, [0])[0]) + offset
        for size in (_NAME_BYTES, MOST_NAME_BYTES):
            found, end, _ = self._reader.read(start, size).partition(b"\0")
            if end:
                break
        self._n_name_bytes += len(found) + 1
        if len(found) == MOST_NAME_BYTES or self._n_name_bytes > MOST_NAMES_BYTES:
            expected = f"at most {format_size(MOST_NAMES_BYTES)} of names in a library"
            raise InputError("more names than weft takes", where=self._path, expected=expected)
        return found.decode("utf-8", "surrogateescape")

    def _names(self, tag: int) -> list[str]:
        return [self._name(offset) for offset in self.tags.get(tag, ())]

    def facts(self) -> ElfFacts:
        """All of them."""
        if not self.tags:
            return ElfFacts(self.bits, self.machine)
        rpath, runpath = self._names(_RPATH), self._names(_RUNPATH)
        flags = self.tags.get(_FLAGS_1, [0])[0]
        return ElfFacts(
            self.bits,
            self.machine,
            next(iter(self._names(_SONAME)), ""),
            tuple(self._names(_NEEDED)),
            # SOURCE: glibc 2.36, elf/get-dynamic-info.h: with DT_RUNPATH, DT_RPATH is ignored.
            rpath[-1] if rpath and not runpath else None,
            runpath[-1] if runpath else None,
            self._interpreter(),
            tuple(self._version_needs()),
            self._versions(),
            flags & _NO_DEFAULT_DIRECTORIES != 0,
        )

    def _interpreter(self) -> str:
        for kind, start, _, length in self._segments:
            if kind == _INTERP:
                found = self._reader.read(start, min(length, MOST_NAME_BYTES))
                return found.partition(b"\0")[0].decode("utf-8", "surrogateescape")
        return ""

    def _version_needs(self) -> Iterator[VersionNeed]:
        """SOURCE: Linux Standard Base 5.0, Core, 10.7: symbol versioning."""
        if _VERNEED not in self.tags:
            return
        at = self.offset_of(self.tags[_VERNEED][0])
        n_left = MOST_VERSIONS
        for _ in range(min(self.tags.get(_VERNEEDNUM, [0])[0], MOST_VERSIONS)):
            _, number, file, first, following = self._unpack("HHIII", at)
            entry = at + first
            for _ in range(min(number, n_left)):
                _, flags, _, name, step = self._unpack("IHHII", entry)
                yield VersionNeed(self._name(file), self._name(name), bool(flags & _WEAK))
                n_left -= 1
                if step == 0:
                    break
                entry += step
            if following == 0 or n_left <= 0:
                break
            at += following

    def _versions(self) -> frozenset[str] | None:
        if _VERDEF not in self.tags:
            return None
        at = self.offset_of(self.tags[_VERDEF][0])
        names = set()
        for _ in range(min(self.tags.get(_VERDEFNUM, [0])[0], MOST_VERSIONS)):
            _, flags, _, _, _, first, following = self._unpack("HHHHIII", at)
            if not flags & 1:
                (name,) = self._unpack("I", at + first)
                names.add(self._name(name))
            if following == 0:
                break
            at += following
        return frozenset(names)
