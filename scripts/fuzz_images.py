"""Damaged images of containers, through the verb that judges them."""

import gzip
import hashlib
import json
import shutil
import sys
import tarfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import fuzz_mutations
import zstandard
from fuzz_documents import DOCUMENT_LIMIT_S, damaged_words, ended
from fuzz_mutations import Reader

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.unit.doctor.container.image.image_archives import (
    Member,
    config,
    docker_tar,
    file,
    folder,
    hard,
    layer,
    link,
)
from tests.unit.doctor.container.image.single_files import PRIMARY, SQUASHFS, sif_bytes

from weft.doctor.container.image.single_file import open_single_file
from weft.doctor.container.image.tree import NodeKind, Tree

FIXTURES = Path(__file__).resolve().parent.parent / "tests" / "fixtures" / "images"
PACKERS: tuple[Callable[[bytes], bytes], ...] = (
    bytes,
    partial(gzip.compress, mtime=0),
    zstandard.ZstdCompressor().compress,
)
ENV = ("LD_LIBRARY_PATH=/usr/lib",)
CONFIG = config(ENV)
ODD_MEMBERS = (
    hard("opt/hard.so", "usr/lib/libc.so.6"),
    file("opt/hard.file"),
    hard("opt/named.so", "opt/hard.file"),
    file("opt/a/.wh.f1"),
    file(f"opt/{'n' * 150}.so"),
)
_reader = partial(Reader, limit_s=DOCUMENT_LIMIT_S)


def image_readers() -> list[Reader]:
    """Readers of images by their form. They write into the folder they work in."""
    squashfs = [path.read_bytes() for path in sorted(FIXTURES.glob("*.sqsh"))]
    plain = FIXTURES / "plain.sqsh"
    opened = open_single_file(plain)
    assert opened is not None
    content = layer([*_members(opened.tree, "/"), *ODD_MEMBERS])
    opened.close()
    archive = docker_tar([PACKERS[0](content), PACKERS[1](content)], ENV)
    sif = sif_bytes([(SQUASHFS, PRIMARY, plain.read_bytes())], n_total=4, start=128, offset=4096)
    return [
        _reader("image: squashfs", _as_text(squashfs), damaged_words, _file_outcome),
        _reader("image: SIF", _as_text([sif]), damaged_words, _file_outcome),
        _reader("image: docker archive", _as_text([archive]), damaged_words, _file_outcome),
        _reader(
            "image: OCI layer", _as_text([content]), damaged_words, partial(_layer_outcome, "")
        ),
        _reader(
            "image: packed OCI layer", _as_text([pack(content) for pack in PACKERS[1:]]),
            damaged_words, partial(_layer_outcome, "packed"),
        ),
        _reader(
            "image: OCI documents", tuple(_documents(content)), fuzz_mutations.mutated_json,
            partial(_document_outcome, content),
        ),
    ]  # fmt: skip


def _as_text(contents: Sequence[bytes]) -> tuple[str, ...]:
    return tuple(one.decode("latin-1") for one in contents)


def _members(tree: Tree, top: str) -> list[Member]:
    """All below a folder, as members of a layer."""
    found: list[Member] = []
    for name in tree.names(top):
        path = f"{top.rstrip('/')}/{name}"
        node = tree.node(path)
        assert node is not None
        own = path.lstrip("/")
        if node.kind is NodeKind.FOLDER:
            found += [folder(own), *_members(tree, path)]
        elif node.kind is NodeKind.LINK:
            found.append(link(own, node.target))
        elif node.kind is NodeKind.FILE:
            with tree.reader(path) as opened:
                found.append(file(own, opened.read()))
        else:
            found.append((own, None, tarfile.FIFOTYPE))
    return found


def _documents(content: bytes) -> list[str]:
    """The index, the manifest and the configuration of a layout."""
    blob, own = _descriptor(content), _descriptor(CONFIG)
    manifest = json.dumps({"schemaVersion": 2, "config": own, "layers": [blob, blob]})
    index = {"schemaVersion": 2, "manifests": [_descriptor(manifest.encode())]}
    return [json.dumps(index), manifest, CONFIG.decode()]


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


def _document_outcome(content: bytes, data: bytes, i: int) -> tuple[bool, str]:
    """One document damaged, and the ones above it written for it, so that it is reached."""
    place = i % 3
    own = data if place == 0 else CONFIG
    _write_layout([content], own, manifest=data if place == 1 else None)
    if place == 2:
        Path("layout/index.json").write_bytes(data)
    return _judged("layout")


def _write_layout(
    layers: Sequence[bytes], own: bytes = CONFIG, manifest: bytes | None = None
) -> None:
    shutil.rmtree("layout", ignore_errors=True)
    blobs = Path("layout/blobs/sha256")
    blobs.mkdir(parents=True)

    def put(content: bytes) -> dict[str, object]:
        found = _descriptor(content)
        (blobs / str(found["digest"]).partition(":")[2]).write_bytes(content)
        return found

    table = {"config": put(own), "layers": [*map(put, layers)]}
    whole = put(manifest or json.dumps(table).encode())
    Path("layout/index.json").write_text(json.dumps({"manifests": [whole]}))
