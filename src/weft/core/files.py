"""Files that are written whole or not at all, and the directory that holds them."""

import contextlib
import errno
import os
import platform
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import IO

from weft.core.errors import StorageError

_NO_HARD_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS)
"""SOURCE: link(2): what file systems without hard links answer."""
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL
_PROBE_BYTES = 4096
"""A block of most file systems: a disk that is full to the last byte refuses it."""


def storage_error(
    what: str, where: Path, error: OSError, *, hint: str | None = None
) -> StorageError:
    """The error of a disk that refuses; `what` is what was written."""
    return StorageError(
        f"{what} cannot be written ({error.strerror or error})",
        where=str(where),
        expected="a directory with free space that you may write to",
        hint=hint,
    )


def write_whole(
    out: Path,
    content: str | bytes,
    *,
    what: str,
    hint: str | None = "name another with -o FILE",
) -> None:
    """Write a file, whole or not at all; `what` is what it holds. Processes of hosts that share the
    directory may write at once: the last one stays. Of a link the file that it leads to is written.
    A device or a pipe (/dev/stdout) cannot be replaced, and is written into.

    Raises StorageError on a disk that refuses.
    """
    payload = _bytes_of(content)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        if out.exists() and not out.is_file():
            out.write_bytes(payload)
        else:
            _placed(Path(os.path.realpath(out)), [payload], _replaced)
    except OSError as error:
        raise storage_error(f"the {what}", out, error, hint=hint) from error


def write_part(
    out: Path, content: str | bytes | Iterable[bytes], *, what: str, hint: str | None = None
) -> None:
    """Write a file whose name weft chose, whole or not at all, in a directory that must be there:
    one that was removed does not come back with this file alone. A link or a pipe at that name is
    replaced, not followed. Raises StorageError."""
    parts = [_bytes_of(content)] if isinstance(content, str | bytes) else content
    try:
        _placed(out, parts, _replaced)
    except OSError as error:
        raise storage_error(f"the {what}", out, error, hint=hint) from error


def _bytes_of(content: str | bytes) -> bytes:
    """Bytes of a file name that are not UTF-8 become '?': no document can hold them."""
    return content.encode(errors="replace") if isinstance(content, str) else content


def make_folder(folder: Path, *, what: str, mode: int = 0o777) -> None:
    """Make a directory, and those above it, where they are missing. Raises StorageError."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=mode)
    except OSError as error:
        raise storage_error(f"the {what}", folder, error) from error


def output_file(path: Path) -> IO[bytes]:
    """A new file for the output of a process, in the place of an older one or of a link. Raises
    StorageError."""
    try:
        path.unlink(missing_ok=True)
        return path.open("xb")
    except OSError as error:
        raise storage_error("the output of a command", path, error) from error


def write_new(out: Path, text: str) -> None:
    """Write a file that must not be there yet, whole or not at all; of several processes one
    succeeds, on any host. Raises FileExistsError, and OSError on a disk that refuses."""
    _placed(out, [_bytes_of(text)], _linked)


def is_partial(path: Path, of: str) -> bool:
    """Whether a file is what a killed process left of writing a file named `of`."""
    return path.name.startswith(f".{of}.")


_Place = Callable[[Path, Path, int | None], object]
"""Puts a whole file (the first path) at its name, both below the directory of a descriptor."""


def _placed(out: Path, parts: Iterable[bytes], place: _Place, directory: int | None = None) -> None:
    """INVARIANT: the bytes are on the disk before the name leads to them, so that after a loss of
    power the file is the old one or the new one."""
    partial = out.with_name(f".{out.name}.{platform.node()}-{os.getpid()}")
    # A link that somebody put there is not followed.
    _dropped(partial, directory)
    try:
        with os.fdopen(os.open(partial, _NEW, 0o666, dir_fd=directory), "wb") as file:
            for part in parts:
                file.write(part)
            file.flush()
            os.fsync(file.fileno())
        place(partial, out, directory)
    except BaseException:
        _dropped(partial, directory)
        raise


def _replaced(partial: Path, out: Path, directory: int | None) -> None:
    os.replace(partial, out, src_dir_fd=directory, dst_dir_fd=directory)


def _linked(partial: Path, out: Path, directory: int | None) -> None:
    try:
        os.link(partial, out, src_dir_fd=directory, dst_dir_fd=directory)
    except OSError as error:
        if error.errno not in _NO_HARD_LINKS:
            raise
        # The name is claimed first; a kill before the second call leaves an empty file.
        os.close(os.open(out, _NEW, 0o644, dir_fd=directory))
        _replaced(partial, out, directory)
    else:
        _dropped(partial, directory)


def _dropped(partial: Path, directory: int | None) -> None:
    with contextlib.suppress(OSError):
        os.unlink(partial, dir_fd=directory)


class HeldFolder:
    """A directory that this process writes into, held open: while it is, no other directory can
    have its inode, so that one in its place is noticed."""

    def __init__(self, path: Path) -> None:
        """Raises OSError."""
        self.path = path
        self._fd: int | None = os.open(path, os.O_RDONLY | os.O_DIRECTORY)

    def refuse_lost(self) -> None:
        """Raise StorageError where the path leads to another directory than at first, or to
        none."""
        if self._fd is None or self._is_at(self.path):
            return
        place = self._place()
        gone = StorageError(
            "this directory was removed or replaced by another"
            if place is None
            else f"this directory was moved to {place}",
            where=str(self.path),
            expected="the directory that the run began in",
        )
        gone.moved_to = place
        raise gone

    def refuse_full(self) -> None:
        """Raise StorageError where the directory is lost, or takes no file of a block more."""
        self.refuse_lost()
        probe = self.path / f".probe.{platform.node()}-{os.getpid()}"
        try:
            try:
                with probe.open("wb") as file:
                    file.write(bytes(_PROBE_BYTES))
                    file.flush()
                    os.fsync(file.fileno())
            finally:
                probe.unlink(missing_ok=True)
        except OSError as error:
            raise storage_error("a file", self.path, error) from error

    def write_part(
        self, name: str, content: str | bytes, *, what: str, hint: str | None = None
    ) -> None:
        """`write_part` of a file in this directory, wherever it is. Raises StorageError."""
        try:
            _placed(Path(name), [_bytes_of(content)], _replaced, self._fd)
        except OSError as error:
            raise storage_error(f"the {what}", self.path / name, error, hint=hint) from error

    def write_new(self, name: str, text: str) -> None:
        """`write_new` of a file in this directory. Raises FileExistsError, OSError."""
        _placed(Path(name), [_bytes_of(text)], _linked, self._fd)

    def make_folders(self, names: Iterable[str]) -> None:
        """Make directories in it where they are missing, and in no directory that has taken its
        place. Raises OSError."""
        for name in names:
            try:
                os.mkdir(name, dir_fd=self._fd)
            except FileExistsError:
                if not (self.path / name).is_dir():
                    raise

    def close(self) -> None:
        """Let go of it. Safe to call twice."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _is_at(self, path: Path) -> bool:
        assert self._fd is not None
        try:
            return os.path.samestat(os.stat(path), os.fstat(self._fd))
        except OSError:
            return False

    def _place(self) -> Path | None:
        """The path that leads to it now; None where it was removed, or that is not known."""
        with contextlib.suppress(OSError):
            place = Path(os.readlink(f"/proc/self/fd/{self._fd}"))
            return place if self._is_at(place) else None
        return None
