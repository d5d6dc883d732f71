"""Files that are written whole or not at all."""

import os
import platform
from pathlib import Path

from weft.core.errors import MissingError


def write_whole(
    out: Path, text: str, *, what: str, hint: str | None = "name another with -o FILE"
) -> None:
    """Write a file, whole or not at all; `what` is what it holds. Processes of hosts that share the
    directory may write at once: the last one stays. Of a link the file that it leads to is written.
    A device or a pipe (/dev/stdout) cannot be replaced, and is written into.

    Raises MissingError on a disk that refuses.
    """
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        if out.exists() and not out.is_file():
            out.write_text(text, encoding="utf-8")
        else:
            _replace(Path(os.path.realpath(out)), text)
    except OSError as error:
        raise MissingError(
            f"the {what} cannot be written ({error.strerror})",
            where=str(out),
            expected="a file in a directory that you may write to",
            hint=hint,
        ) from error


def _replace(out: Path, text: str) -> None:
    partial = out.with_name(f".{out.name}.{platform.node()}-{os.getpid()}")
    try:
        partial.write_text(text, encoding="utf-8")
        partial.replace(out)
    except OSError:
        partial.unlink(missing_ok=True)
        raise
