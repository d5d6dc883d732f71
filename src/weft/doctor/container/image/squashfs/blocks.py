"""Blocks of a squashfs: those of tables and those of files, unpacked when they are asked for."""

import struct
from functools import lru_cache

from weft.doctor.container.image.image_part import ImagePart
from weft.doctor.container.image.squashfs.codecs import DAMAGE, SquashfsError
from weft.doctor.container.image.squashfs.superblock import read_header

_TABLE_BLOCK_BYTES = 8192
_MOST_TABLE_BLOCKS = 2048
"""Unpacked blocks of tables that are kept: 16 MiB."""
_MOST_FILE_BLOCKS = 16
_IS_PLAIN_TABLE, _IS_PLAIN_FILE = 1 << 15, 1 << 24
_FRAGMENTS_A_BLOCK = _TABLE_BLOCK_BYTES // 16


class SquashfsBlocks:
    """The blocks of one file system. All methods raise SquashfsError."""

    def __init__(self, part: ImagePart) -> None:
        self._part = part
        self.header = read_header(part)
        self._table_blocks = lru_cache(_MOST_TABLE_BLOCKS)(self._read_table_block)
        self._file_blocks = lru_cache(_MOST_FILE_BLOCKS)(self._read_file_block)

    def table(self, start: int, offset: int, size: int) -> bytes:
        """`size` bytes of a table, from `offset` in the block at `start` on."""
        found = []
        while size > 0:
            content, start = self._table_blocks(start)
            if not content:
                raise SquashfsError("damaged (an empty block of a table)")
            piece = content[offset : offset + size]
            found.append(piece)
            size -= len(piece)
            # A place may be behind its block: an inode goes on in the next one.
            offset = max(0, offset - len(content))
        return b"".join(found)

    def file_block(self, start: int, word: int) -> bytes:
        """The block at `start` whose size and packing `word` tells."""
        return self._file_blocks(start, word)

    def fragment(self, number: int) -> bytes:
        """A block of the ends of files."""
        if number >= self.header.n_fragments:
            raise SquashfsError(f"damaged (fragment {number})")
        place = self.header.fragments + number // _FRAGMENTS_A_BLOCK * 8
        (start,) = struct.unpack("<Q", self._bytes(place, 8))
        entry = self.table(start, number % _FRAGMENTS_A_BLOCK * 16, 16)
        return self.file_block(*struct.unpack("<QI4x", entry))

    def _bytes(self, position: int, size: int) -> bytes:
        is_inside = position + size <= self.header.n_bytes
        found = self._part.read_at(position, size) if is_inside else b""
        if len(found) < size:
            raise SquashfsError(f"damaged (a block outside of it: {position:,})")
        return found

    def _read_table_block(self, start: int) -> tuple[bytes, int]:
        """Its content, and where the next one begins."""
        (word,) = struct.unpack("<H", self._bytes(start, 2))
        size = (word & ~_IS_PLAIN_TABLE) or _IS_PLAIN_TABLE
        content = self._bytes(start + 2, size)
        is_plain = bool(word & _IS_PLAIN_TABLE)
        return self._unpacked(content, is_plain, _TABLE_BLOCK_BYTES, start), start + 2 + size

    def _read_file_block(self, start: int, word: int) -> bytes:
        size = word & ~_IS_PLAIN_FILE
        if size > self.header.block_size:
            raise SquashfsError(f"damaged (a block of {size:,} bytes)")
        content = self._bytes(start, size)
        return self._unpacked(content, bool(word & _IS_PLAIN_FILE), self.header.block_size, start)

    def _unpacked(self, content: bytes, is_plain: bool, most_bytes: int, start: int) -> bytes:
        if is_plain:
            return content[:most_bytes]
        try:
            return self.header.unpack(content, most_bytes)
        except DAMAGE as error:
            what = f"damaged (a block of {self.header.compressor} at {start:,}: {error})"
            raise SquashfsError(what) from error
