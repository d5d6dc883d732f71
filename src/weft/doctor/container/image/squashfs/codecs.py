"""The ways in which squashfs packs a block, by their number."""

import lzma
import zlib
from collections.abc import Callable

import zstandard

from weft.doctor.container.image.squashfs.lz_blocks import unpack_lz4, unpack_lzo


class SquashfsError(Exception):
    """A squashfs that is damaged, or of a form that weft does not read."""


Unpack = Callable[[bytes, int], bytes]
"""(block, most bytes) -> content; raises one of DAMAGE."""
DAMAGE = (ValueError, EOFError, zlib.error, lzma.LZMAError, zstandard.ZstdError)
_XZ_MEMORY_BYTES = 64 << 20
"""A dictionary is at most as large as a block, 1 MiB."""


def _unpack_zlib(block: bytes, most_bytes: int) -> bytes:
    stream = zlib.decompressobj()
    return _whole(stream.decompress(block, most_bytes), stream.eof)


def _unpack_xz(block: bytes, most_bytes: int) -> bytes:
    stream = lzma.LZMADecompressor(lzma.FORMAT_XZ, _XZ_MEMORY_BYTES)
    return _whole(stream.decompress(block, most_bytes), stream.eof)


def _whole(content: bytes, is_at_end: bool) -> bytes:
    if not is_at_end:
        raise ValueError("a block that is cut, or larger than it may be")
    return content


def _unpack_zstd(block: bytes, most_bytes: int) -> bytes:
    # The library allocates what the header claims.
    if zstandard.frame_content_size(block) > most_bytes:
        raise ValueError("a block larger than it may be")
    return zstandard.ZstdDecompressor().decompress(block, max_output_size=most_bytes)


CODECS: dict[int, tuple[str, Unpack | None]] = {
    1: ("gzip", _unpack_zlib),
    2: ("lzma", None),
    3: ("lzo", unpack_lzo),
    4: ("xz", _unpack_xz),
    5: ("lz4", unpack_lz4),
    6: ("zstd", _unpack_zstd),
}
"""SOURCE: Linux, fs/squashfs/squashfs_fs.h: the identifiers of compressors."""
