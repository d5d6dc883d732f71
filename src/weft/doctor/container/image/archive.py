"""OCI layouts and archives of images: the manifest, the configuration, and the layers."""

import json
import platform
import shutil
import tarfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

from weft.core.documents.text_file import open_file
from weft.core.errors import InputError
from weft.doctor.container.image.image import (
    CONFIGURATION,
    EXPECTED,
    MOST_ARCHIVE_BYTES,
    ContainerImage,
    variables_of_files,
)
from weft.doctor.container.image.layer_stream import (
    DAMAGE,
    LayerBlob,
    LayerStream,
    Packing,
    packing_of,
)
from weft.doctor.container.image.layers import LayerTree
from weft.doctor.container.image.tar_members import TarMember, TarReader
from weft.doctor.container.image.tree import open_regular
from weft.doctor.container.image.unpacked import own_folder
from weft.doctor.container.image.view import View
from weft.doctor.container.launch.environment import read_pairs

MOST_MANIFEST_BYTES = 4 << 20
MOST_ARCHIVE_MEMBERS = 100_000
MOST_LAYERS = 1000
_ARCHITECTURES = {"amd64": "x86_64", "arm64": "aarch64", "386": "i686"}
"""SOURCE: opencontainers/image-spec, config.md: names of Go."""


def open_archive(path: Path, name: str = "") -> ContainerImage:
    """An image of a layout or an archive. Raises InputError where it is none, or is damaged."""
    if path.is_dir():
        store: BlobStore = LayoutFolder(path)
    else:
        _refuse_packed(path)
        store = ArchiveFile(path)
    folder = own_folder()

    def close() -> None:
        shutil.rmtree(folder, ignore_errors=True)

    try:
        return _opened(store, name or str(path), folder, close)
    except BaseException:
        close()
        raise


def _opened(
    store: "BlobStore", name: str, folder: Path, close: Callable[[], None]
) -> ContainerImage:
    manifest = store.manifest()
    config = store.document(manifest.config)
    layers = [store.layer(one) for one in manifest.layers]
    for index, digest in enumerate(_digests(config)[: len(layers)]):
        layers[index] = replace(layers[index], digest=digest)
    tree = LayerTree(name, layers, folder)
    config_ = config.get("config")
    given = config_ if isinstance(config_, dict) else {}
    listed, place = given.get("Env"), given.get("WorkingDir")
    pairs = [one for one in listed if isinstance(one, str)] if isinstance(listed, list) else []
    architecture = str(config.get("architecture", ""))
    values = (*variables_of_files(View(tree)), *read_pairs(pairs, CONFIGURATION))
    return ContainerImage(
        name,
        store.kind,
        tree,
        values,
        _ARCHITECTURES.get(architecture, architecture),
        working_folder=place if isinstance(place, str) and place.startswith("/") else "",
        has_entry_point=bool(given.get("Entrypoint")),
        close=close,
    )


def _digests(config: Mapping[str, Any]) -> list[str]:
    """Of the layers as they are unpacked, the lowest first.

    SOURCE: opencontainers/image-spec, config.md: rootfs.diff_ids.
    """
    root = config.get("rootfs")
    listed = root.get("diff_ids") if isinstance(root, dict) else None
    return [str(one) for one in listed] if isinstance(listed, list) else []


def _refuse_packed(path: Path) -> None:
    with open_file(path, expected=EXPECTED, most_bytes=MOST_ARCHIVE_BYTES) as file:
        packing = packing_of(file.read(4))
    if packing is not Packing.PLAIN:
        program = {Packing.GZIP: "gunzip", Packing.ZSTD: "unzstd"}[packing]
        raise InputError("a packed archive, which weft does not read", where=str(path),
                         expected=EXPECTED, hint=f"unpack it: {program} {path.name}")  # fmt: skip


class Manifest:
    """The names of a configuration and of layers, the lowest first."""

    def __init__(self, where: str, config: object, layers: object) -> None:
        names = layers if isinstance(layers, list) else []
        self.layers = [one for one in names if isinstance(one, str)]
        if not isinstance(config, str) or not self.layers or len(self.layers) != len(names):
            raise InputError("a manifest without a configuration or layers", where=where,
                             expected=EXPECTED)  # fmt: skip
        self.config = config
        if len(self.layers) > MOST_LAYERS:
            raise InputError(f"more than {MOST_LAYERS} layers", where=where, expected=EXPECTED)


