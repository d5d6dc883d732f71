"""The files of a recipe, written into a folder of the user's."""

from collections.abc import Mapping
from pathlib import Path

from weft.core.errors import InputError
from weft.core.files import write_part


def write_files(folder: Path, texts: Mapping[str, str], what: str) -> None:
    """Write texts by file name; `what` they are, in words. Raises InputError where there is another
    file of that name, StorageError."""
    there = [name for name in texts if (folder / name).exists()]
    if there:
        raise InputError(
            f"there is a file '{there[0]}'", where=str(folder), expected="a folder without it"
        )
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        write_part(folder / name, text, what=what)
