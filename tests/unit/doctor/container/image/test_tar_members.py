"""Members of a tar as Python's own tarfile reads them, and layers in gzip as zlib unpacks them."""

import gzip
import io
import random
import tarfile
import zlib
from pathlib import Path

import pytest
from tests.unit.doctor.container.image.image_archives import file, layer

from weft.doctor.container.image.layer_stream import DAMAGE, LayerBlob, LayerStream, Packing
from weft.doctor.container.image.tar_members import TarReader

FORMATS = {"ustar": tarfile.USTAR_FORMAT, "pax": tarfile.PAX_FORMAT, "gnu": tarfile.GNU_FORMAT}
KINDS = (tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.LNKTYPE, tarfile.SYMTYPE, tarfile.DIRTYPE,
         tarfile.CHRTYPE, tarfile.FIFOTYPE, tarfile.CONTTYPE)  # fmt: skip


def drawn_archive(seed: int, form: int) -> bytes:
    """Members of all kinds, some with names or numbers that need a header of their own."""
    draw = random.Random(seed)
    out = io.BytesIO()
    has_global = seed % 5 == 4 and form == tarfile.PAX_FORMAT
    pax = {"comment": "one"} if has_global else None
    with tarfile.open(fileobj=out, mode="w", format=form, pax_headers=pax) as archive:
        for number in range(60):
            parts = ["d" * draw.randrange(1, 40) for _ in range(draw.randrange(1, 4))]
            one = tarfile.TarInfo("/".join([*parts, f"{number}{draw.choice(['', '.so', 'ö'])}"]))
            one.type = draw.choice(KINDS)
            one.mtime = draw.choice([0, 1_700_000_000, -1 if form == tarfile.GNU_FORMAT else 1])
            one.uid = draw.choice([0, 1000, 0o7777777])
            if one.type in (tarfile.LNKTYPE, tarfile.SYMTYPE):
                one.linkname = "/".join(["t" * 30] * draw.randrange(1, 4))
            content = draw.randbytes(draw.choice([0, 1, 511, 512, 513, 3000]))
            has_content = one.type in tarfile.REGULAR_TYPES
            one.size = len(content) if has_content else 0
            archive.addfile(one, io.BytesIO(content) if has_content else None)
    return out.getvalue()


def stream_of(path: Path, content: bytes, packing: Packing = Packing.PLAIN) -> LayerStream:
    path.write_bytes(content)
    return LayerStream(path.open("rb"), LayerBlob("layer", path, 0, len(content), packing))


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("seed", range(10))
def test_members_are_those_of_tarfile(tmp_path: Path, seed: int, form: str) -> None:
    content = drawn_archive(seed, FORMATS[form])
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        expected = [
            (one.name, one.type, one.size, one.linkname, one.offset, one.offset_data)
            for one in archive
        ]
    assert len(expected) == 60
    for data, packing in ((content, Packing.PLAIN), (gzip.compress(content, 1), Packing.GZIP)):
        found = list(TarReader(stream_of(tmp_path / packing, data, packing)))
        assert [tuple(one) for one in found] == expected


def test_content_is_read_of_the_member_that_came_last(tmp_path: Path) -> None:
    parts = {f"{size}": random.Random(size).randbytes(size) for size in (0, 1, 512, 700_000)}
    packed = gzip.compress(layer([file(name, part) for name, part in parts.items()]))
    reader = TarReader(stream_of(tmp_path / "layer", packed, Packing.GZIP))
    assert {one.name: b"".join(reader.content(one)) for one in reader} == parts


@pytest.mark.parametrize("packing", [Packing.PLAIN, Packing.GZIP])
@pytest.mark.parametrize("name", ["a.so", "d" * 300])
def test_a_last_member_may_end_with_its_content(
    tmp_path: Path, name: str, packing: Packing
) -> None:
    """As umoci's insert writes a layer, and podman loads it. A byte less is a cut file."""
    whole = layer([file("b.so", b"2" * 700), file(name, b"1" * 700)])
    end = whole.rindex(b"1" * 700) + 700
    pack = gzip.compress if packing is Packing.GZIP else bytes
    path = tmp_path / "layer"
    for kept in (end, end + 1, end + 323):
        found = list(TarReader(stream_of(path, pack(whole[:kept]), packing)))
        assert [(one.name, one.size) for one in found] == [("b.so", 700), (name, 700)]
    for kept in (end - 1, end - 700, end - 701):
        with pytest.raises(DAMAGE):
            list(TarReader(stream_of(path, pack(whole[:kept]), packing)))


@pytest.mark.parametrize("place", [0, 99, 156, 263, 400, 511])
@pytest.mark.parametrize("change", [1, 0x7F, 0x80])
def test_a_header_whose_sum_is_wrong_is_refused(tmp_path: Path, place: int, change: int) -> None:
    content = bytearray(layer([file("a.so", b"1"), file("b.so", b"2")]))
    content[1024 + place] ^= change
    with pytest.raises(DAMAGE):
        list(TarReader(stream_of(tmp_path / "layer", bytes(content))))


@pytest.mark.parametrize("byte", [0x40, 0xFF])
def test_headers_of_any_bytes_have_the_sum_of_tarfile(tmp_path: Path, byte: int) -> None:
    """Bytes above 127 count as positive, or as negative numbers: tarfile takes both."""
    content = bytearray(layer([file("n" * 100, b"1")]))
    for begin, end in ((0, 100), (157, 257), (345, 500)):
        content[begin:end] = bytes([byte]) * (end - begin)
    for total in tarfile.calc_chksums(bytes(content[:512])):  # type: ignore[attr-defined]
        content[148:155] = b"%06o\0" % (total & 0o777777)
        try:
            with tarfile.open(fileobj=io.BytesIO(bytes(content))) as archive:
                expected = archive.getmembers()[0].name
        except tarfile.ReadError:
            with pytest.raises(DAMAGE):
                list(TarReader(stream_of(tmp_path / "layer", bytes(content))))
            continue
        found = list(TarReader(stream_of(tmp_path / "layer", bytes(content))))
        assert found[0].name == expected


def test_a_layer_is_unpacked_as_zlib_unpacks_it(tmp_path: Path) -> None:
    """Also damaged ones: isal, which unpacks layers, refuses what zlib refuses."""
    draw = random.Random(7)
    plain = draw.randbytes(3000) + b"abcd" * 5000 + bytes(40_000)
    outcomes = []
    for number in range(300):
        packed = bytearray(zlib_packed(plain, draw.randrange(0, 10)))
        if number % 3 == 1:
            packed[draw.randrange(len(packed))] ^= 1 << draw.randrange(8)
        elif number % 3 == 2:
            del packed[draw.randrange(1, len(packed)) :]
        try:
            expected: bytes | None = gzip.decompress(bytes(packed))
        except (OSError, EOFError, zlib.error):
            expected = None
        stream = stream_of(tmp_path / "layer", bytes(packed), Packing.GZIP)
        found: bytes | None = b""
        try:
            while piece := stream.read(draw.choice([1, 512, 70_000])):
                assert found is not None
                found += piece
        except DAMAGE:
            found = None
        # Bits of a header that say nothing of the content may be refused by one of them.
        assert found == expected or (found is None and expected == plain), number
        outcomes.append(found)
    assert outcomes.count(plain) >= 100
    assert outcomes.count(None) >= 150


def zlib_packed(content: bytes, level: int) -> bytes:
    return gzip.compress(content, level, mtime=0)
