"""Damaged images of containers, through the verb that judges them."""

import gzip
import hashlib
import io
import json
import shutil
import struct
import tarfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import fuzz_mutations
import zstandard
from fuzz_documents import DOCUMENT_LIMIT_S, damaged_words, ended
from fuzz_mutations import Reader

from weft.doctor.container.image.single_file import open_single_file
from weft.doctor.container.image.tree import NodeKind, Tree

FIXTURES = Path(__file__).resolve().parent.parent / "tests" / "fixtures" / "images"
PACKERS: tuple[Callable[[bytes], bytes], ...] = (
    bytes,
    partial(gzip.compress, mtime=0),
    zstandard.ZstdCompressor().compress,
)
_reader = partial(Reader, limit_s=DOCUMENT_LIMIT_S)


def image_readers() -> list[Reader]:
    """Readers of images by their form. They write into the folder they work in."""
    squashfs = [path.read_bytes() for path in sorted(FIXTURES.glob("*.sqsh"))]
    plain = FIXTURES / "plain.sqsh"
    opened = open_single_file(plain)
    assert opened is not None
    layer = _tar(list(_members(opened.tree, "/")))
    opened.close()
    archive = _docker_archive([PACKERS[0](layer), PACKERS[1](layer)])
    return [
        _reader("image: squashfs", _as_text(squashfs), damaged_words, _file_outcome),
        _reader("image: SIF", _as_text([_sif(plain.read_bytes())]), damaged_words, _file_outcome),
        _reader("image: docker archive", _as_text([archive]), damaged_words, _file_outcome),
        _reader("image: OCI layer", _as_text([layer]), damaged_words, partial(_layer_outcome, "")),
        _reader(
            "image: packed OCI layer", _as_text([pack(layer) for pack in PACKERS[1:]]),
            damaged_words, partial(_layer_outcome, "packed"),
        ),
        _reader(
            "image: OCI documents", tuple(_documents(layer)), fuzz_mutations.mutated_json,
            partial(_document_outcome, layer),
        ),
    ]  # fmt: skip


def _as_text(contents: Sequence[bytes]) -> tuple[str, ...]:
    return tuple(one.decode("latin-1") for one in contents)


def _members(tree: Tree, top: str) -> "Sequence[tuple[tarfile.TarInfo, bytes]]":
    """All below a folder, as members of a layer."""
    found = []
    for name in tree.names(top):
        path = f"{top.rstrip('/')}/{name}"
        node = tree.node(path)
        assert node is not None
        info, content = tarfile.TarInfo(path.lstrip("/")), b""
        if node.kind is NodeKind.FILE:
            with tree.reader(path) as file:
                content = file.read()
            info.size = len(content)
        kinds = {NodeKind.FOLDER: tarfile.DIRTYPE, NodeKind.LINK: tarfile.SYMTYPE,
                 NodeKind.OTHER: tarfile.FIFOTYPE}  # fmt: skip
        info.type, info.linkname = kinds.get(node.kind, tarfile.REGTYPE), node.target
        found.append((info, content))
        if node.kind is NodeKind.FOLDER:
            found += _members(tree, path)
    return found


def _tar(members: "Sequence[tuple[tarfile.TarInfo, bytes]]") -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for info, content in members:
            archive.addfile(info, io.BytesIO(content))
        hard = tarfile.TarInfo("opt/hard.so")
        hard.type, hard.linkname = tarfile.LNKTYPE, "usr/lib/libc.so.6"
        archive.addfile(hard)
        archive.addfile(tarfile.TarInfo("opt/a/.wh.f1"))
        archive.addfile(tarfile.TarInfo(f"opt/{'n' * 150}.so"))
    return out.getvalue()


_CONFIG = {"architecture": "amd64", "os": "linux", "config": {"Env": ["LD_LIBRARY_PATH=/usr/lib"]}}


def _docker_archive(layers: Sequence[bytes]) -> bytes:
    names = [f"{number}/layer.tar" for number in range(len(layers))]
    manifest = [{"Config": "c.json", "RepoTags": ["i:1"], "Layers": names}]
    parts = {"manifest.json": json.dumps(manifest).encode(), "c.json": json.dumps(_CONFIG).encode()}
    members = []
    for name, content in {**parts, **dict(zip(names, layers, strict=True))}.items():
        info = tarfile.TarInfo(name)
        info.size = len(content)
        members.append((info, content))
    return _tar(members)


def _sif(squashfs: bytes) -> bytes:
    """SOURCE: sylabs/sif, pkg/sif/sif.go and descriptor.go."""
    extra = struct.pack("<ii3s", 1, 2, b"02")
    entry = struct.pack("<i?III7q128s384s", 0x4004, True, 1, 0, 0, 4096, len(squashfs),
                        len(squashfs), 0, 0, 0, 0, b"", extra)  # fmt: skip
    head = struct.pack(
        "<32s10s3s3s16s8q", b"#!/usr/bin/env run-singularity\n", b"SIF_MAGIC", b"01", b"02", b"",
        0, 0, 3, 4, 128, 4 * 585, 4096, len(squashfs),
    )  # fmt: skip
    return (head + entry).ljust(4096, b"\0") + squashfs


def _documents(layer: bytes) -> list[str]:
    """The index, the manifest and the configuration of a layout."""
    blob, config = _descriptor(layer), _descriptor(json.dumps(_CONFIG).encode())
    manifest = json.dumps({"schemaVersion": 2, "config": config, "layers": [blob, blob]})
    index = {"schemaVersion": 2, "manifests": [_descriptor(manifest.encode())]}
    return [json.dumps(index), manifest, json.dumps(_CONFIG)]


def _descriptor(content: bytes) -> dict[str, object]:
    return {"digest": f"sha256:{hashlib.sha256(content).hexdigest()}", "size": len(content)}


def _judged(name: str) -> tuple[bool, str]:
    Path("host/dev").mkdir(parents=True, exist_ok=True)
    Path("host/dev/cxi0").touch()
    before = set(Path().iterdir())
    outcome = ended(["doctor", "container", name, "--host", "host"])
    written = set(Path().iterdir()) - before
    return outcome[0], outcome[1] or (f"it wrote {sorted(written)}" if written else "")


def _file_outcome(data: bytes, _i: int) -> tuple[bool, str]:
    Path("image.one").write_bytes(data)
    return _judged("image.one")


def _layer_outcome(form: str, data: bytes, i: int) -> tuple[bool, str]:
    _write_layout([data if form else PACKERS[i % len(PACKERS)](data)])
    return _judged("layout")


def _document_outcome(layer: bytes, data: bytes, i: int) -> tuple[bool, str]:
    """One document damaged, and the ones above it written for it, so that it is reached."""
    place = i % 3
    config = data if place == 0 else json.dumps(_CONFIG).encode()
    _write_layout([layer], config=config, manifest=data if place == 1 else None)
    if place == 2:
        Path("layout/index.json").write_bytes(data)
    return _judged("layout")


def _write_layout(
    layers: Sequence[bytes], config: bytes | None = None, manifest: bytes | None = None
) -> None:
    shutil.rmtree("layout", ignore_errors=True)
    blobs = Path("layout/blobs/sha256")
    blobs.mkdir(parents=True)

    def put(content: bytes) -> dict[str, object]:
        found = _descriptor(content)
        (blobs / str(found["digest"]).partition(":")[2]).write_bytes(content)
        return found

    table = {"config": put(config or json.dumps(_CONFIG).encode()), "layers": [*map(put, layers)]}
    whole = put(manifest or json.dumps(table).encode())
    Path("layout/index.json").write_text(json.dumps({"manifests": [whole]}))
