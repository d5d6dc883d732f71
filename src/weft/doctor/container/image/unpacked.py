"""Files that weft unpacks of an image to read them, in temporary folders of its own."""

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from weft.core.files import storage_error


def own_folder() -> Path:
    """A new folder, which the caller removes. Raises StorageError where no disk takes one."""
    with _storing(Path("TMPDIR")):
        return Path(tempfile.mkdtemp(prefix="weft-image-"))


def store(path: Path, pieces: Iterable[bytes]) -> None:
    """Write a new file. Raises StorageError where the disk refuses; errors of the pieces pass."""
    with _storing(path):
        out = path.open("xb", buffering=0)
    try:
        for piece in pieces:
            left = memoryview(piece)
            while left:
                with _storing(path):
                    left = left[out.write(left) :]
    finally:
        with _storing(path):
            out.close()


@contextmanager
def _storing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        hint = "TMPDIR=DIR of a disk with more room"
        raise storage_error("what weft unpacks of the image", path, error, hint=hint) from error
