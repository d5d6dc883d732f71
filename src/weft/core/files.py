"""Files that are written whole or not at all."""

import os
from pathlib import Path

from weft.core.errors import MissingError


def write_whole(out: Path, text: str, *, what: str) -> None:
    """Write a file, whole or not at all; `what` is what it holds.

    Raises MissingError on a disk that refuses.
    """
    partial = out.with_name(f".{out.name}.{os.getpid()}")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        partial.write_text(text, encoding="utf-8")
        partial.replace(out)
    except OSError as error:
        raise MissingError(
            f"the {what} cannot be written ({error.strerror})",
            where=str(out),
            expected="a file in a directory that you may write to",
            hint="name another with -o FILE",
        ) from error
