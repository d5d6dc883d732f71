"""Layers of an image merged into one tree; of the content only what a loader asks for is read.

SOURCE: opencontainers/image-spec, layer.md: change sets, whiteouts, opaque whiteouts.
"""

import os
import re
import tarfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO

from weft.doctor.container.image.layer_files import WHITEOUT, LayerFiles
from weft.doctor.container.image.layer_stream import LayerBlob
from weft.doctor.container.image.ordered_passes import OrderedPasses
from weft.doctor.container.image.tar_members import TarMember
from weft.doctor.container.image.tree import (
    FOLDER_NODE,
    MOST_DEPTH,
    MOST_TARGET_BYTES,
    DamagedImageError,
    FileNode,
    NodeKind,
)
from weft.doctor.container.image.view import MOST_LINKS

MOST_MEMBERS = 4_000_000
"""Of all layers together."""
MOST_ENTRIES = 500_000
"""Folders, links and files that matter, which are kept in memory: 420 bytes each, 210 MB for all
(measured). A Debian machine with 180,000 files has 43,000 of them."""
_MOST_FOLDERS = 1 << 12
_OPAQUE = ".wh..wh..opq"
_MATTERS = re.compile(
    r"\.so(\.|$)|/ld-[^/]*$|^/etc/(?:ld\.so|nccl\.conf|environment|libibverbs\.d/)"
    r"|^/\.singularity\.d/env/|\.driver$"
)
_BEGINS, _DRIVER = ("/etc/", "/.singularity.d/env/"), ".driver"
"""Of paths that match, so that most others are not searched."""
_KINDS = {tarfile.SYMTYPE: NodeKind.LINK, tarfile.DIRTYPE: NodeKind.FOLDER}
_DEVICES = (tarfile.CHRTYPE, tarfile.BLKTYPE)


@dataclass(frozen=True, slots=True)
class _Entry:
    """`member` and `content` are places in the unpacked layer; `content` is -1 for a file that is
    in pieces."""

    node: FileNode
    layer: int = -1
    member: int = 0
    content: int = -1
    size: int = 0


