"""ld.so.cache: where ldconfig found each library of an image."""

import re
import struct
from contextlib import suppress
from dataclasses import dataclass

MOST_BYTES = 64 << 20
MOST_ENTRIES = 500_000
"""A Debian machine has 708, in 45 KB (measured). A cache with more counts as one that ld.so cannot
read: as many would take some 200 MB of memory."""
_OLD, _NEW = b"ld.so-1.7.0\0", b"glibc-ld.so.cache1.1"
_EXTENSIONS = 0xEAA42174
_IS_NAMED = 1 << 62
"""SOURCE: glibc 2.36, sysdeps/generic/dl-cache.h: DL_CACHE_HWCAP_EXTENSION."""
_FLAGS = {"x86_64": 0x0303, "aarch64": 0x0A03, "ppc64le": 0x0503, "s390x": 0x0403, "i686": 0x0003}
"""SOURCE: glibc 2.36, sysdeps/generic/ldconfig.h: FLAG_ELF_LIBC6 and the architecture's own."""


@dataclass(frozen=True, slots=True)
class CacheEntry:
    """A path, and the folder of glibc-hwcaps that it is of, "" for the plain one."""

    path: str
    level: str = ""


class LoaderCache:
    """The entries for one architecture, by the name of a library."""

    def __init__(self, content: bytes, architecture: str) -> None:
        self._entries: dict[str, list[CacheEntry]] = {}
        # SOURCE: glibc 2.36, elf/dl-cache.c: ld.so does without a cache that it cannot read.
        with suppress(struct.error):
            self._read(content, _FLAGS.get(architecture))

    def _read(self, content: bytes, flags: int | None) -> None:
        start = _start_of_new(content)
        if start is None:
            return
        number, _, _, extensions = struct.unpack_from("<IIB3xI", content, start + 20)
        if number > MOST_ENTRIES:
            return
        levels = _levels(content, start, extensions)
        for index in range(number):
            entry = struct.unpack_from("<iIIIQ", content, start + 48 + index * 24)
            own, key, value, _, hwcap = entry
            is_named = hwcap & _IS_NAMED != 0
            if own != flags or (hwcap and not is_named):
                continue
            place = hwcap & 0xFFFFFFFF
            level = levels[place] if is_named and place < len(levels) else ""
            name, path = _text(content, start + key), _text(content, start + value)
            self._entries.setdefault(name, []).append(CacheEntry(path, level))

    @property
    def names(self) -> tuple[str, ...]:
        """Of the libraries for this architecture."""
        return tuple(self._entries)

    def find(self, name: str, levels: tuple[str, ...]) -> str | None:
        """The path of a library, of the first level that the processor has, or else the plain one.

        SOURCE: glibc 2.36, elf/dl-cache.c: search_cache.
        """
        entries = self._entries.get(name, ())
        for level in (*levels, ""):
            for entry in entries:
                if entry.level == level:
                    return entry.path
        return None


def _start_of_new(content: bytes) -> int | None:
    """Where the table of the new format begins: also behind one of the old."""
    if content.startswith(_NEW):
        return 0
    if content.startswith(_OLD):
        (number,) = struct.unpack_from("<I", content, 12)
        start = 16 + number * 12
        start += -start % 8
        return start if content[start : start + len(_NEW)] == _NEW else None
    return None


def _levels(content: bytes, start: int, offset: int) -> list[str]:
    """The names of the folders of glibc-hwcaps that entries point to."""
    if offset == 0:
        return []
    magic, number = struct.unpack_from("<II", content, start + offset)
    if magic != _EXTENSIONS:
        return []
    for index in range(min(number, 64)):
        tag, _, at, size = struct.unpack_from("<IIII", content, start + offset + 8 + index * 16)
        if tag == 1:
            names = struct.unpack_from(f"<{min(size // 4, 1024)}I", content, start + at)
            return [_text(content, start + one) for one in names]
    return []


def _text(content: bytes, start: int) -> str:
    found = re.compile(rb"[^\0]{0,4096}").match(content, start)
    return found[0].decode("utf-8", "surrogateescape") if found is not None else ""
