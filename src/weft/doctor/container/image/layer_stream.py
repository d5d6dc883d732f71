"""A layer as tarfile reads it: forward only, unpacked, and never more than the limits."""

import tarfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, BinaryIO, cast

import zstandard

from weft.core.units import format_size
from weft.doctor.container.image.image_part import ImagePart

MOST_LAYER_BYTES = 128 << 30
MOST_HEADER_BYTES = 1 << 20
"""Of one extended header, and of one piece of a file."""
MOST_RATIO = 200
"""Times that a layer may be larger than its file; gzip's own limit is 1032, and layers of
libraries have 2 to 4."""
MOST_GLOBAL_HEADERS = 100
_UNSUSPECTED_BYTES = 256 << 20
_MOST_HEADERS_BYTES = 16 << 20
"""Of all headers of one member."""
_PIECE_BYTES = 1 << 20
_PACKED_BYTES = 1 << 17
_GZIP_WINDOW = 31
"""SOURCE: zlib.h, inflateInit2: 15 bits of window, and 16 for a gzip header."""
DAMAGE = (
    tarfile.TarError,
    zlib.error,
    zstandard.ZstdError,
    EOFError,
    OSError,
    ValueError,
    # tarfile calls itself for each extended header of a member.
    RecursionError,
)
_DAMAGED_HEADERS = tuple(
    getattr(tarfile, name) for name in ("InvalidHeaderError", "TruncatedHeaderError")
)


class Packing(StrEnum):
    """How a layer is packed."""

    PLAIN = "plain"
    GZIP = "gzip"
    ZSTD = "zstd"


_BEGINS = {b"\x1f\x8b": Packing.GZIP, b"\x28\xb5\x2f\xfd": Packing.ZSTD}
_SKIPPED_FRAMES = tuple(bytes((0x50 + one,)) + b"\x2a\x4d\x18" for one in range(16))
"""SOURCE: RFC 8878, 3.1.2: skippable frames, which zstd:chunked has."""


def packing_of(begin: bytes) -> Packing:
    """The packing of a file, by its first bytes."""
    if begin.startswith(_SKIPPED_FRAMES):
        return Packing.ZSTD
    return next((one for sign, one in _BEGINS.items() if begin.startswith(sign)), Packing.PLAIN)


@dataclass(frozen=True, slots=True)
class LayerBlob:
    """A part of a file that holds a layer."""

    name: str
    path: Path
    offset: int
    size: int
    packing: Packing


class LayerMember(tarfile.TarInfo):
    """A member whose header is whole: tarfile takes a damaged one for the end of the archive."""

    @classmethod
    def fromtarfile(cls, tarfile_: tarfile.TarFile) -> "LayerMember":
        """The next member. Raises ReadError for a damaged header."""
        try:
            found = super().fromtarfile(tarfile_)
        except _DAMAGED_HEADERS as error:
            raise tarfile.ReadError(f"header at {tarfile_.offset}: {error}") from error
        if found.size < 0:
            raise tarfile.ReadError(f"member '{found.name}' has {found.size} bytes")
        return found


def members_of(stream: "LayerStream") -> Iterator[tuple[tarfile.TarFile, tarfile.TarInfo]]:
    """The members of an archive in order. Raises one of DAMAGE."""
    file: Any = tarfile.TarFile(fileobj=cast(Any, stream), tarinfo=LayerMember)
    while True:
        with stream.header():
            member = file.next()
        if member is None:
            return
        if len(file.pax_headers) > MOST_GLOBAL_HEADERS:
            raise ValueError(f"more than {MOST_GLOBAL_HEADERS} global headers")
        yield file, member
        # An archive of a million members would keep all of them.
        file.members = []


class LayerStream:
    """A layer as a file. Methods raise one of DAMAGE, ValueError beyond a limit."""

    def __init__(self, raw: BinaryIO, blob: LayerBlob) -> None:
        self._part = ImagePart(raw, blob.offset, blob.size)
        self._packing = blob.packing
        self._file: Any = self._part
        if blob.packing is Packing.GZIP:
            self._file = _GzipStream(self._part)
        elif blob.packing is Packing.ZSTD:
            self._file = zstandard.ZstdDecompressor().stream_reader(
                cast(Any, self._part), _PACKED_BYTES, read_across_frames=True, closefd=False
            )
        self._at = self._n_header_bytes = 0
        self._is_header = False

    @contextmanager
    def header(self) -> Iterator[None]:
        """Bytes that are read now are headers of one member."""
        self._is_header, self._n_header_bytes = True, 0
        yield
        self._is_header = False

    def read(self, size: int) -> bytes:
        """Bytes of the layer, fewer at its end."""
        if size > MOST_HEADER_BYTES:
            raise ValueError(f"a header of {format_size(size)}")
        self._n_header_bytes += size if self._is_header else 0
        if self._n_header_bytes > _MOST_HEADERS_BYTES:
            raise ValueError(f"headers of more than {format_size(_MOST_HEADERS_BYTES)}")
        found = self._piece(size)
        while len(found) < size:
            piece = self._piece(size - len(found))
            if not piece:
                break
            found += piece
        return found

    def _piece(self, size: int) -> bytes:
        found: bytes = self._file.read(size)
        self._at += len(found)
        if self._at > MOST_LAYER_BYTES:
            raise ValueError(f"more than {format_size(MOST_LAYER_BYTES)} in one layer")
        is_large = self._at > _UNSUSPECTED_BYTES and self._packing is not Packing.PLAIN
        if is_large and self._at > MOST_RATIO * max(1, self._part.n_read):
            raise ValueError(f"it unpacks to more than {MOST_RATIO} times its size")
        return found

    def tell(self) -> int:
        """The place in the unpacked layer."""
        return self._at

    def seek(self, offset: int) -> None:
        """Go forward. Raises ValueError for a way back, which a damaged header asks for."""
        if offset < self._at:
            raise ValueError("a member before the one that was read")
        if self._packing is Packing.PLAIN:
            self._at = self._part.seek(offset)
        while self._at < offset:
            if not self._piece(min(_PIECE_BYTES, offset - self._at)):
                return


class _GzipStream:
    """The content of gzip members one after another."""

    def __init__(self, part: ImagePart) -> None:
        self._part = part
        self._packed = b""
        self._inflate = zlib.decompressobj(_GZIP_WINDOW)

    def read(self, size: int) -> bytes:
        """Up to `size` bytes, none at the end. Raises EOFError where the last member is cut."""
        while True:
            if self._inflate.eof:
                self._packed = self._inflate.unused_data.lstrip(b"\0")
                self._packed = self._packed or self._part.read(_PACKED_BYTES).lstrip(b"\0")
                if not self._packed:
                    return b""
                self._inflate = zlib.decompressobj(_GZIP_WINDOW)
            packed = self._packed or self._part.read(_PACKED_BYTES)
            found = self._inflate.decompress(packed, size)
            self._packed = self._inflate.unconsumed_tail
            if found:
                return found
            if not packed and not self._inflate.eof:
                raise EOFError("it ends in the middle of a block")
