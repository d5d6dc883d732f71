"""Members of a tar in order. Headers as almost all layers have them are read where they lie in the
buffer; tarfile reads all others.

SOURCE: POSIX.1-2024, pax: ustar interchange format.
"""

import re
import tarfile
import zlib
from collections.abc import Iterator
from typing import Any, NamedTuple, cast

from weft.doctor.container.image.layer_stream import LayerStream

MOST_GLOBAL_HEADERS = 100
BLOCK_BYTES = 512
_PIECE_BYTES = 1 << 18
_DAMAGED_HEADERS = tuple(
    getattr(tarfile, name) for name in ("InvalidHeaderError", "TruncatedHeaderError")
)
_USUAL_HEADER = re.compile(
    rb"([^\0].{99})[0-7]{7}\0[0-7]{7}\0[0-7]{7}\0([0-7]{11})\0[0-7]{11}\0([0-7]{6})\0 ([0125])"
    rb"(.{100})ustar(?:\x0000|  \0).{64}(?:[0-7]{7}\0|\0{8}){2}(.{155}).{12}",
    re.DOTALL,
)
"""Name, size, sum, type, target, and prefix of a file, a link or a folder, its numbers in octal."""


class TarMember(NamedTuple):
    """`offset` and `content` are places in the archive; `content` is -1 of a file in pieces."""

    name: str
    type: bytes
    size: int
    linkname: str
    offset: int
    content: int

    @property
    def is_file(self) -> bool:
        """Whether it is a regular file."""
        return self.type in tarfile.REGULAR_TYPES


class _WholeMember(tarfile.TarInfo):
    """A member whose header is whole: tarfile takes a damaged one for the end of the archive."""

    @classmethod
    def fromtarfile(cls, tarfile_: tarfile.TarFile) -> "_WholeMember":
        """The next member. Raises ReadError for a damaged header."""
        try:
            found = super().fromtarfile(tarfile_)
        except _DAMAGED_HEADERS as error:
            raise tarfile.ReadError(f"header at {tarfile_.offset}: {error}") from error
        if found.size < 0:
            raise tarfile.ReadError(f"member '{found.name}' has {found.size} bytes")
        return found


class TarReader:
    """The members of a stream in order. Raises one of DAMAGE."""

    def __init__(self, stream: LayerStream) -> None:
        self._stream = stream
        self._file: Any = None
        """As tarfile reads, from the first unusual header on."""
        self._info: tarfile.TarInfo | None = None
        self._next = self._content_end = 0

    def __iter__(self) -> Iterator[TarMember]:
        while True:
            self._stream.arrive(self._content_end)
            self._stream.seek(self._next)
            # The bytes that fill the last member's block may be left out, and the end of the
            # archive: umoci 0.4.7 (insert) writes none. SOURCE: Go 1.19, archive/tar/reader.go.
            if self._stream.tell() < self._next:
                return
            found = self._usual() or self._unusual()
            if found is None:
                return
            yield found

    @property
    def end(self) -> int:
        """Where the next member begins, after the last one the blocks that end the archive."""
        return self._next

    def content(self, member: TarMember) -> Iterator[bytes]:
        """The content of the member that came last, in pieces."""
        if member.content < 0 and self._info is not None:
            source = self._file.extractfile(self._info)
            yield from iter(lambda: source.read(_PIECE_BYTES), b"")
            return
        self._stream.seek(member.content)
        left = member.size
        while left:
            piece = self._stream.read(min(_PIECE_BYTES, left))
            if not piece:
                raise tarfile.ReadError("unexpected end of data")
            left -= len(piece)
            yield piece

    def _usual(self) -> TarMember | None:
        """The member at this place, None for one that tarfile reads."""
        if self._file is not None and self._file.pax_headers:
            return None
        buffer, at = self._stream.window(BLOCK_BYTES)
        found = _USUAL_HEADER.match(buffer, at)
        if found is None:
            return None
        raw_name, size, checksum, kind, target, prefix = found.groups()
        if _sum(buffer, at) != int(checksum, 8):
            return None
        name = _text(raw_name)
        if kind == tarfile.DIRTYPE:
            name = name.rstrip("/")
        if prefix[0]:
            name = f"{_text(prefix)}/{name}"
        begin, n_bytes, self._info = self._next, int(size, 8), None
        content = self._next = self._content_end = begin + BLOCK_BYTES
        if kind == tarfile.REGTYPE:
            self._next += -(-n_bytes // BLOCK_BYTES) * BLOCK_BYTES
            self._content_end += n_bytes
        linkname = _text(target) if target[0] else ""
        return TarMember(name, kind, n_bytes, linkname, begin, content)

    def _unusual(self) -> TarMember | None:
        """The member at this place as tarfile reads it, None at the end."""
        with self._stream.header():
            if self._file is None:
                # It reads the first header itself.
                self._file = tarfile.TarFile(fileobj=cast(Any, self._stream), tarinfo=_WholeMember)
                found, self._file.firstmember = self._file.firstmember, None
            else:
                self._file.offset = self._next
                found = self._file.next()
        if found is None:
            return None
        if len(self._file.pax_headers) > MOST_GLOBAL_HEADERS:
            raise ValueError(f"more than {MOST_GLOBAL_HEADERS} global headers")
        # An archive of a million members would keep all of them.
        self._file.members = []
        self._next = self._content_end = self._file.offset
        self._info = found
        content = -1 if found.issparse() else found.offset_data
        if found.isreg() and content >= 0:
            self._content_end = content + found.size
        return TarMember(found.name, found.type, found.size, found.linkname, found.offset, content)


def _text(field: bytes) -> str:
    return field.partition(b"\0")[0].decode(tarfile.ENCODING, "surrogateescape")


def _sum(buffer: bytes, at: int) -> int:
    """The sum of the bytes of a header at a place, its own field as spaces.

    INVARIANT: Adler-32 has 1 + the sum of bytes, modulo 65,521, which 256 bytes do not reach.
    """
    low = zlib.adler32(buffer[at : at + 256]) & 0xFFFF
    high = zlib.adler32(buffer[at + 256 : at + BLOCK_BYTES]) & 0xFFFF
    return low + high - 2 - sum(buffer[at + 148 : at + 156]) + 8 * 0x20
