"""Layers of an image merged into one tree; of the content only what a loader asks for is read.

SOURCE: opencontainers/image-spec, layer.md: change sets, whiteouts, opaque whiteouts.
"""

import gzip
import os
import re
import shutil
import tarfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

from weft.core.errors import InputError
from weft.core.units import format_size
from weft.doctor.container.image.tree import FOLDER_NODE, FileNode, NodeKind, open_regular

MOST_MEMBERS = 4_000_000
"""Of all layers together."""
MOST_LAYER_BYTES = 128 << 30
MOST_KEPT_BYTES = 8 << 30
MOST_FILE_BYTES = 1 << 30
MOST_DEPTH = 256
"""Folders below folders: chosen below what Python can follow."""
MOST_RATIO = 200
"""Times that a layer may be larger than its file; gzip's own limit is 1032, and layers of
libraries have 2 to 4."""
_UNSUSPECTED_BYTES = 256 << 20
_EARLY_BYTES = 32 << 20
"""Libraries of up to this size are kept while a packed layer passes by; for others it passes
again."""
_PIECE_BYTES = 1 << 20
_WHITEOUT, _OPAQUE = ".wh.", ".wh..wh..opq"
_CHAIN = ("libnccl", "libfabric")
_MATTERS = re.compile(
    r"\.so(\.|$)|/ld-[^/]*$|^/etc/(?:ld\.so|nccl\.conf|environment|libibverbs\.d/)"
    r"|^/\.singularity\.d/env/|\.driver$"
)
_KINDS = {tarfile.SYMTYPE: NodeKind.LINK, tarfile.DIRTYPE: NodeKind.FOLDER}
_DAMAGED_HEADERS = tuple(
    getattr(tarfile, name) for name in ("InvalidHeaderError", "TruncatedHeaderError")
)
_DEVICES = (tarfile.CHRTYPE, tarfile.BLKTYPE)


@dataclass(frozen=True, slots=True)
class LayerBlob:
    """A part of a file that holds a layer."""

    name: str
    path: Path
    offset: int
    size: int
    is_packed: bool


@dataclass(frozen=True, slots=True)
class _Entry:
    node: FileNode
    layer: int = -1
    member: str = ""
    size: int = 0


class LayerTree:
    """A tree of layers, the lowest first. Files are unpacked into `folder`, which is the caller's
    own. Raises InputError for a member that is wrong, with its name."""

    def __init__(self, name: str, layers: Sequence[LayerBlob], folder: Path) -> None:
        self.name = name
        self._layers, self._folder = layers, folder
        self._entries: dict[str, _Entry] = {"/": _Entry(FOLDER_NODE)}
        self._below: dict[str, set[str]] = {"/": set()}
        self._kept: dict[tuple[int, str], Path] = {}
        self._n_members = self._n_kept_bytes = 0
        for index in range(len(layers)):
            self._apply(index)

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

    def local(self, path: str) -> Path:
        """As Tree.local: a file unpacked for it."""
        found = self._entries.get(path)
        if found is None or found.node.kind is not NodeKind.FILE:
            raise FileNotFoundError(path)
        key = (found.layer, found.member)
        if key not in self._kept:
            self._fetch(*key)
        return self._kept[key]

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
        path = self._path(index, member.name)
        folder, _, name = path.rpartition("/")
        folder = self._settled(folder or "/")
        path = f"{folder.rstrip('/')}/{name}" if name else "/"
        if path == "/" and not member.isdir():
            raise self._refusal(index, f"member '{member.name}' is the root, and no folder")
        if name == _OPAQUE:
            for one in list(self._below.get(folder, ())):
                self._drop(f"{folder.rstrip('/')}/{one}", added)
        elif name.startswith(_WHITEOUT):
            self._drop(f"{folder.rstrip('/')}/{name.removeprefix(_WHITEOUT)}", added)
        elif member.islnk():
            target = self._entries.get(self._settled(self._path(index, member.linkname)))
            if target is not None and target.node.kind is not NodeKind.FOLDER:
                self._put(path, target, added)
            elif _MATTERS.search(path):
                what = f"member '{member.name}' is a hard link to '{member.linkname}'"
                raise self._refusal(index, f"{what}, which no layer has")
        else:
            self._put(path, self._entry(index, path, member), added)
            if self._keeps_early(index, path, member):
                self._keep(index, file, member)

    def _entry(self, index: int, path: str, member: tarfile.TarInfo) -> _Entry | None:
        """None for a file that does not matter, which only replaces another one."""
        if member.isreg():
            if not _MATTERS.search(path):
                return None
            node = FileNode(NodeKind.FILE, identity=(index, member.name), mode=member.mode)
            return _Entry(node, index, member.name, member.size)
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
        if is_folder:
            self._below.setdefault(path, set())
        while path and path not in added:
            added.add(path)
            path = path.rpartition("/")[0]

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
        """The path of a member. Raises InputError where it leaves the root."""
        parts: list[str] = []
        for part in name.split("/"):
            if part == "..":
                if not parts:
                    raise self._refusal(index, f"member '{name}' leaves the root")
                parts.pop()
            elif part not in ("", "."):
                parts.append(part)
        if len(parts) > MOST_DEPTH:
            raise self._refusal(index, f"a member more than {MOST_DEPTH} folders deep")
        return "/" + "/".join(parts)

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
            if found is not None and found.node.kind is NodeKind.LINK and n_links < 40 and left:
                n_links += 1
                here = "/" if found.node.target.startswith("/") else here
                left += found.node.target.split("/")[::-1]
            elif found is not None and found.node.kind is NodeKind.LINK and n_links < 40:
                n_links += 1
                target = found.node.target
                here = "/" if target.startswith("/") else here
                left += target.split("/")[::-1]
            else:
                here = there
        return here

    def _keeps_early(self, index: int, path: str, member: tarfile.TarInfo) -> bool:
        """Whether a file is unpacked while its layer passes by."""
        if not member.isreg() or not self._layers[index].is_packed or not _MATTERS.search(path):
            return False
        is_small = member.size <= _EARLY_BYTES
        return is_small or path.rpartition("/")[2].startswith(_CHAIN)

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
        with path.open("xb") as out:
            if source is not None:
                shutil.copyfileobj(source, out, _PIECE_BYTES)
        self._kept[(index, member.name)] = path

    def _fetch(self, index: int, name: str) -> None:
        """Unpack one file: the last of its name, as it is in the tree."""
        with self._members(index) as members:
            for file, member in members:
                if member.name == name and member.isreg():
                    self._kept.pop((index, name), None)
                    self._keep(index, file, member)
                    if not self._layers[index].is_packed:
                        return

    @contextmanager
    def _members(self, index: int) -> Iterator[Iterator[tuple[tarfile.TarFile, tarfile.TarInfo]]]:
        """The members of a layer. Raises InputError where it is damaged."""
        blob = self._layers[index]
        try:
            with open_regular(blob.path, follow=True) as raw, LayerStream(raw, blob) as stream:
                yield members_of(stream)
        except (tarfile.TarError, zlib.error, EOFError, OSError, ValueError) as error:
            raise self._refusal(index, f"damaged ({error})") from error

    def _refusal(self, index: int, what: str) -> InputError:
        where = f"{self.name}, layer {index + 1} ({self._layers[index].name[:23]})"
        return InputError(what, where=where, expected="layers of an image in tar, plain or gzip")


