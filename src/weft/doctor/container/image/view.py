"""The files that a process of a container sees: the image, with mounts over it."""

import errno
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import BinaryIO

from weft.doctor.container.image.tree import (
    FOLDER_NODE,
    MOST_TARGET_BYTES,
    FileNode,
    NodeKind,
    Tree,
)
from weft.doctor.container.loader.elf import ElfError, ElfFacts, read_elf

MOST_LINKS = 40
"""SOURCE: Linux, include/linux/namei.h: MAXSYMLINKS."""
_NOT_WALKED = ("/proc", "/sys", "/dev", "/run", "/tmp", "/var/tmp")  # noqa: S108 (no file is made)
"""Folders of the kernel and of other programs: a mount below them is walked as such."""
MOST_WALKED = 1_000_000
"""Folders and files of one search by name: an image of NGC has 200,000."""
_MOST_KEPT = 1 << 15
"""Paths that are kept with what they lead to, found or not."""


@dataclass(frozen=True, slots=True)
class Located:
    """A path without links, its entry, and the tree and the path there that hold it."""

    path: str
    node: FileNode
    tree: Tree | None = None
    inner: str = ""
    origin: str = ""
    """The mount that brings it, "" for the image's own."""

    def reader(self) -> BinaryIO:
        """The content, as Tree.reader. Raises OSError for a folder that only mounts make."""
        if self.tree is None:
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), self.path)
        return self.tree.reader(self.inner)


@dataclass(frozen=True, slots=True)
class _Placed:
    """A mount whose two ends are paths without links."""

    target: str
    tree: Tree
    inner: str
    origin: str


