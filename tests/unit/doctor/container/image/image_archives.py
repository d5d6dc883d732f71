"""Images as files: OCI layouts and docker archives made of layers, members written by hand."""

import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Sequence
from pathlib import Path

import zstandard

from weft.doctor.container.image.image import open_image
from weft.doctor.container.image.view import View

Member = tuple[str, bytes | str | None, bytes]
"""(name, content or a link's target or None for a folder, type)."""
PACKINGS = {
    "plain": lambda content: content,
    "gzip": gzip.compress,
    "gzip in two members": lambda content: (
        gzip.compress(content[:900]) + gzip.compress(content[900:])
    ),
    "zstd": zstandard.ZstdCompressor().compress,
    # As zstd:chunked: a frame to skip, then frames one after another.
    "zstd in frames": lambda content: (
        b"\x50\x2a\x4d\x18\x02\0\0\0ab"
        + b"".join(
            zstandard.ZstdCompressor().compress(one) for one in (content[:900], content[900:])
        )
    ),
}


def file(name: str, content: bytes = b"") -> Member:
    return name, content, tarfile.REGTYPE


def folder(name: str) -> Member:
    return name, None, tarfile.DIRTYPE


def link(name: str, target: str) -> Member:
    return name, target, tarfile.SYMTYPE


def hard(name: str, target: str) -> Member:
    return name, target, tarfile.LNKTYPE


def layer(members: Sequence[Member]) -> bytes:
    """A layer in tar."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, content, kind in members:
            info = tarfile.TarInfo(name)
            info.type = kind
            if isinstance(content, str):
                info.linkname = content
            elif content is not None:
                info.size = len(content)
            archive.addfile(info, io.BytesIO(content) if isinstance(content, bytes) else None)
    return out.getvalue()


def layer_of(root: Path) -> bytes:
    """A layer of all files of a folder."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        archive.add(root, arcname=".")
    return out.getvalue()


def config(env: Sequence[str] = (), digests: Sequence[str] = (), **settings: object) -> bytes:
    table = {"architecture": "amd64", "os": "linux", "config": {"Env": list(env), **settings}}
    if digests:
        table["rootfs"] = {"type": "layers", "diff_ids": list(digests)}
    return json.dumps(table).encode()


def docker_tar(
    layers: Sequence[bytes],
    env: Sequence[str] = (),
    digests: Sequence[str] = (),
    **settings: object,
) -> bytes:
    """As `docker save` wrote it before version 25. `digests` are the configuration's of layers."""
    names = [f"{index}/layer.tar" for index in range(len(layers))]
    manifest = [{"Config": "c.json", "RepoTags": ["i:1"], "Layers": names}]
    parts = {
        "c.json": config(env, digests, **settings),
        "manifest.json": json.dumps(manifest).encode(),
    }
    parts |= dict(zip(names, layers, strict=True))
    return layer([file(name, content) for name, content in parts.items()])


def docker_archive(
    path: Path, layers: Sequence[bytes], env: Sequence[str] = (), **settings: object
) -> Path:
    """The same as a file."""
    path.write_bytes(docker_tar(layers, env, **settings))
    return path


def oci_layout(path: Path, layers: Sequence[bytes], env: Sequence[str] = ()) -> Path:
    """A layout in a folder, its layers packed by gzip."""
    blobs = path / "blobs/sha256"
    blobs.mkdir(parents=True)

    def put(content: bytes, kind: str) -> dict[str, object]:
        digest = hashlib.sha256(content).hexdigest()
        (blobs / digest).write_bytes(content)
        media = f"application/vnd.oci.image.{kind}"
        return {"mediaType": media, "digest": f"sha256:{digest}", "size": len(content)}

    listed = [put(gzip.compress(one, 1), "layer.v1.tar+gzip") for one in layers]
    manifest = {"schemaVersion": 2, "config": put(config(env), "config.v1+json"), "layers": listed}
    index = {
        "schemaVersion": 2,
        "manifests": [put(json.dumps(manifest).encode(), "manifest.v1+json")],
    }
    (path / "index.json").write_text(json.dumps(index))
    (path / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')
    return path


def view_of(tmp_path: Path, *layers: bytes) -> View:
    """The files of an image of plain or packed layers."""
    return View(open_image(docker_archive(tmp_path / "image.tar", layers)).tree)