class BlobStore:
    """Parts of an image by name."""

    kind = "OCI layout"

    def __init__(self, path: Path) -> None:
        self.path = path

    def part(self, name: str) -> tuple[Path, int, int]:
        """The file, the offset and the size of a part. Raises InputError where it is not there."""
        raise NotImplementedError

    def document(self, name: str) -> Mapping[str, Any]:
        """A part that is JSON."""
        found = self._json(name)
        if not isinstance(found, dict):
            raise self.refusal(name, "no table in JSON")
        return found

    def _json(self, name: str) -> Any:
        path, offset, size = self.part(name)
        if size > MOST_MANIFEST_BYTES:
            raise self.refusal(name, "too large for a manifest")
        with open_regular(path, follow=True) as file:
            file.seek(offset)
            try:
                return json.loads(file.read(size))
            except (ValueError, RecursionError) as error:
                raise self.refusal(name, f"no JSON ({error})") from error

    def refusal(self, name: str, what: str) -> InputError:
        """The error of a part."""
        return InputError(what, where=f"{self.path}, {name}", expected=EXPECTED)

    def layer(self, name: str) -> LayerBlob:
        """A layer. Raises InputError where it is not there."""
        path, offset, size = self.part(name)
        with open_regular(path, follow=True) as file:
            file.seek(offset)
            begin = file.read(4)
        return LayerBlob(name.rpartition("/")[2], path, offset, size, packing_of(begin))

    def manifest(self) -> Manifest:
        """Of an OCI index: the image for this machine's architecture, or the first."""
        table = self.document("index.json")
        for _ in range(4):
            manifests = table.get("manifests")
            if not isinstance(manifests, list):
                break
            listed = [one for one in manifests if isinstance(one, dict)]
            if not listed:
                raise self.refusal("index.json", "no image in it")
            table = self.document(self._blob(min(listed, key=_rank)))
        config, layers = table.get("config"), table.get("layers")
        parts = layers if isinstance(layers, list) else []
        for one in parts:
            kind = one.get("mediaType") if isinstance(one, dict) else None
            if isinstance(kind, str) and kind.endswith("+encrypted"):
                raise self.refusal(self._blob(one), "an encrypted layer")
        return Manifest(str(self.path), self._blob(config), [self._blob(one) for one in parts])

    def _blob(self, descriptor: object) -> str:
        table = descriptor if isinstance(descriptor, dict) else {}
        digest, size = table.get("digest"), table.get("size")
        kind, _, number = str(digest)[:256].partition(":")
        if not (kind.isalnum() and number.isalnum()):
            raise self.refusal("index.json", f"'{str(digest)[:256]}' is no digest")
        name = f"blobs/{kind}/{number}"
        found = self.part(name)[2]
        if isinstance(size, int) and size != found:
            raise self.refusal(name, f"it has {found:,} bytes, and its manifest says {size:,}")
        return name


def _rank(descriptor: Mapping[str, Any]) -> int:
    """0 for this machine's architecture, 2 for what is no image (an attestation)."""
    place = descriptor.get("platform")
    name = place.get("architecture") if isinstance(place, dict) else None
    if name is None:
        return 1
    own = _ARCHITECTURES.get(str(name), str(name)) == platform.machine()
    return 0 if own else 2 if name == "unknown" else 1


class LayoutFolder(BlobStore):
    """An OCI layout in a folder."""

    def part(self, name: str) -> tuple[Path, int, int]:
        """As BlobStore.part; a link does not count."""
        path = self.path / name
        if path.is_symlink() or not path.is_file():
            raise self.refusal(name, "it is not there")
        return path, 0, path.stat().st_size


class ArchiveFile(BlobStore):
    """An archive of `podman save` or `docker save`: a plain tar with the layers as members."""

    kind = "archive"

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._parts: dict[str, tuple[int, int]] = {}
        self._links: dict[str, str] = {}
        try:
            size = path.stat().st_size
            with open_regular(path, follow=True) as raw:
                stream = LayerStream(raw, LayerBlob(path.name, path, 0, size, Packing.PLAIN))
                for number, member in enumerate(TarReader(stream)):
                    if number > MOST_ARCHIVE_MEMBERS:
                        raise self.refusal(member.name, "too many members for an image")
                    self._add(member)
        except DAMAGE as error:
            raise InputError(f"no archive of an image ({error})", where=str(path),
                             expected=EXPECTED) from error  # fmt: skip

    def _add(self, member: TarMember) -> None:
        name = member.name.removeprefix("./")
        if member.type in (tarfile.SYMTYPE, tarfile.LNKTYPE):
            is_symbolic = member.type == tarfile.SYMTYPE
            folder = PurePosixPath(name).parent if is_symbolic else PurePosixPath()
            self._links[name] = _normal(folder / member.linkname)
        elif member.is_file and member.content >= 0:
            self._parts[name] = (member.content, member.size)

    def part(self, name: str) -> tuple[Path, int, int]:
        """As BlobStore.part."""
        found = self._parts.get(self._links.get(name, name))
        if found is None:
            raise self.refusal(name, "it is not there")
        return self.path, *found

    def manifest(self) -> Manifest:
        """Of docker's manifest.json, or of an OCI index."""
        if "manifest.json" not in self._parts:
            return super().manifest()
        listed: Sequence[Any] = self._json("manifest.json")
        first = listed[0] if isinstance(listed, list) and listed else None
        if not isinstance(first, dict):
            raise self.refusal("manifest.json", "no image in it")
        return Manifest(str(self.path), first.get("Config"), first.get("Layers"))


def _normal(path: PurePosixPath) -> str:
    parts: list[str] = []
    for part in path.parts:
        if part == "..":
            parts = parts[:-1]
        elif part not in (".", "/"):
            parts.append(part)
    return "/".join(parts)
