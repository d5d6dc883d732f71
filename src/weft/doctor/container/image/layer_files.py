"""Layers as files: their members in order, and the content of those that are asked for."""

import hashlib
import io
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from weft.core.units import format_size
from weft.core.work.progress import share_read, working
from weft.doctor.container.image.image_part import ImagePart
from weft.doctor.container.image.layer_stream import DAMAGE, LayerBlob, LayerStream, Packing
from weft.doctor.container.image.tar_members import BLOCK_BYTES, TarMember, TarReader
from weft.doctor.container.image.tree import MOST_TARGET_BYTES, DamagedImageError, open_regular
from weft.doctor.container.image.unpacked import store

MOST_KEPT_BYTES = 8 << 30
"""On the disk of temporary folders: all libraries of the same machine together have 2.5 GB
(measured), and of an image those up to _EARLY_BYTES and those that the chain opens are unpacked."""
MOST_FILE_BYTES = 1 << 30
"""The largest there, of LLVM, has 117 MB; libnccl.so 2.26.5 has 423 MB (measured)."""
MOST_EARLY_BYTES = 4 << 30
"""Half of what may be unpacked: as much is left for libraries that are asked for."""
EARLY_BYTES = 16 << 20
"""Libraries of up to this size are kept while a packed layer passes by; for others it passes
again."""
WHITEOUT = ".wh."
"""Begins the name of a member that removes a file of a lower layer."""
_CHAIN = ("libnccl", "libfabric")
_LOADED = ("lib", "ld-")
"""Begins of names that others load; modules of Python have other ones."""


class LayerFiles:
    """The layers of an image, the lowest first. Files are unpacked into `folder`, which is the
    caller's own. Raises DamagedImageError for a layer that is damaged, with its name."""

    def __init__(self, name: str, layers: Sequence[LayerBlob], folder: Path) -> None:
        self.name, self.layers, self._folder = name, layers, folder
        # By layer and the place of a member; those in `_early` wait for the turn of their layer.
        self._kept: dict[tuple[int, int], Path] = {}
        self._early: dict[tuple[int, int], Path] = {}
        self._n_kept_bytes = self._n_early_bytes = self._n_written_bytes = 0
        self._lock = threading.Lock()

    def passing(
        self, index: int, library: Callable[[str], str], is_over: Callable[[], bool]
    ) -> Iterator[TarMember]:
        """The members of a layer; of a packed one, small libraries are unpacked by the way.
        `library` has the path of a library by the name of a member, "" for another file."""
        is_packed = self.layers[index].packing is not Packing.PLAIN
        with self._members(index, is_over) as members:
            for member in members:
                self._check_names(index, member)
                if is_packed and member.is_file:
                    self._unpack_early(index, member, library(member.name), members)
                yield member
            if not is_packed and self.layers[index].size < members.end + BLOCK_BYTES:
                self._check_digest(index)

    def take_early(self, index: int, member: TarMember) -> None:
        """Keep what was unpacked of a member by the way, while there is room. It is called in the
        order of the layers, so that their threads do not decide which files are kept."""
        path = self._early.pop((index, member.offset), None)
        if path is None:
            return
        if self._n_early_bytes + member.size > MOST_EARLY_BYTES:
            path.unlink()
            with self._lock:
                self._n_written_bytes -= member.size
            return
        self._n_early_bytes += member.size
        self._n_kept_bytes += member.size
        self._kept[(index, member.offset)] = path

    def reader(self, index: int, offset: int, content: int, size: int) -> BinaryIO:
        """The content of a member: in place in a plain layer, else unpacked for it."""
        blob = self.layers[index]
        if blob.packing is Packing.PLAIN and content >= 0:
            raw = open_regular(blob.path, follow=True)
            part = ImagePart(raw, blob.offset + content, size, is_owner=True)
            return cast(BinaryIO, io.BufferedReader(part))
        if (index, offset) not in self._kept:
            self._fetch(index, offset)
        return open_regular(self._kept[(index, offset)])

    def refusal(self, index: int, what: str) -> DamagedImageError:
        """The error of a layer."""
        where = f"{self.name}, layer {index + 1} ({self.layers[index].name[:23]})"
        return DamagedImageError(what, where=where, expected="layers in tar, plain, gzip or zstd")

    def _check_digest(self, index: int) -> None:
        """A plain layer without an end, as some programs write it, looks as one that was cut; a
        packed one has an end of its own."""
        blob = self.layers[index]
        with open_regular(blob.path, follow=True) as raw:
            part = ImagePart(raw, blob.offset, blob.size)
            kind = "sha512" if blob.digest.startswith("sha512:") else "sha256"
            found = f"{kind}:{hashlib.file_digest(part, kind).hexdigest()}"
        if found != blob.digest:
            known = blob.digest[:23] or "none"
            what = f"its content is {found[:23]}, and the image's configuration has {known}"
            raise self.refusal(index, f"damaged (no end of the archive; {what})")

    def _check_names(self, index: int, member: TarMember) -> None:
        """Members wait in memory, as many as OrderedPasses lets wait: their names have a limit."""
        name, n_target_bytes = member.name[:80], len(member.linkname)
        if len(member.name) > MOST_TARGET_BYTES:
            what = f"a member has a name of more than {MOST_TARGET_BYTES:,} bytes: '{name}...'"
            raise self.refusal(index, what)
        if n_target_bytes > MOST_TARGET_BYTES:
            what = f"member '{name}' is a link to a name of {n_target_bytes:,} bytes"
            raise self.refusal(index, what)

    def _unpack_early(
        self, index: int, member: TarMember, library: str, members: TarReader
    ) -> None:
        name, key = library.rpartition("/")[2], (index, member.offset)
        if not name or name.startswith(WHITEOUT) or key in self._kept or key in self._early:
            return
        is_small = member.size <= EARLY_BYTES and (name.startswith(_LOADED) or ".so" not in name)
        if not is_small and not name.startswith(_CHAIN):
            return
        with self._lock:
            if self._n_written_bytes + member.size > MOST_KEPT_BYTES:
                return
            self._n_written_bytes += member.size
        self._early[key] = self._stored(index, member, members)

    def _stored(self, index: int, member: TarMember, members: TarReader) -> Path:
        if member.size > MOST_FILE_BYTES:
            what = f"member '{member.name}' has {format_size(member.size)}"
            raise self.refusal(index, f"{what}, more than {format_size(MOST_FILE_BYTES)}")
        path = self._folder / f"{index}-{member.offset}"
        store(path, members.content(member))
        return path

    def _fetch(self, index: int, offset: int) -> None:
        """Unpack the member at a place of a layer."""
        with self._members(index) as members:
            for member in members:
                if member.offset != offset:
                    continue
                self._n_kept_bytes += member.size
                if self._n_kept_bytes > MOST_KEPT_BYTES:
                    most = format_size(MOST_KEPT_BYTES)
                    raise self.refusal(index, f"libraries of more than {most} are needed of it")
                self._kept[(index, offset)] = self._stored(index, member, members)
                return

    @contextmanager
    def _members(
        self, index: int, is_over: Callable[[], bool] = lambda: False
    ) -> Iterator[TarReader]:
        blob = self.layers[index]
        try:
            with (
                open_regular(blob.path, follow=True) as raw,
                working(f"reading layer {index + 1}", ask=share_read(raw)),
            ):
                yield TarReader(LayerStream(raw, blob, is_over))
        except DAMAGE as error:
            raise self.refusal(index, f"damaged ({error})") from error
