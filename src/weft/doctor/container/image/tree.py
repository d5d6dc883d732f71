"""Trees of files: a folder of this machine, read without following a link out of it."""

import errno
import os
import stat
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO, Protocol

from weft.core.errors import InputError

MOST_TARGET_BYTES = 4096
"""SOURCE: Linux, include/uapi/linux/limits.h: PATH_MAX, of the target of a link, too."""
MOST_DEPTH = 256
"""Folders below folders: chosen below what Python can follow."""
_MOST_KEPT = 1 << 15
"""Looks at entries that are kept, and folders that are named as denied."""
_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC


def open_regular(path: Path, *, follow: bool = False) -> BinaryIO:
    """A regular file, open without waiting. Raises OSError on anything else; without `follow` on a
    link, too: where it leads is not what the image says."""
    number = os.open(path, _FLAGS | (0 if follow else os.O_NOFOLLOW))
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise OSError(errno.EINVAL, "no regular file", str(path))
    return os.fdopen(number, "rb")


class DamagedImageError(InputError):
    """An image that is damaged where it is read, or of a form that weft does not read."""


class NodeKind(StrEnum):
    """The kind of an entry."""

    FILE = "file"
    FOLDER = "folder"
    LINK = "link"
    DEVICE = "device"
    OTHER = "pipe or socket"


@dataclass(frozen=True, slots=True)
class FileNode:
    """An entry of a tree. `target` is a link's; two names of one file have one `identity`."""

    kind: NodeKind
    target: str = ""
    identity: object = None


FOLDER_NODE = FileNode(NodeKind.FOLDER)


class Tree(Protocol):
    """Files by their path from the tree's own root: absolute, and without links or `..`."""

    name: str

    @property
    def denied(self) -> Collection[str]:
        """Paths asked for that this user may not look at: they are there or not."""
        ...

    @property
    def unlisted(self) -> Collection[str]:
        """Folders asked for whose names this user may not read."""
        ...

    def node(self, path: str) -> FileNode | None:
        """The entry itself: a link is not followed."""
        ...

    def names(self, path: str) -> Sequence[str]:
        """The names in a folder, sorted."""
        ...

    def entries(self, path: str) -> Sequence[tuple[str, bool]]:
        """The names in a folder, and whether each is a folder itself."""
        ...

    def reader(self, path: str) -> BinaryIO:
        """The content of a regular file, which the caller closes; it can seek. Raises OSError
        where there is none, DamagedImageError where the image is damaged."""
        ...


_KINDS = (
    (stat.S_ISREG, NodeKind.FILE),
    (stat.S_ISDIR, NodeKind.FOLDER),
    (stat.S_ISLNK, NodeKind.LINK),
    (stat.S_ISCHR, NodeKind.DEVICE),
    (stat.S_ISBLK, NodeKind.DEVICE),
)


class FolderTree:
    """A folder of this machine as the root of a file system: also /proc/PID/root."""

    def __init__(self, root: Path) -> None:
        self.name = str(root)
        # The last link of /proc/PID/root is of the kernel's own kind: only a slash follows it.
        self._root = str(root).rstrip("/")
        self._node = lru_cache(_MOST_KEPT)(self._look)
        self.denied: dict[str, None] = {}
        self.unlisted: dict[str, None] = {}

    def node(self, path: str) -> FileNode | None:
        """As Tree.node. An entry that this user may not see counts as absent, and is `denied`."""
        return self._node(path)

    def _look(self, path: str) -> FileNode | None:
        try:
            status = os.lstat(f"{self._root}{path}")
            target = os.readlink(f"{self._root}{path}") if stat.S_ISLNK(status.st_mode) else ""
        except PermissionError:
            _note(path, self.denied)
            return None
        except (OSError, ValueError):
            return None
        kind = next((kind for test, kind in _KINDS if test(status.st_mode)), NodeKind.OTHER)
        identity = (status.st_dev, status.st_ino)
        return FileNode(kind, target, identity)

    def names(self, path: str) -> Sequence[str]:
        """As Tree.names; a folder that this user may not read is empty, and `unlisted`."""
        return [name for name, _ in self.entries(path)]

    def entries(self, path: str) -> Sequence[tuple[str, bool]]:
        """As Tree.entries, without looking at each entry of its own."""
        try:
            with os.scandir(f"{self._root}{path}") as found:
                return sorted((one.name, one.is_dir(follow_symlinks=False)) for one in found)
        except PermissionError:
            _note(path, self.unlisted)
        except (OSError, ValueError):
            pass
        return ()

    def reader(self, path: str) -> BinaryIO:
        """As Tree.reader."""
        return open_regular(Path(f"{self._root}{path}"))


def _note(path: str, paths: dict[str, None]) -> None:
    if len(paths) < _MOST_KEPT:
        paths[path] = None