class LayerTree:
    """A tree of layers, the lowest first. Files are unpacked into `folder`, which is the caller's
    own. Raises DamagedImageError for a member that is wrong, with its name."""

    denied = unlisted = ()

    def __init__(self, name: str, layers: Sequence[LayerBlob], folder: Path) -> None:
        self.name = name
        self._files = LayerFiles(name, layers, folder)
        self._entries: dict[str, _Entry] = {}
        self._below: dict[str, set[str]] = {}
        self._n_members = 0
        self._libraries: dict[str, str] = {}
        """By the path of a file: a path that matters and is a hard link to it."""
        self._missing: tuple[int, str] | None = None
        self._folders: dict[str, str] = {}
        """By the folder of a member's name, with links followed: until a link comes or goes."""
        self._merge()

    def node(self, path: str) -> FileNode | None:
        """As Tree.node."""
        found = self._entries.get(path)
        return None if found is None else found.node

    def names(self, path: str) -> Sequence[str]:
        """As Tree.names."""
        return sorted(self._below.get(path, ()))

    def entries(self, path: str) -> Sequence[tuple[str, bool]]:
        """As Tree.entries."""
        inside = path.rstrip("/")
        return [(name, f"{inside}/{name}" in self._below) for name in self.names(path)]

    def reader(self, path: str) -> BinaryIO:
        """As Tree.reader: in place in a plain layer, else unpacked for it."""
        found = self._entries.get(path)
        if found is None or found.node.kind is not NodeKind.FILE:
            raise FileNotFoundError(path)
        return self._files.reader(found.layer, found.member, found.content, found.size)

    def _merge(self) -> None:
        """Apply all layers, and again while a library is a hard link to a file that was not kept,
        for only a hard link tells that it matters. INVARIANT: `_libraries` only grows."""
        for _ in range(MOST_LINKS + 1):
            self._entries, self._below = {"/": _Entry(FOLDER_NODE)}, {"/": set()}
            self._n_members, self._missing, n_known = 0, None, len(self._libraries)
            self._folders.clear()
            self._pass()
            if self._missing is None:
                if not self._follow_links():
                    return
                continue
            index, what = self._missing
            if len(self._libraries) == n_known:
                raise self._files.refusal(index, f"{what}, which no layer has")
        last = next(reversed(self._libraries.values()))
        what = f"more than {MOST_LINKS} hard links lead from '{last}' to its file"
        raise DamagedImageError(what, where=self.name)

    def _follow_links(self) -> bool:
        """Whether a library is a link to a file that no pass kept, for its name tells nothing. It
        may be absent, too: then the next pass changes nothing."""
        n_known = len(self._libraries)
        for path, entry in self._entries.items():
            if entry.node.kind is not NodeKind.LINK or not _matters(path):
                continue
            target = self._settled(path)
            if target not in self._entries and not _matters(target):
                self._libraries.setdefault(target, path)
                self._limit(len(self._libraries))
        return len(self._libraries) > n_known

    def _pass(self) -> None:
        indices = range(len(self._files.layers))
        library = self._library
        passes = OrderedPasses([partial(self._files.passing, one, library) for one in indices])
        try:
            for index in indices:
                self._apply(index, passes.items(index))
        finally:
            passes.close()

    def _library(self, name: str) -> str:
        """The path of a library or another file that matters by a member's name, "" else; links
        on the way to it are not followed."""
        path = "/" + name.removeprefix("./").lstrip("/")
        path = self._libraries.get(path, path)
        return path if _matters(path) else ""

    def _apply(self, index: int, members: Iterable[TarMember]) -> None:
        added: set[str] = set()
        for member in members:
            self._n_members += 1
            if self._n_members > MOST_MEMBERS:
                what = f"more than {MOST_MEMBERS:,} members in all layers"
                raise self._files.refusal(index, what)
            self._add(index, member, added)

    def _add(self, index: int, member: TarMember, added: set[str]) -> None:
        path = self._place(index, member.name)
        folder, _, name = path.rpartition("/")
        folder = folder or "/"
        if path == "/" and member.type != tarfile.DIRTYPE:
            raise self._files.refusal(index, f"member '{member.name}' is the root, and no folder")
        if name == _OPAQUE:
            for one in list(self._below.get(folder, ())):
                self._drop(f"{folder.rstrip('/')}/{one}", added)
        elif name.startswith(WHITEOUT):
            self._drop(f"{folder.rstrip('/')}/{name.removeprefix(WHITEOUT)}", added)
        elif member.type == tarfile.LNKTYPE:
            self._link(index, path, member, added)
        else:
            library = self._libraries.get(path, path)
            self._put(path, self._entry(index, library, member), added)
            self._files.take_early(index, member)

    def _link(self, index: int, path: str, member: TarMember, added: set[str]) -> None:
        """A hard link; one to a symbolic link is that link, as link(2) makes it."""
        place = self._place(index, member.linkname)
        target = self._entries.get(place)
        is_folder = target is not None and target.node.kind is NodeKind.FOLDER
        library = self._libraries.get(path, path)
        if (target is None or is_folder) and _matters(library):
            what = f"member '{member.name}' is a hard link to '{member.linkname}'"
            if is_folder:
                raise self._files.refusal(index, f"{what}, which no layer has")
            self._missing = self._missing or (index, what)
            self._libraries.setdefault(place, library)
            self._limit(len(self._libraries))
        if not is_folder:
            self._put(path, target, added)

    def _entry(self, index: int, path: str, member: TarMember) -> _Entry | None:
        """None for a file that does not matter, which only replaces another one."""
        if member.is_file:
            if not _matters(path):
                return None
            node = FileNode(NodeKind.FILE, identity=(self.name, index, member.offset))
            return _Entry(node, index, member.offset, member.content, member.size)
        if member.type in _KINDS:
            kind = _KINDS[member.type]
            return _Entry(FileNode(kind, member.linkname if kind is NodeKind.LINK else ""))
        kind = NodeKind.DEVICE if member.type in _DEVICES else NodeKind.OTHER
        return _Entry(FileNode(kind))

    def _put(self, path: str, entry: _Entry | None, added: set[str]) -> None:
        before = self._entries.get(path)
        is_folder = entry is not None and entry.node.kind is NodeKind.FOLDER
        if before is not None and not (is_folder and before.node.kind is NodeKind.FOLDER):
            self._drop(path, set())
        if entry is None or path == "/":
            return
        self._make_folders(path)
        self._entries[path] = entry
        if entry.node.kind is NodeKind.LINK:
            self._folders.clear()
        self._limit(len(self._entries))
        if is_folder:
            self._below.setdefault(path, set())
        while path and path not in added:
            added.add(path)
            path = path.rpartition("/")[0]

    def _limit(self, n_entries: int) -> None:
        if n_entries > MOST_ENTRIES:
            what = f"more than {MOST_ENTRIES:,} folders, links and libraries"
            raise DamagedImageError(what, where=self.name)

    def _make_folders(self, path: str) -> None:
        folder, _, name = path.rpartition("/")
        folder = folder or "/"
        if folder not in self._below:
            self._make_folders(folder)
            self._entries[folder] = _Entry(FOLDER_NODE)
            self._below[folder] = set()
        self._below[folder].add(name)

    def _drop(self, path: str, kept: set[str]) -> None:
        """Remove an entry with all below it, but for those that this layer itself added."""
        left = [path]
        while left:
            one = left.pop()
            left += [f"{one.rstrip('/')}/{name}" for name in self._below.get(one, ())]
            if one in kept or one not in self._entries:
                continue
            if self._entries.pop(one).node.kind is NodeKind.LINK:
                self._folders.clear()
            self._below.pop(one, None)
            folder, _, name = one.rpartition("/")
            self._below.get(folder or "/", set()).discard(name)

    def _path(self, index: int, name: str) -> str:
        """The path of a member. Raises DamagedImageError where it leaves the root."""
        parts: list[str] = []
        for part in name.split("/"):
            if part == "..":
                if not parts:
                    raise self._files.refusal(index, f"member '{name}' leaves the root")
                parts.pop()
            elif part not in ("", "."):
                parts.append(part)
        if len(parts) > MOST_DEPTH or len(name) > MOST_TARGET_BYTES:
            most = f"{MOST_DEPTH} folders deep or of more than {MOST_TARGET_BYTES:,} bytes"
            raise self._files.refusal(
                index, f"a member whose name is more than {most}: '{name[:80]}...'"
            )
        return "/" + "/".join(parts)

    def _place(self, index: int, name: str) -> str:
        """The path of a member with links to folders followed: it may be a link itself."""
        above, _, last = name.rpartition("/")
        folder = self._folders.get(above)
        if folder is not None and last not in ("", ".", "..") and len(name) <= MOST_TARGET_BYTES:
            return f"{folder}/{last}"
        folder, _, own = self._path(index, name).rpartition("/")
        folder = self._settled(folder or "/").rstrip("/")
        if own == last:
            if len(self._folders) == _MOST_FOLDERS:
                self._folders.clear()
            self._folders[above] = folder
        return f"{folder}/{own}"

    def _settled(self, path: str) -> str:
        """A path with links to folders followed, as far as it exists."""
        here, left, n_links = "/", path.split("/")[::-1], 0
        while left:
            part = left.pop()
            if part in ("", "."):
                continue
            if part == "..":
                here = os.path.dirname(here)
                continue
            there = f"{here.rstrip('/')}/{part}"
            found = self._entries.get(there)
            is_link = found is not None and found.node.kind is NodeKind.LINK
            if found is not None and is_link and n_links < MOST_LINKS:
                n_links += 1
                here = "/" if found.node.target.startswith("/") else here
                left += found.node.target.split("/")[::-1]
            else:
                here = there
        return here


def _matters(path: str) -> bool:
    """Whether a loader, NCCL or weft may open a file of this path."""
    may = ".so" in path or "/ld-" in path or path.startswith(_BEGINS) or path.endswith(_DRIVER)
    return may and _MATTERS.search(path) is not None
