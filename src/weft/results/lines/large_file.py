"""The bytes of a file too large to hold, read piece by piece where they are asked for."""

import os
from typing import IO

from weft.core.errors import InputError

_WINDOW_BYTES = 1 << 20


class LargeFile:
    """As much of `bytes` as readers of logs need. A mapped file that somebody shortens ends the
    process that reads it (SIGBUS); here it raises InputError. Its length is that at the beginning.
    """

    def __init__(self, file: IO[bytes], name: str) -> None:
        self._file = file
        self._name = name
        self._size = os.fstat(file.fileno()).st_size
        self._window = b""
        self._at = 0

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, piece: slice) -> bytes:
        start, stop, _ = piece.indices(self._size)
        if stop <= start:
            return b""
        if self._at <= start and stop <= self._at + len(self._window):
            return self._window[start - self._at : stop - self._at]
        return self._read(start, stop)

    def find(self, mark: bytes, start: int = 0, stop: int | None = None) -> int:
        """As `bytes.find`, from a place that is not negative."""
        end = self._size if stop is None else min(stop, self._size)
        while start + len(mark) <= end:
            window = self._window_at(start, len(mark))
            found = window.find(mark, start - self._at, end - self._at)
            if found >= 0:
                return self._at + found
            # The mark may begin in this window and end in the next.
            start = self._at + len(window) - len(mark) + 1
            if self._at + len(window) >= end:
                break
        return -1

    def rfind(self, mark: bytes, start: int, stop: int) -> int:
        """As `bytes.rfind`, between two places that are not negative."""
        found = self[start:stop].rfind(mark)
        return found if found < 0 else start + found

    def _window_at(self, start: int, n_bytes: int) -> bytes:
        """A window that holds so many bytes from there, unless the file ends before."""
        if not self._at <= start <= self._at + len(self._window) - n_bytes:
            self._window = self._read(start, min(start + _WINDOW_BYTES, self._size))
            self._at = start
        return self._window

    def _read(self, start: int, stop: int) -> bytes:
        parts: list[bytes] = []
        while start < stop:
            part = os.pread(self._file.fileno(), stop - start, start)
            if not part:
                raise InputError(
                    "the file became shorter while it was read",
                    where=self._name,
                    expected="a file that is written to its end",
                )
            parts.append(part)
            start += len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)
