"""Images of Apptainer in one file: a header, descriptors of its parts, a squashfs in one of them.

SOURCE: sylabs/sif, pkg/sif/sif.go and descriptor.go: header, rawDescriptor, partition.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NoReturn

from weft.core.shell_line import quoted
from weft.doctor.container.image.image_part import ImagePart
from weft.doctor.container.image.tree import DamagedImageError

MAGIC, MAGIC_OFFSET = b"SIF_MAGIC\0", 32
MOST_DESCRIPTORS = 10_000
_HEADER = struct.Struct("<32s10s3s3s16s8q")
_DESCRIPTOR = struct.Struct("<i?III7q128s384s")
_PARTITION = struct.Struct("<ii3s")
_IS_PARTITION, _IS_OCI_INDEX = 0x4004, 0x400A
_SQUASHFS = 1
_FILE_SYSTEMS = {2: "ext3", 3: "an archive", 4: "raw bytes"}
_PRIMARY, _OVERLAY = 2, 4
_ARCHITECTURES = {b"01": "i686", b"02": "x86_64", b"04": "aarch64", b"06": "ppc64le",
                  b"11": "s390x"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class SifPart:
    """A part of the file. Of a partition, the numbers of its file system and its use, and the
    machine that it is for."""

    data_type: int
    number: int
    offset: int
    size: int
    file_system: int
    use: int
    architecture: str


def system_partition(file: ImagePart, name: str) -> SifPart:
    """The partition with the root file system. Raises DamagedImageError where it is none that weft
    reads."""
    parts = list(_parts(file, name))
    primary = [one for one in parts if one.use == _PRIMARY]
    if not primary:
        is_oci = any(one.data_type == _IS_OCI_INDEX for one in parts)
        what = "layers of OCI in it" if is_oci else "no system partition in it"
        _refuse(name, f"an image of Apptainer with {what}", unpacked=name if is_oci else "")
    (first, *_) = primary
    if any(one.use == _OVERLAY for one in parts):
        what = "an image of Apptainer with an overlay, whose files weft does not read"
        _refuse(name, what, unpacked=name)
    if first.file_system != _SQUASHFS:
        kind = _FILE_SYSTEMS.get(first.file_system, "an encrypted file system")
        what = f"it holds {kind}, which weft does not read"
        _refuse(f"{name}, partition {first.number}", what, unpacked=name)
    if first.offset < 0 or first.size < 0 or first.offset + first.size > file.size:
        _refuse(f"{name}, partition {first.number}", "it is cut: the partition ends behind it")
    return first


def _parts(file: ImagePart, name: str) -> Iterator[SifPart]:
    header = file.read_at(0, _HEADER.size)
    if len(header) < _HEADER.size:
        _refuse(name, "an image of Apptainer that is cut")
    _, _, _, _, _, _, _, _, total, offset, *_ = _HEADER.unpack(header)
    if not 0 <= total <= MOST_DESCRIPTORS:
        _refuse(name, f"an image of Apptainer with {total:,} descriptors")
    table = file.read_at(offset, total * _DESCRIPTOR.size)
    if len(table) < total * _DESCRIPTOR.size:
        _refuse(name, "an image of Apptainer that is cut")
    for entry in _DESCRIPTOR.iter_unpack(table):
        data_type, is_used, number, _, _, start, size, *_, extra = entry
        file_system, use, machine = _PARTITION.unpack_from(extra)
        if data_type != _IS_PARTITION:
            file_system = use = 0
        if is_used:
            architecture = _ARCHITECTURES.get(machine.rstrip(b"\0"), "")
            yield SifPart(data_type, number, start, size, file_system, use, architecture)


def _refuse(where: str, what: str, *, unpacked: str = "") -> NoReturn:
    """`unpacked` is the file of an image that is whole, and that Apptainer can unpack."""
    raise DamagedImageError(
        what,
        where=where,
        expected="an image of Apptainer with one squashfs",
        hint=f"unpack it: apptainer build --sandbox DIR {quoted(unpacked)}" if unpacked else None,
    )
