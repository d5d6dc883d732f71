"""A disk that fails at the n-th change of a directory, in this process.

A change is what the interpreter announces (PEP 578) before it opens a file to write, makes, renames
or links one below the directory, and each write() and fsync() to one. The same faults on real file
systems are in test_real_disks.py.
"""

import errno
import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_CHANGES = ("open", "os.mkdir", "os.rename", "os.link")
_REMOVALS = ("os.remove", "os.rmdir")
_TARGET = {"os.rename": 1, "os.link": 1}
"""The argument that names the new file, where it is not the first."""

ELSEWHERE, THEIRS = "elsewhere", "theirs.txt"


@dataclass(slots=True)
class Disk:
    """Counts the changes below `folder`, and from the n-th on is as `fault` says; one that loses a
    directory is about RUN in it. With `n` of 0 it only counts, into the file `log`."""

    folder: Path
    fault: str = ""
    n: int = 0
    log: Path | None = None
    n_changes: int = 0
    is_quiet: bool = False
    _write: Callable[..., int] = field(default=os.write)
    _fsync: Callable[..., None] = field(default=os.fsync)

    def install(self) -> None:
        """For the remaining life of this process."""
        os.write = self._written  # type: ignore[assignment]
        os.fsync = self._synced  # type: ignore[assignment]
        sys.addaudithook(self._heard)

    def _heard(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.is_quiet or not self._is_change(event, arguments):
            return
        if event not in _REMOVALS:
            self._change()
        elif self.fault == "read-only" and self.n_changes >= self.n > 0:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    def _is_change(self, event: str, arguments: tuple[Any, ...]) -> bool:
        if event not in (*_CHANGES, *_REMOVALS):
            return False
        if event == "open" and not (isinstance(arguments[2], int) and arguments[2] & _WRITING):
            return False
        path = arguments[_TARGET.get(event, 0)]
        if isinstance(path, int):
            return False
        # A name alone is below the descriptor of the directory, which Python does not announce.
        is_name = os.sep not in os.fsdecode(path)
        whole = os.path.abspath(os.fsdecode(path)) + "/"
        return is_name or whole.startswith(f"{self.folder}/")

    def _is_below(self, fd: int) -> bool:
        return os.readlink(f"/proc/self/fd/{fd}").startswith(f"{self.folder}/")

    def _written(self, fd: int, payload: bytes) -> int:
        if self._is_below(fd):
            try:
                self._change()
            except OSError:
                # A disk that fills up takes a part of the last write.
                self._write(fd, payload[: len(payload) // 2])
                raise
        return self._write(fd, payload)

    def _synced(self, fd: int) -> None:
        if self._is_below(fd):
            self._change()
        self._fsync(fd)

    def _change(self) -> None:
        self.n_changes += 1
        if self.log is not None:
            self.is_quiet = True
            self.log.write_text(str(self.n_changes))
            self.is_quiet = False
        if self.n and (self.n_changes == self.n or (self.n_changes > self.n and self._stays)):
            self._fail()

    @property
    def _stays(self) -> bool:
        return self.fault in ("full", "quota", "read-only")

    def _fail(self) -> None:
        codes = {
            "full": errno.ENOSPC,
            "quota": errno.EDQUOT,
            "read-only": errno.EROFS,
            "broken": errno.EIO,
            "denied": errno.EACCES,
        }
        if self.fault in codes:
            raise OSError(codes[self.fault], os.strerror(codes[self.fault]))
        self.is_quiet = True
        # An import grows under a hidden name.
        hidden = sorted(self.folder.glob(".RUN.*"))
        lost(hidden[0] if hidden else self.folder / "RUN", self.fault)
        self.is_quiet = False


FAULTS = (
    *("full", "quota", "read-only", "broken", "denied"),
    *("killed", "removed", "moved", "replaced", "samples removed"),
)


def lost(folder: Path, fault: str) -> None:
    """Take a directory away from who writes into it, where it is there; or kill this process."""
    if fault == "killed":
        os._exit(9)
    if fault == "samples removed":
        shutil.rmtree(folder / "samples", ignore_errors=True)
    elif folder.is_dir():
        if fault == "removed":
            shutil.rmtree(folder)
            return
        folder.rename(folder.with_name(ELSEWHERE))
        if fault == "replaced":
            folder.mkdir()
            (folder / THEIRS).write_text("not weft's\n")
