"""Images in one file: squashfs made by mksquashfs, and images of Apptainer around one."""

import struct
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.needs import need

COMPRESSORS = ("gzip", "xz", "zstd", "lzo", "lz4")
SQUASHFS, EXT3, ENCRYPTED = 1, 2, 5
PRIMARY, OVERLAY = 2, 4


def squashfs(path: Path, root: Path, *options: str) -> Path:
    """A squashfs with all below a folder."""
    need("mksquashfs", package="squashfs-tools", path="/usr/bin:/bin:/usr/sbin:/sbin")
    argv = ["mksquashfs", str(root), str(path), "-noappend", "-quiet", "-no-progress", *options]
    subprocess.run(argv, check=True, capture_output=True)
    return path


Part = tuple[int, int, bytes]
"""A partition: file system, use, content."""


def sif_bytes(
    parts: Sequence[Part],
    machine: bytes = b"02",
    *,
    n_total: int = 48,
    start: int = 4096,
    offset: int = 32768,
) -> bytes:
    """An image of Apptainer with partitions: a table of `n_total` entries begins at `start`, the
    content at `offset`.

    SOURCE: sylabs/sif, pkg/sif/sif.go and descriptor.go."""
    table, content = b"", b""
    for number, (file_system, use, one) in enumerate(parts, 1):
        extra = struct.pack("<ii3s", file_system, use, machine)
        table += struct.pack(
            "<i?III7q128s384s", 0x4004, True, number, 0, 0, offset + len(content), len(one),
            len(one), 0, 0, 0, 0, b"part", extra,
        )  # fmt: skip
        content += one + bytes(-len(one) % 4096)
    table = table.ljust(585 * n_total, b"\0")
    head = struct.pack(
        "<32s10s3s3s16s8q", b"#!/usr/bin/env run-singularity\n", b"SIF_MAGIC", b"01", machine,
        bytes(16), 0, 0, n_total - len(parts), n_total, start, len(table), offset, len(content),
    )  # fmt: skip
    return (head.ljust(start, b"\0") + table).ljust(offset, b"\0") + content


def sif(path: Path, parts: Sequence[Part], machine: bytes = b"02") -> Path:
    """The same as a file."""
    path.write_bytes(sif_bytes(parts, machine))
    return path