@dataclass
class View:
    """A root file system with mounts, later ones over earlier ones. Links stay inside the root."""

    root: Tree
    _mounts: list[_Placed] = field(default_factory=list)
    _facts: dict[object, ElfFacts | ElfError] = field(default_factory=dict)
    _cut: dict[str, None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._found = lru_cache(_MOST_KEPT)(self._resolved)

    def mount(self, tree: Tree, source: str, target: str, origin: str) -> bool:
        """Put a path of another tree at a path here; False if the source is not there."""
        found = View(tree).resolve(source)
        if found is None:
            return False
        self._mounts.append(_Placed(self.settled(target), tree, found.path, origin))
        self._found.cache_clear()
        return True

    def settled(self, path: str) -> str:
        """The path with the links of its existing part followed."""
        left = [one for one in path.split("/") if one not in ("", ".")]
        for number in range(len(left), -1, -1):
            found = self.resolve("/" + "/".join(left[:number]))
            if found is not None:
                return _joined(found.path, left[number:])
        return _joined("/", left)

    def node(self, path: str) -> Located | None:
        """The entry of a path without links, itself a link or not."""
        mount = None
        for one in self._mounts:
            is_under = path == one.target or path.startswith(one.target.rstrip("/") + "/")
            if is_under and (mount is None or len(one.target) >= len(mount.target)):
                mount = one
        tree, inner, origin = self.root, path, ""
        if mount is not None:
            tree, origin = mount.tree, mount.origin
            inner = _joined(mount.inner, path[len(mount.target) :].split("/"))
        found = tree.node(inner)
        if found is not None:
            return Located(path, found, tree, inner, origin)
        below = path.rstrip("/") + "/"
        if path == "/" or any(one.target.startswith(below) for one in self._mounts):
            return Located(path, FOLDER_NODE)
        return None

    def resolve(self, path: str) -> Located | None:
        """The entry that a path leads to, links followed as inside a chroot; None without one."""
        return self._found(path) if len(path) <= MOST_TARGET_BYTES else None

    def _resolved(self, path: str) -> Located | None:
        if "\0" in path:
            return None
        here = self.node("/")
        left = path.split("/")[::-1]
        n_links = 0
        while left and here is not None:
            part = left.pop()
            if part in ("", "."):
                continue
            if here.node.kind is not NodeKind.FOLDER:
                return None
            if part == "..":
                here = self.node(os.path.dirname(here.path))
                continue
            found = self.node(_joined(here.path, [part]))
            if found is None or found.node.kind is not NodeKind.LINK:
                here = found
                continue
            n_links += 1
            if n_links > MOST_LINKS:
                return None
            if found.node.target.startswith("/"):
                here = self.node("/")
            left += found.node.target.split("/")[::-1]
        return here

    def names(self, path: str) -> list[str]:
        """The names in a folder, those of mounts too, sorted."""
        found = self.resolve(path)
        if found is None:
            return []
        own = set(found.tree.names(found.inner)) if found.tree is not None else set()
        below = found.path.rstrip("/") + "/"
        for one in self._mounts:
            if one.target.startswith(below):
                own.add(one.target[len(below) :].partition("/")[0])
        return sorted(own)

    def facts(self, found: Located) -> ElfFacts:
        """The facts of a library. Raises ElfError where ld.so would end."""
        key = found.node.identity or (found.tree and found.tree.name, found.inner)
        if key not in self._facts:
            self._facts[key] = _read(found)
        facts = self._facts[key]
        if isinstance(facts, ElfError):
            raise facts
        return facts

    def content(self, path: str, most_bytes: int) -> bytes:
        """The first bytes of a regular file, none where there is none."""
        found = self.resolve(path)
        if found is None or found.node.kind is not NodeKind.FILE:
            return b""
        try:
            with found.reader() as file:
                return file.read(most_bytes)
        except OSError:
            return b""

    def walk(self, top: str, wanted: Sequence[str]) -> Iterator[Located]:
        """Files below a folder whose names begin with one of `wanted`, links to folders not
        followed; of more than MOST_WALKED entries, the top is `unlisted`."""
        left, n_seen = [top], 0
        while left:
            folder = left.pop()
            for name, is_folder in self._entries(folder):
                n_seen += 1
                if n_seen > MOST_WALKED:
                    self._cut[top] = None
                    return
                path = _joined(folder, [name])
                if is_folder and path not in _NOT_WALKED:
                    left.append(path)
                elif not is_folder and name.startswith(tuple(wanted)):
                    found = self.node(path)
                    if found is not None:
                        yield found

    @property
    def denied(self) -> list[str]:
        """Paths looked at that this user may not see, in the tree that holds them."""
        return list(dict.fromkeys(path for tree in self._trees for path in tree.denied))

    @property
    def unlisted(self) -> list[str]:
        """Folders, in words, of whose files only a part was seen."""
        closed = [
            f"{path}, which this user may not list"
            for tree in self._trees
            for path in tree.unlisted
        ]
        cut = [f"{path}, of which weft looked at {MOST_WALKED:,} entries" for path in self._cut]
        return list(dict.fromkeys((*closed, *cut)))

    @property
    def unseen(self) -> list[str]:
        """All that was not seen whole, in words."""
        return [*self.unlisted, *(f"{one}, which this user may not look at" for one in self.denied)]

    @property
    def _trees(self) -> list[Tree]:
        return list({id(one): one for one in (self.root, *(x.tree for x in self._mounts))}.values())

    def _entries(self, folder: str) -> list[tuple[str, bool]]:
        """The names in a folder without links, those of mounts too."""
        found = self.node(folder)
        own = dict(found.tree.entries(found.inner) if found and found.tree is not None else ())
        below = folder.rstrip("/") + "/"
        for one in self._mounts:
            if one.target.startswith(below):
                name, slash, _ = one.target[len(below) :].partition("/")
                placed = self.node(below + name)
                is_folder = placed is not None and placed.node.kind is NodeKind.FOLDER
                own[name] = bool(slash) or is_folder
        return sorted(own.items())


def _read(found: Located) -> ElfFacts | ElfError:
    if found.node.kind is NodeKind.FOLDER:
        return ElfError("cannot read file data: Is a directory")
    try:
        with found.reader() as file:
            return read_elf(file, found.path)
    except ElfError as error:
        return error
    except OSError as error:
        return ElfError(f"cannot open shared object file: {error.strerror}")


def _joined(folder: str, parts: Sequence[str]) -> str:
    whole = "/".join((folder.rstrip("/"), *(one for one in parts if one)))
    return whole or "/"
