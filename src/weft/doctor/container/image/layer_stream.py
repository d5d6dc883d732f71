"""A layer as tarfile reads it: forward only, unpacked, and never more than the limits."""

import io
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import SimpleNamespace
from typing import Any, BinaryIO, cast

import zstandard
from isal import isal_zlib

from weft.core.units import format_size
from weft.doctor.container.image.image_part import ImagePart

MOST_LAYER_BYTES = 128 << 30
MOST_HEADER_BYTES = 1 << 20
"""Of one extended header, and of one piece of a file."""
MOST_RATIO = 200
"""Times that a layer may be larger than its file; gzip's own limit is 1032, and layers of
libraries have 2 to 4."""
_UNSUSPECTED_BYTES = 256 << 20
_MOST_HEADERS_BYTES = 16 << 20
"""Of all headers of one member."""
PIECE_BYTES = 1 << 18
"""Unpacked at a time: igzip is fastest there (measured from 64 KiB to 1 MiB)."""
_PLAIN_BYTES = 1 << 13
"""Of a plain layer, of which only headers are read."""
_PACKED_BYTES = 1 << 17
_GZIP_WINDOW = 31
"""SOURCE: zlib.h, inflateInit2: 15 bits of window, and 16 for a gzip header."""
DAMAGE: tuple[type[Exception], ...] = (
    tarfile.TarError,
    cast(type[Exception], isal_zlib.error),
    zstandard.ZstdError,
    EOFError,
    OSError,
    ValueError,
    # tarfile calls itself for each extended header of a member.
    RecursionError,
)


class PassEndedError(Exception):
    """Nobody waits for the rest of a layer."""


class Packing(StrEnum):
    """How a layer is packed."""

    PLAIN = "plain"
    GZIP = "gzip"
    ZSTD = "zstd"


_BEGINS = {b"\x1f\x8b": Packing.GZIP, b"\x28\xb5\x2f\xfd": Packing.ZSTD}
_SKIPPED_FRAMES = tuple(bytes((0x50 + one,)) + b"\x2a\x4d\x18" for one in range(16))
"""SOURCE: RFC 8878, 3.1.2: skippable frames, which zstd:chunked has."""
_END_BYTES = bytes.fromhex("9d37c204e6585fb1")
"""Drawn by chance."""
_END_CONTENT = b"".join(bytes([one]) * 16 for one in _END_BYTES)
_END_FRAME = b"\x28\xb5\x2f\xfd\x20\x80" + b"".join(
    (16 << 3 | 1 << 1 | (one == _END_BYTES[-1])).to_bytes(3, "little") + bytes([one])
    for one in _END_BYTES
)
"""SOURCE: RFC 8878, 3.1.1: a frame of 128 bytes, in blocks that repeat a byte 16 times."""


def packing_of(begin: bytes) -> Packing:
    """The packing of a file, by its first bytes."""
    if begin.startswith(_SKIPPED_FRAMES):
        return Packing.ZSTD
    return next((one for sign, one in _BEGINS.items() if begin.startswith(sign)), Packing.PLAIN)


@dataclass(frozen=True, slots=True)
class LayerBlob:
    """A part of a file that holds a layer. `digest` is its unpacked content's in the image's
    configuration ("sha256:..."), "" where there is none."""

    name: str
    path: Path
    offset: int
    size: int
    packing: Packing
    digest: str = ""


class LayerStream:
    """A layer as a file. Methods raise one of DAMAGE, ValueError beyond a limit."""

    def __init__(
        self, raw: BinaryIO, blob: LayerBlob, is_over: Callable[[], bool] = lambda: False
    ) -> None:
        self._part = ImagePart(raw, blob.offset, blob.size)
        self._packing, self._is_over = blob.packing, is_over
        self._file: Any = self._part
        if blob.packing is Packing.GZIP:
            self._file = _GzipStream(self._part)
        elif blob.packing is Packing.ZSTD:
            self._file = _ZstdStream(self._part)
        is_plain = blob.packing is Packing.PLAIN
        self._piece_bytes = _PLAIN_BYTES if is_plain else PIECE_BYTES
        # `_buffer` ends at the place `_end` of the layer; what lies before `_at` in it was read.
        self._buffer = b""
        self._at = self._end = self._n_header_bytes = 0
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
        buffer, at = self.window(size)
        found = buffer[at : at + size]
        self._at += len(found)
        return found

    def window(self, size: int) -> tuple[bytes, int]:
        """A buffer and the place in it of the next `size` bytes, fewer at the end of the layer."""
        while len(self._buffer) - self._at < size:
            piece = self._piece()
            if not piece:
                break
            self._buffer, self._at = self._buffer[self._at :] + piece, 0
        return self._buffer, self._at

    def _piece(self) -> bytes:
        """The bytes behind the buffer, none at the end of the layer."""
        if self._is_over():
            raise PassEndedError
        found: bytes = self._file.read(self._piece_bytes)
        self._end += len(found)
        if self._end > MOST_LAYER_BYTES:
            raise ValueError(f"more than {format_size(MOST_LAYER_BYTES)} in one layer")
        is_large = self._end > _UNSUSPECTED_BYTES and self._packing is not Packing.PLAIN
        if is_large and self._end > MOST_RATIO * max(1, self._part.n_read):
            raise ValueError(f"it unpacks to more than {MOST_RATIO} times its size")
        return found

    def tell(self) -> int:
        """The place in the unpacked layer."""
        return self._end - len(self._buffer) + self._at

    def seek(self, offset: int) -> None:
        """Go forward. Raises ValueError for a way back, which a damaged header asks for."""
        if offset < self.tell():
            raise ValueError("a member before the one that was read")
        if offset > self._end and self._packing is Packing.PLAIN:
            self._end = self._part.seek(offset)
            self._buffer, self._at = b"", 0
        while offset > self._end:
            self._buffer, self._at = self._piece(), 0
            if not self._buffer:
                return
        self._at = offset - (self._end - len(self._buffer))

    def arrive(self, offset: int) -> None:
        """As `seek`. Raises ReadError where the layer ends before."""
        if offset != self.tell():
            self.seek(offset - 1)
            if not self.read(1):
                raise tarfile.ReadError("unexpected end of data")


