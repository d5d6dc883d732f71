"""A part of a regular file, itself read as a file."""

import io
import os
from typing import BinaryIO


class ImagePart(io.RawIOBase):
    """`size` bytes of an open file from `offset` on. It leaves the place of the file alone.

    `n_read`: bytes read through it so far. `is_owner`: closing it closes the file."""

    def __init__(self, raw: BinaryIO, offset: int, size: int, *, is_owner: bool = False) -> None:
        self._raw, self._offset, self._is_owner = raw, offset, is_owner
        self._at, self.n_read = 0, 0
        self.size = size

    def read_at(self, position: int, size: int) -> bytes:
        """Bytes at a position, fewer at the end of the part. Raises OSError."""
        size = min(size, self.size - position)
        if position < 0 or size <= 0:
            return b""
        found = os.pread(self._raw.fileno(), size, self._offset + position)
        self.n_read += len(found)
        return found

    def part(self, offset: int, size: int) -> "ImagePart":
        """A part of this part."""
        return ImagePart(self._raw, self._offset + offset, size)

    def close(self) -> None:
        """As RawIOBase."""
        if self._is_owner:
            self._raw.close()
        super().close()

    def readable(self) -> bool:
        """Always."""
        return True

    def seekable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: "memoryview | bytearray") -> int:  # type: ignore[override]
        """As RawIOBase."""
        found = self.read_at(self._at, len(buffer))
        buffer[: len(found)] = found
        self._at += len(found)
        return len(found)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """As RawIOBase."""
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self.size}[whence]
        self._at = max(0, start + offset)
        return self._at

    def tell(self) -> int:
        """As RawIOBase."""
        return self._at
