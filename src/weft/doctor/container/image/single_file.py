"""Images in one file that is read in place: a squashfs, by itself or in an image of Apptainer."""

import os
from collections.abc import Callable
from pathlib import Path

from weft.core.documents.text_file import open_file
from weft.doctor.container.image import sif
from weft.doctor.container.image.image import (
    EXPECTED,
    MOST_ARCHIVE_BYTES,
    ContainerImage,
    variables_of_files,
)
from weft.doctor.container.image.image_part import ImagePart
from weft.doctor.container.image.squashfs import superblock
from weft.doctor.container.image.squashfs.squashfs_tree import SquashfsTree
from weft.doctor.container.image.tree import open_regular
from weft.doctor.container.image.view import View

_BEGIN_BYTES = 64


def open_single_file(path: Path) -> ContainerImage | None:
    """A squashfs or an image of Apptainer, None for a file of another kind. Raises InputError."""
    with open_file(path, expected=EXPECTED, most_bytes=MOST_ARCHIVE_BYTES) as file:
        begin = file.read(_BEGIN_BYTES)
    is_sif = begin.startswith(sif.MAGIC, sif.MAGIC_OFFSET)
    if not is_sif and not begin.startswith(superblock.MAGIC):
        return None
    raw = open_regular(path, follow=True)
    try:
        file_part = ImagePart(raw, 0, raw.seek(0, os.SEEK_END))
        return _opened(file_part, str(path), raw.close, is_sif=is_sif)
    except BaseException:
        raw.close()
        raise


def _opened(
    file: ImagePart, name: str, close: Callable[[], None], *, is_sif: bool
) -> ContainerImage:
    part, kind, architecture = file, "squashfs", ""
    if is_sif:
        system = sif.system_partition(file, name)
        part = file.part(system.offset, system.size)
        kind, architecture = "image of Apptainer", system.architecture
    tree = SquashfsTree(part, name)
    values = variables_of_files(View(tree))
    return ContainerImage(name, kind, tree, values, architecture, close=close)
