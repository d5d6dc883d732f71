"""The first 96 bytes of a squashfs: where its tables begin, and how its blocks are packed.

SOURCE: Linux, Documentation/filesystems/squashfs.rst and fs/squashfs/squashfs_fs.h.
"""

import struct
from dataclasses import dataclass

from weft.core.units import format_size
from weft.doctor.container.image.image_part import ImagePart
from weft.doctor.container.image.squashfs.codecs import CODECS, SquashfsError, Unpack

MAGIC = b"hsqs"
_LAYOUT = struct.Struct("<4sIIIIHHHHHHQQQQQQQQ")
_LEAST_LOG, _MOST_LOG = 12, 20
"""Blocks have 4 KiB to 1 MiB."""


@dataclass(frozen=True, slots=True)
class SquashfsHeader:
    """Positions are bytes from the begin of the file system; `root` is the reference of an
    inode."""

    block_size: int
    n_fragments: int
    compressor: str
    unpack: Unpack
    root: int
    n_bytes: int
    inodes: int
    directories: int
    fragments: int


def read_header(part: ImagePart) -> SquashfsHeader:
    """The header of a file system. Raises SquashfsError for another version, an unknown
    compressor, or a file that is cut."""
    content = part.read_at(0, _LAYOUT.size)
    if len(content) < _LAYOUT.size or content[:4] != MAGIC:
        raise SquashfsError("no squashfs, or one that is cut")
    (
        _, _, _, block_size, n_fragments, compressor, log, _, _, major, minor, root, n_bytes,
        _, _, inodes, directories, fragments, _,
    ) = _LAYOUT.unpack(content)  # fmt: skip
    if (major, minor) != (4, 0):
        raise SquashfsError(f"squashfs {major}.{minor}, and weft reads 4.0")
    if not _LEAST_LOG <= log <= _MOST_LOG or block_size != 1 << log:
        raise SquashfsError(f"damaged squashfs (blocks of {block_size} bytes)")
    compression, unpack = CODECS.get(compressor, (f"number {compressor}", None))
    if unpack is None:
        raise SquashfsError(f"squashfs packed by {compression}, which weft does not read")
    if n_bytes > part.size:
        sizes = f"{format_size(part.size)} of {format_size(n_bytes)} are there"
        raise SquashfsError(f"a squashfs that is cut: {sizes}")
    if not _LAYOUT.size <= inodes < directories < n_bytes:
        raise SquashfsError("damaged squashfs (tables outside of it)")
    return SquashfsHeader(
        block_size, n_fragments, compression, unpack, root, n_bytes, inodes, directories, fragments
    )
