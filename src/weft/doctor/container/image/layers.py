"""Layers of an image merged into one tree; of the content only what a loader asks for is read.

SOURCE: opencontainers/image-spec, layer.md: change sets, whiteouts, opaque whiteouts.
"""

import io
import os
import re
import tarfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from weft.core.units import format_size
from weft.doctor.container.image.image_part import ImagePart
from weft.doctor.container.image.layer_stream import (
    DAMAGE,
    LayerBlob,
    LayerStream,
    Packing,
    members_of,
)
from weft.doctor.container.image.tree import (
    FOLDER_NODE,
    MOST_DEPTH,
    MOST_TARGET_BYTES,
    DamagedImageError,
    FileNode,
    NodeKind,
    open_regular,
)
from weft.doctor.container.image.unpacked import store
from weft.doctor.container.image.view import MOST_LINKS

MOST_MEMBERS = 4_000_000
"""Of all layers together."""
MOST_ENTRIES = 500_000
"""Folders, links and files that matter, which are kept in memory: 420 bytes each, 210 MB for all
(measured). A Debian machine with 180,000 files has 43,000 of them."""
MOST_KEPT_BYTES = 8 << 30
"""On the disk of temporary folders: all libraries of the same machine together have 2.5 GB
(measured), and of an image those up to _EARLY_BYTES and those that the chain opens are unpacked."""
MOST_FILE_BYTES = 1 << 30
"""The largest there, of LLVM, has 117 MB; libnccl.so 2.26.5 has 423 MB (measured)."""
MOST_EARLY_BYTES = 4 << 30
"""Half of what may be unpacked: as much is left for libraries that are asked for."""
_EARLY_BYTES = 16 << 20
"""Libraries of up to this size are kept while a packed layer passes by; for others it passes
again."""
_PIECE_BYTES = 1 << 20
_WHITEOUT, _OPAQUE = ".wh.", ".wh..wh..opq"
_CHAIN = ("libnccl", "libfabric")
_LOADED = ("lib", "ld-")
"""Begins of names that others load; modules of Python have other ones."""
_MATTERS = re.compile(
    r"\.so(\.|$)|/ld-[^/]*$|^/etc/(?:ld\.so|nccl\.conf|environment|libibverbs\.d/)"
    r"|^/\.singularity\.d/env/|\.driver$"
)
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
        self._layers, self._folder = layers, folder
        self._entries: dict[str, _Entry] = {}
        self._below: dict[str, set[str]] = {}
        self._kept: dict[tuple[int, int], Path] = {}
        self._n_members = self._n_kept_bytes = 0
        self._libraries: dict[str, str] = {}
        """By the path of a file: a path that matters and is a hard link to it."""
        self._missing: tuple[int, str] | None = None
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
        blob = self._layers[found.layer]
        if blob.packing is Packing.PLAIN and found.content >= 0:
            raw = open_regular(blob.path, follow=True)
            part = ImagePart(raw, blob.offset + found.content, found.size, is_owner=True)
            return cast(BinaryIO, io.BufferedReader(part))
        key = found.layer, found.member
        if key not in self._kept:
            self._fetch(*key)
        return open_regular(self._kept[key])

    def _merge(self) -> None:
        """Apply all layers, and again while a library is a hard link to a file that was not kept,
        for only a hard link tells that it matters. INVARIANT: `_libraries` only grows."""
        for _ in range(MOST_LINKS + 1):
            self._entries, self._below = {"/": _Entry(FOLDER_NODE)}, {"/": set()}
            self._n_members, self._missing, n_known = 0, None, len(self._libraries)
            for index in range(len(self._layers)):
                self._apply(index)
            if self._missing is None:
                return
            index, what = self._missing
            if len(self._libraries) == n_known:
                raise self._refusal(index, f"{what}, which no layer has")
        last = next(reversed(self._libraries.values()))
        what = f"more than {MOST_LINKS} hard links lead from '{last}' to its file"
        raise DamagedImageError(what, where=self.name)

    def _apply(self, index: int) -> None:
        added: set[str] = set()
        with self._members(index) as members:
            for file, member in members:
                self._n_members += 1
                if self._n_members > MOST_MEMBERS:
                    raise self._refusal(index, f"more than {MOST_MEMBERS:,} members in all layers")
                self._add(index, file, member, added)

    def _add(
        self, index: int, file: tarfile.TarFile, member: tarfile.TarInfo, added: set[str]
    ) -> None:
        path = self._place(index, member.name)
        folder, _, name = path.rpartition("/")
        folder = folder or "/"
        if path == "/" and not member.isdir():
            raise self._refusal(index, f"member '{member.name}' is the root, and no folder")
        if name == _OPAQUE:
            for one in list(self._below.get(folder, ())):
                self._drop(f"{folder.rstrip('/')}/{one}", added)
        elif name.startswith(_WHITEOUT):
            self._drop(f"{folder.rstrip('/')}/{name.removeprefix(_WHITEOUT)}", added)
        elif member.islnk():
            self._link(index, path, member, added)
        else:
            library = self._libraries.get(path, path)
            self._put(path, self._entry(index, library, member), added)
            if self._keeps_early(index, library, member):
                self._keep(index, file, member)

    def _link(self, index: int, path: str, member: tarfile.TarInfo, added: set[str]) -> None:
        """A hard link; one to a symbolic link is that link, as link(2) makes it."""
        place = self._place(index, member.linkname)
        target = self._entries.get(place)
        is_folder = target is not None and target.node.kind is NodeKind.FOLDER
        library = self._libraries.get(path, path)
        if (target is None or is_folder) and _MATTERS.search(library):
            what = f"member '{member.name}' is a hard link to '{member.linkname}'"
            if is_folder:
                raise self._refusal(index, f"{what}, which no layer has")
            self._missing = self._missing or (index, what)
            self._libraries.setdefault(place, library)
            self._limit(len(self._libraries))
        if not is_folder:
            self._put(path, target, added)

    def _entry(self, index: int, path: str, member: tarfile.TarInfo) -> _Entry | None:
        """None for a file that does not matter, which only replaces another one."""
        if member.isreg():
            if not _MATTERS.search(path):
                return None
            node = FileNode(NodeKind.FILE, identity=(self.name, index, member.offset))
            content = -1 if member.issparse() else member.offset_data
            return _Entry(node, index, member.offset, content, member.size)
        if member.issym() and len(member.linkname) > MOST_TARGET_BYTES:
            what = f"member '{member.name}' is a link to a name of {len(member.linkname):,} bytes"
            raise self._refusal(index, what)
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
            del self._entries[one]
            self._below.pop(one, None)
            folder, _, name = one.rpartition("/")
            self._below.get(folder or "/", set()).discard(name)

    def _path(self, index: int, name: str) -> str:
        """The path of a member. Raises DamagedImageError where it leaves the root."""
        parts: list[str] = []
        for part in name.split("/"):
            if part == "..":
                if not parts:
                    raise self._refusal(index, f"member '{name}' leaves the root")
                parts.pop()
            elif part not in ("", "."):
                parts.append(part)
        if len(parts) > MOST_DEPTH or len(name) > MOST_TARGET_BYTES:
            most = f"{MOST_DEPTH} folders deep or of more than {MOST_TARGET_BYTES:,} bytes"
            raise self._refusal(index, f"a member whose name is more than {most}: '{name[:80]}...'")
        return "/" + "/".join(parts)

    def _place(self, index: int, name: str) -> str:
        """The path of a member with links to folders followed: it may be a link itself."""
        folder, _, last = self._path(index, name).rpartition("/")
        return f"{self._settled(folder or '/').rstrip('/')}/{last}"

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

    def _keeps_early(self, index: int, path: str, member: tarfile.TarInfo) -> bool:
        """Whether a file is unpacked while its layer passes by."""
        is_packed = self._layers[index].packing is not Packing.PLAIN
        is_kept = (index, member.offset) in self._kept
        if not member.isreg() or not is_packed or is_kept or not _MATTERS.search(path):
            return False
        name = path.rpartition("/")[2]
        is_loaded = name.startswith(_LOADED) or ".so" not in name
        is_small = member.size <= _EARLY_BYTES and is_loaded
        has_room = self._n_kept_bytes + member.size <= MOST_EARLY_BYTES
        return has_room and (is_small or name.startswith(_CHAIN))

    def _keep(self, index: int, file: tarfile.TarFile, member: tarfile.TarInfo) -> None:
        if member.size > MOST_FILE_BYTES:
            what = f"member '{member.name}' has {format_size(member.size)}"
            raise self._refusal(index, f"{what}, more than {format_size(MOST_FILE_BYTES)}")
        self._n_kept_bytes += member.size
        if self._n_kept_bytes > MOST_KEPT_BYTES:
            most = format_size(MOST_KEPT_BYTES)
            raise self._refusal(index, f"libraries of more than {most} are needed of it")
        source = file.extractfile(member)
        path = self._folder / f"{len(self._kept)}"
        store(path, iter(lambda: source.read(_PIECE_BYTES) if source is not None else b"", b""))
        self._kept[(index, member.offset)] = path

    def _fetch(self, index: int, place: int) -> None:
        """Unpack the member at a place of a layer."""
        with self._members(index) as members:
            for file, member in members:
                if member.offset == place:
                    self._keep(index, file, member)
                    return

    @contextmanager
    def _members(self, index: int) -> Iterator[Iterator[tuple[tarfile.TarFile, tarfile.TarInfo]]]:
        """The members of a layer. Raises DamagedImageError where it is damaged."""
        blob = self._layers[index]
        try:
            with open_regular(blob.path, follow=True) as raw:
                yield members_of(LayerStream(raw, blob))
        except DAMAGE as error:
            raise self._refusal(index, f"damaged ({error})") from error

    def _refusal(self, index: int, what: str) -> DamagedImageError:
        where = f"{self.name}, layer {index + 1} ({self._layers[index].name[:23]})"
        return DamagedImageError(what, where=where, expected="layers in tar, plain, gzip or zstd")
