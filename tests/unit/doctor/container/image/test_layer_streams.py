"""Packed layers: headers of gzip in two reads, names without end, whiteouts."""

import gzip
import random
import struct
import tempfile
import zlib
from pathlib import Path

import pytest
import zstandard
from tests.unit.doctor.container.image.image_archives import (
    PACKINGS,
    docker_archive,
    file,
    layer,
    link,
    view_of,
)

from weft.core.errors import InputError
from weft.doctor.container.image import layer_stream
from weft.doctor.container.image.image import open_image
from weft.doctor.container.image.layer_stream import LayerBlob, LayerStream, Packing


@pytest.fixture(autouse=True)
def _own_temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def content_of(path: Path, packed: bytes, packing: Packing) -> bytes:
    path.write_bytes(packed)
    with path.open("rb") as raw:
        stream = LayerStream(raw, LayerBlob("one", path, 0, len(packed), packing))
        pieces = []
        while piece := stream.read(1 << 16):
            pieces.append(piece)
    return b"".join(pieces)


def gzip_member(content: bytes, flags: int) -> bytes:
    """By RFC 1952, with each optional field that `flags` has."""
    head = b"\x1f\x8b\x08" + bytes([flags]) + b"\0\0\0\0\0\x03"
    head += (struct.pack("<H", 9) + b"x" * 9 if flags & 4 else b"") + (
        b"nm\0" if flags & 8 else b""
    )
    head += b"comment\0" if flags & 16 else b""
    head += struct.pack("<H", zlib.crc32(head) & 0xFFFF) if flags & 2 else b""
    packer = zlib.compressobj(wbits=-15)
    body = packer.compress(content) + packer.flush()
    return head + body + struct.pack("<II", zlib.crc32(content), len(content))


@pytest.mark.parametrize("flags", range(0, 32, 2))
@pytest.mark.parametrize("n_read", [1, 3, 11, 17])
def test_a_header_of_gzip_may_lie_in_many_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flags: int, n_read: int
) -> None:
    monkeypatch.setattr(layer_stream, "_PACKED_BYTES", n_read)
    packed = gzip_member(b"first", flags) + gzip_member(b"second", flags)
    assert gzip.decompress(packed) == b"firstsecond"
    assert content_of(tmp_path / "one", packed, Packing.GZIP) == b"firstsecond"


ZSTD_CONTENTS = {
    "compressed": b"".join(b"%d " % one for one in range(99)),
    "stored": random.Random(1).randbytes(120),
    "repeated": bytes(700),
    "nothing": b"",
}


@pytest.mark.parametrize("checksum", [False, True])
@pytest.mark.parametrize("content_size", [False, True])
@pytest.mark.parametrize("name", ZSTD_CONTENTS)
def test_a_zstd_layer_that_is_cut_is_refused_wherever_it_is_cut(
    tmp_path: Path, name: str, content_size: bool, checksum: bool
) -> None:
    packer = zstandard.ZstdCompressor(
        write_content_size=content_size, write_checksum=checksum
    ).compress
    content = ZSTD_CONTENTS[name]
    skipped = b"\x50\x2a\x4d\x18\x02\0\0\0ab"
    frames = [skipped, packer(content), packer(content[:100]), skipped]
    ends = {sum(map(len, frames[:n])): n for n in range(1, len(frames) + 1)}
    packed = b"".join(frames)
    contents = [b"", b"", content, content + content[:100], content + content[:100]]
    for n_bytes in range(1, len(packed) + 1):
        cut = packed[:n_bytes]
        if n_bytes in ends:
            found = content_of(tmp_path / "one", cut, Packing.ZSTD)
            assert found == contents[ends[n_bytes]]
        else:
            with pytest.raises(EOFError, match="it ends in the middle of a frame"):
                content_of(tmp_path / "one", cut, Packing.ZSTD)


@pytest.mark.parametrize("n_read", [1, 127, 128, 129, 1000])
def test_the_end_of_a_zstd_layer_may_lie_in_many_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n_read: int
) -> None:
    monkeypatch.setattr(layer_stream, "PIECE_BYTES", n_read)
    content = bytes(700)
    packed = zstandard.ZstdCompressor().compress(content)
    assert content_of(tmp_path / "one", packed, Packing.ZSTD) == content


def test_a_cut_zstd_layer_is_refused_by_name(tmp_path: Path) -> None:
    """Its content was read whole: only the end of the archive is missing."""
    packed = zstandard.ZstdCompressor().compress(layer([file("usr/lib/libx.so.1", b"abc")]))
    archive = docker_archive(tmp_path / "image.tar", [packed[:-3]])
    with pytest.raises(InputError) as caught:
        open_image(archive)
    assert "damaged (it ends in the middle of a frame)" in str(caught.value)
    assert "layer 1" in str(caught.value)


@pytest.mark.parametrize("pack", PACKINGS.values(), ids=PACKINGS)
def test_a_whiteout_of_a_file_that_matters_is_no_file(tmp_path: Path, pack) -> None:
    """The library is a link to a file of any name, for which the layers are read twice."""
    base = [
        file("etc/ld.so.conf.d/cuda.conf", b"/cuda\n"),
        file("opt/real", b"abc"),
        link("usr/lib/libx.so.1", "/opt/real"),
    ]
    layers = [layer(base), layer([file("etc/ld.so.conf.d/.wh.cuda.conf")])]
    archive = docker_archive(tmp_path / "image.tar", [pack(one) for one in layers])
    tree = open_image(archive).tree
    assert tree.names("/etc/ld.so.conf.d") == []
    with tree.reader("/opt/real") as found:
        assert found.read() == b"abc"


def test_names_without_end_are_refused_before_they_wait(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a name of more than 4,096 bytes"):
        view_of(tmp_path, layer([file("a" * 5000)]))