class _GzipStream:
    """The content of gzip members one after another."""

    def __init__(self, part: ImagePart) -> None:
        self._part = part
        self._packed = b""
        self._inflate: Any = None

    def read(self, size: int) -> bytes:
        """Up to `size` bytes, none at the end. Raises EOFError where the last member is cut."""
        while True:
            if self._inflate is None or self._inflate.eof:
                self._packed = self._begin(self._inflate.unused_data if self._inflate else b"")
                if not self._packed:
                    return b""
                self._inflate = isal_zlib.decompressobj(_GZIP_WINDOW)
            packed = self._packed or self._part.read(_PACKED_BYTES)
            found: bytes = self._inflate.decompress(packed, size)
            self._packed = self._inflate.unconsumed_tail
            if found:
                return found
            if not packed and not self._inflate.eof:
                raise EOFError("it ends in the middle of a block")

    def _begin(self, packed: bytes) -> bytes:
        """The next member with its whole header, which isal does not take in two parts."""
        packed = packed.lstrip(b"\0")
        while not _has_gzip_header(packed) and (more := self._part.read(_PACKED_BYTES)):
            packed = (packed + more).lstrip(b"\0")
            if len(packed) > MOST_HEADER_BYTES:
                raise ValueError(f"a gzip header of more than {format_size(MOST_HEADER_BYTES)}")
        return packed


class _ZstdStream:
    """The content of zstd frames one after another.

    zstandard takes a cut frame for a whole one, so a frame of our own follows the last one. A cut
    one takes its bytes for its own, and its content does not end as ours, which no file has.
    """

    def __init__(self, part: ImagePart) -> None:
        self._part, self._is_ended = part, False
        self._end, self._last = io.BytesIO(_END_FRAME), b""
        source = cast(Any, SimpleNamespace(read=self._packed))
        self._file = zstandard.ZstdDecompressor().stream_reader(
            source, _PACKED_BYTES, read_across_frames=True, closefd=False
        )

    def read(self, size: int) -> bytes:
        """Up to `size` bytes, none at the end. Raises EOFError where the last frame is cut."""
        while piece := self._piece(size):
            if not self._is_ended:
                return piece
            content = self._last + piece
            self._last = content[-len(_END_CONTENT) :]
            if len(content) > len(self._last):
                return content[: -len(self._last)]
        if self._last != _END_CONTENT:
            raise EOFError("it ends in the middle of a frame")
        return b""

    def _piece(self, size: int) -> bytes:
        try:
            return self._file.read(size)
        except zstandard.ZstdError:
            # What came before the end of the file was whole.
            if self._is_ended:
                return b""
            raise

    def _packed(self, size: int) -> bytes:
        found = self._part.read(size)
        if found:
            return found
        # By bytes: of a frame that comes at once, libzstd takes the header twice behind a cut one.
        self._is_ended = True
        return self._end.read(1)


def _has_gzip_header(packed: bytes) -> bool:
    """Whether the header of a gzip member is whole, or is none. SOURCE: RFC 1952, 2.3."""
    if len(packed) < 10:
        return False
    if not packed.startswith(b"\x1f\x8b"):
        return True
    flags, at = packed[3], 10
    if flags & 4:
        at += 2 + int.from_bytes(packed[at : at + 2], "little")
    for flag in (8, 16):
        if flags & flag:
            at = packed.find(b"\0", at) + 1
            if not at:
                return False
    return len(packed) >= at + (flags & 2)