class LayerMember(tarfile.TarInfo):
    """A member whose header is whole: tarfile takes a damaged one for the end of the archive."""

    @classmethod
    def fromtarfile(cls, tarfile_: tarfile.TarFile) -> "LayerMember":
        """The next member. Raises ReadError for a damaged header."""
        try:
            found = super().fromtarfile(tarfile_)
        except _DAMAGED_HEADERS as error:
            raise tarfile.ReadError(f"header at {tarfile_.offset}: {error}") from error
        if found.size < 0:
            raise tarfile.ReadError(f"member '{found.name}' has {found.size} bytes")
        return found


def members_of(stream: "LayerStream") -> Iterator[tuple[tarfile.TarFile, tarfile.TarInfo]]:
    """The members of an archive in order. Raises TarError, OSError, EOFError, ValueError."""
    file: Any = tarfile.TarFile(fileobj=cast(Any, stream), tarinfo=LayerMember)
    while True:
        member = file.next()
        if member is None:
            return
        yield file, member
        # An archive of a million members would keep all of them.
        file.members = []


class LayerStream:
    """A layer as tarfile reads it: forward only, unpacked, and never more than the limits."""

    def __init__(self, raw: BinaryIO, blob: LayerBlob) -> None:
        self._blob, self._raw = blob, raw
        raw.seek(blob.offset)
        self._part = _Part(raw, blob.offset, blob.size)
        self._file: Any = gzip.GzipFile(fileobj=cast(Any, self._part), mode="rb")
        if not blob.is_packed:
            self._file = self._part
        self._at = 0

    def __enter__(self) -> "LayerStream":
        return self

    def __exit__(self, *_: object) -> None:
        if self._blob.is_packed:
            self._file.close()

    def read(self, size: int) -> bytes:
        """Bytes of the layer. Raises ValueError beyond a limit."""
        if size > MOST_HEADER_BYTES:
            raise ValueError(f"a header of {format_size(size)}")
        found = bytes(self._file.read(size))
        self._at += len(found)
        self._check()
        return found

    def _check(self) -> None:
        if self._at > MOST_LAYER_BYTES:
            raise ValueError(f"more than {format_size(MOST_LAYER_BYTES)} in one layer")
        is_large = self._at > _UNSUSPECTED_BYTES and self._blob.is_packed
        if is_large and self._at > MOST_RATIO * max(1, self._part.n_read):
            raise ValueError(f"it unpacks to more than {MOST_RATIO} times its size")

    def tell(self) -> int:
        """The place in the unpacked layer."""
        return self._at

    def seek(self, offset: int) -> None:
        """Go forward. Raises ValueError for a way back, which a damaged header asks for."""
        if offset < self._at:
            raise ValueError("a member before the one that was read")
        if not self._blob.is_packed:
            self._part.seek(offset)
            self._at = offset
            return
        while self._at < offset:
            if not self.read(min(_PIECE_BYTES, offset - self._at)):
                return


MOST_HEADER_BYTES = 4 << 20
"""Of one extended header, and of one piece of a file."""


class _Part:
    """A part of a file as a file."""

    def __init__(self, raw: BinaryIO, offset: int, size: int) -> None:
        self._raw, self._offset, self._size = raw, offset, size
        self.n_read = 0

    def read(self, size: int = -1) -> bytes:
        left = self._size - (self._raw.tell() - self._offset)
        size = max(0, left) if size < 0 else max(0, min(size, left))
        found = self._raw.read(size)
        self.n_read += len(found)
        return found

    def seek(self, offset: int) -> None:
        self._raw.seek(self._offset + offset)
