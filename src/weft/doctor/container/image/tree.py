"""Trees of files: a folder of this machine, read without following a link out of it."""

import errno
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import BinaryIO, Protocol

_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC


def open_regular(path: Path, *, follow: bool = False) -> BinaryIO:
    """A regular file, open without waiting. Raises OSError on anything else; without `follow` on a
    link, too: where it leads is not what the image says."""
    number = os.open(path, _FLAGS | (0 if follow else os.O_NOFOLLOW))
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise OSError(errno.EINVAL, "no regular file", str(path))
    return os.fdopen(number, "rb")


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
    mode: int = 0o755


FOLDER_NODE = FileNode(NodeKind.FOLDER)


class Tree(Protocol):
    """Files by their path from the tree's own root: absolute, and without links or `..`."""

    name: str

    def node(self, path: str) -> FileNode | None:
        """The entry itself: a link is not followed."""
        ...

    def names(self, path: str) -> Sequence[str]:
        """The names in a folder, sorted."""
        ...

    def entries(self, path: str) -> Sequence[tuple[str, bool]]:
        """The names in a folder, and whether each is a folder itself."""
        ...

    def local(self, path: str) -> Path:
        """A file of this machine with the content. Raises OSError where there is none."""
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
        self._node = cache(self._look)

    def node(self, path: str) -> FileNode | None:
        """As Tree.node. An entry that this user may not see is not there."""
        return self._node(path)

    def _look(self, path: str) -> FileNode | None:
        try:
            status = os.lstat(f"{self._root}{path}")
            target = os.readlink(f"{self._root}{path}") if stat.S_ISLNK(status.st_mode) else ""
        except (OSError, ValueError):
            return None
        kind = next((kind for test, kind in _KINDS if test(status.st_mode)), NodeKind.OTHER)
        identity = (status.st_dev, status.st_ino)
        return FileNode(kind, target, identity, stat.S_IMODE(status.st_mode))

    def names(self, path: str) -> Sequence[str]:
        """As Tree.names; a folder that this user may not read is empty."""
        try:
            return sorted(os.listdir(f"{self._root}{path}"))
        except OSError:
            return ()

    def entries(self, path: str) -> Sequence[tuple[str, bool]]:
        """As Tree.entries, without looking at each entry of its own."""
        try:
            with os.scandir(f"{self._root}{path}") as found:
                return sorted((one.name, one.is_dir(follow_symlinks=False)) for one in found)
        except OSError:
            return ()

    def local(self, path: str) -> Path:
        """As Tree.local."""
        return Path(f"{self._root}{path}")
