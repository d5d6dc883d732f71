"""Inodes and folders of a squashfs, read from its two tables.

SOURCE: Linux, fs/squashfs/squashfs_fs.h: squashfs_*_inode, squashfs_dir_header, squashfs_dir_entry.
"""

import struct
from dataclasses import dataclass

from weft.doctor.container.image.squashfs.blocks import SquashfsBlocks
from weft.doctor.container.image.squashfs.codecs import SquashfsError
from weft.doctor.container.image.tree import MOST_TARGET_BYTES, NodeKind

MOST_FOLDER_ENTRIES = 250_000
"""Of one folder, and of all folders that are kept: 47 MB (measured). The largest folder of a Debian
machine, its manual pages, has 18,000."""
MOST_BLOCKS = 1 << 20
"""Of one file: 128 GiB in blocks of 128 KiB."""
_MOST_ENTRY_BYTES = 8 + 256
_KINDS = {1: NodeKind.FOLDER, 2: NodeKind.FILE, 3: NodeKind.LINK, 4: NodeKind.DEVICE,
          5: NodeKind.DEVICE, 6: NodeKind.OTHER, 7: NodeKind.OTHER}  # fmt: skip
_EXTENDED = 7
"""A type above it is the one that is so much less, with more fields."""
_HEADER_BYTES = 16
_FOLDER, _LARGE_FOLDER = struct.Struct("<I4xHH4x"), struct.Struct("<4xII4x2xH4x")
_FILE, _LARGE_FILE = struct.Struct("<IIII"), struct.Struct("<QQ8x4xII4x")
_LINK = struct.Struct("<4xI")
NO_FRAGMENT = 0xFFFFFFFF


@dataclass(frozen=True, slots=True)
class FileBlocks:
    """The content of a file: `words` tell the size and the packing of each whole block, the first
    of which is at `start`; the end may be in a fragment, from `offset` on."""

    size: int
    start: int
    fragment: int
    offset: int
    words: tuple[int, ...]


class SquashfsInodes:
    """The inodes of one file system by their references: where a block begins, and the place in
    it. All methods raise SquashfsError."""

    def __init__(self, blocks: SquashfsBlocks) -> None:
        self._blocks = blocks
        self._folders: dict[int, dict[str, tuple[NodeKind, int]]] = {}
        self._n_kept = 0

    def folder(self, reference: int) -> dict[str, tuple[NodeKind, int]]:
        """The entries of a folder in order: kind and reference by name."""
        found = self._folders.get(reference)
        if found is None:
            found = self._read_folder(reference)
            self._n_kept += len(found)
            if self._n_kept > MOST_FOLDER_ENTRIES:
                self._folders, self._n_kept = {}, len(found)
            self._folders[reference] = found
        return found

    def kind(self, reference: int) -> NodeKind:
        """The kind of an inode."""
        number = self._type(reference)
        return _KINDS[number - _EXTENDED if number > _EXTENDED else number]

    def _type(self, reference: int) -> int:
        (number,) = struct.unpack("<H", self._read(reference, 0, 2))
        if not 1 <= number <= 2 * _EXTENDED:
            raise SquashfsError(f"damaged (an inode of type {number})")
        return int(number)

    def _read(self, reference: int, offset: int, size: int) -> bytes:
        start = self._blocks.header.inodes + (reference >> 16)
        return self._blocks.table(start, (reference & 0xFFFF) + offset, size)

    def target(self, reference: int) -> str:
        """Where a link leads."""
        (size,) = _LINK.unpack(self._read(reference, _HEADER_BYTES, _LINK.size))
        if size > MOST_TARGET_BYTES:
            raise SquashfsError(f"damaged (a link to a name of {size:,} bytes)")
        found = self._read(reference, _HEADER_BYTES + _LINK.size, size)
        return found.decode("utf-8", "surrogateescape")

    def file(self, reference: int) -> FileBlocks:
        """The blocks of a file."""
        if self._type(reference) > _EXTENDED:
            layout = _LARGE_FILE
            start, size, fragment, offset = layout.unpack(
                self._read(reference, _HEADER_BYTES, layout.size)
            )
        else:
            layout = _FILE
            start, fragment, offset, size = layout.unpack(
                self._read(reference, _HEADER_BYTES, layout.size)
            )
        block_size = self._blocks.header.block_size
        number = size // block_size if fragment != NO_FRAGMENT else -(-size // block_size)
        if number > MOST_BLOCKS:
            raise SquashfsError(f"a file of {number:,} blocks")
        words = self._read(reference, _HEADER_BYTES + layout.size, 4 * number)
        return FileBlocks(size, start, fragment, offset, struct.unpack(f"<{number}I", words))

    def _read_folder(self, reference: int) -> dict[str, tuple[NodeKind, int]]:
        if self._type(reference) > _EXTENDED:
            size, start, offset = _LARGE_FOLDER.unpack(
                self._read(reference, _HEADER_BYTES, _LARGE_FOLDER.size)
            )
        else:
            start, size, offset = _FOLDER.unpack(self._read(reference, _HEADER_BYTES, _FOLDER.size))
        # SOURCE: Linux, fs/squashfs/dir.c: the size counts 3 bytes for `.` and `..`.
        size = max(0, size - 3)
        if size > MOST_FOLDER_ENTRIES * _MOST_ENTRY_BYTES:
            raise SquashfsError(f"a folder of {size:,} bytes")
        table = self._blocks.header.directories
        return _entries(self._blocks.table(table + start, offset, size))


def _entries(content: bytes) -> dict[str, tuple[NodeKind, int]]:
    found: dict[str, tuple[NodeKind, int]] = {}
    at = 0
    try:
        while at < len(content):
            number, start, _ = struct.unpack_from("<III", content, at)
            at += 12
            if number >= 256 or len(found) + number >= MOST_FOLDER_ENTRIES:
                raise SquashfsError(f"a folder of {len(found) + number + 1:,} entries")
            for _ in range(number + 1):
                offset, _, kind, size = struct.unpack_from("<HhHH", content, at)
                name = content[at + 8 : at + 9 + size].decode("utf-8", "surrogateescape")
                if kind not in _KINDS or size >= 256 or name in (".", "..") or "/" in name:
                    raise SquashfsError(f"damaged ('{name[:256]}' is no entry of a folder)")
                found[name] = _KINDS[kind], start << 16 | offset
                at += 9 + size
    except struct.error:
        raise SquashfsError("damaged (a folder that ends too early)") from None
    return found
