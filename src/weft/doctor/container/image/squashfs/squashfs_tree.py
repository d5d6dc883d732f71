"""The files of a squashfs as a tree. Of their content only what is asked for is unpacked."""

import io
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate
from typing import BinaryIO, cast

from weft.doctor.container.image.image_part import ImagePart
from weft.doctor.container.image.squashfs.blocks import SquashfsBlocks
from weft.doctor.container.image.squashfs.codecs import SquashfsError
from weft.doctor.container.image.squashfs.inodes import FileBlocks, SquashfsInodes
from weft.doctor.container.image.tree import MOST_DEPTH, DamagedImageError, FileNode, NodeKind

_IS_PLAIN_FILE = 1 << 24


@contextmanager
def _named(name: str, path: str) -> Iterator[None]:
    """Errors with the path that was read."""
    try:
        yield
    except SquashfsError as error:
        where = f"{name}, {path[:256]}" if path else name
        raise DamagedImageError(f"squashfs: {error}", where=where) from error


class SquashfsTree:
    """A file system in a part of a file. Methods raise DamagedImageError with the path that they
    read."""

    denied = unlisted = ()

    def __init__(self, part: ImagePart, name: str) -> None:
        self.name = name
        with _named(name, ""):
            self._blocks = SquashfsBlocks(part)
            self._inodes = SquashfsInodes(self._blocks)
            self._root = self._blocks.header.root
            if self._inodes.kind(self._root) is not NodeKind.FOLDER:
                raise SquashfsError("damaged (its root is no folder)")

    def node(self, path: str) -> FileNode | None:
        """As Tree.node."""
        with _named(self.name, path):
            found = self._found(path)
            if found is None:
                return None
            kind, reference = found
            target = self._inodes.target(reference) if kind is NodeKind.LINK else ""
            return FileNode(kind, target, identity=(self.name, reference))

    def names(self, path: str) -> Sequence[str]:
        """As Tree.names."""
        return sorted(self._folder(path))

    def entries(self, path: str) -> Sequence[tuple[str, bool]]:
        """As Tree.entries."""
        found = self._folder(path).items()
        return sorted((name, kind is NodeKind.FOLDER) for name, (kind, _) in found)

    def reader(self, path: str) -> BinaryIO:
        """As Tree.reader."""
        with _named(self.name, path):
            found = self._found(path)
            if found is None or found[0] is not NodeKind.FILE:
                raise FileNotFoundError(path)
            blocks = self._inodes.file(found[1])
        raw = SquashfsFile(self._blocks, blocks, self.name, path)
        return cast(BinaryIO, io.BufferedReader(raw))

    def _folder(self, path: str) -> dict[str, tuple[NodeKind, int]]:
        with _named(self.name, path):
            found = self._found(path)
            is_folder = found is not None and found[0] is NodeKind.FOLDER
            return self._inodes.folder(found[1]) if found is not None and is_folder else {}

    def _found(self, path: str) -> tuple[NodeKind, int] | None:
        """The kind and the reference of an inode."""
        here = NodeKind.FOLDER, self._root
        parts = [one for one in path.split("/") if one]
        if len(parts) > MOST_DEPTH:
            raise SquashfsError(f"a path more than {MOST_DEPTH} folders deep")
        for part in parts:
            if here[0] is not NodeKind.FOLDER:
                return None
            found = self._inodes.folder(here[1]).get(part)
            if found is None:
                return None
            here = found
        # An entry tells its kind, too; the inode is what counts.
        kind = self._inodes.kind(here[1])
        if kind is not here[0]:
            raise SquashfsError("damaged (an entry of another kind)")
        return here


class SquashfsFile(io.RawIOBase):
    """The content of a file, at any place in it."""

    def __init__(self, blocks: SquashfsBlocks, file: FileBlocks, name: str, path: str) -> None:
        self._blocks, self._file, self._at = blocks, file, 0
        self._name, self._path = name, path
        sizes = (word & ~_IS_PLAIN_FILE for word in file.words)
        self._starts = list(accumulate(sizes, initial=file.start))

    def readable(self) -> bool:
        """Always."""
        return True

    def seekable(self) -> bool:
        """Always."""
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """As RawIOBase."""
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._file.size}[whence]
        self._at = max(0, start + offset)
        return self._at

    def tell(self) -> int:
        """As RawIOBase."""
        return self._at

    def readinto(self, buffer: "memoryview | bytearray") -> int:  # type: ignore[override]
        """As RawIOBase."""
        block_size = self._blocks.header.block_size
        number, offset = divmod(self._at, block_size)
        left = min(len(buffer), block_size - offset, self._file.size - self._at)
        if left <= 0:
            return 0
        with _named(self._name, self._path):
            buffer[:left] = self._content(number, offset, left)
        self._at += left
        return left

    def _content(self, number: int, offset: int, size: int) -> bytes:
        """Bytes of one block."""
        if number < len(self._file.words):
            word = self._file.words[number]
            if word == 0:
                return bytes(size)
            block = self._blocks.file_block(self._starts[number], word)
        else:
            block = self._blocks.fragment(self._file.fragment)
            offset += self._file.offset
        found = block[offset : offset + size]
        if len(found) < size:
            raise SquashfsError("damaged (a block that is too short)")
        return found
