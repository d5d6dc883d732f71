"""Files that somebody names: read whole, or refused with what they are instead."""

import errno
import os
import stat
import sys
from pathlib import Path

from weft.core.errors import InputError
from weft.core.units import format_size

_KINDS = (
    (stat.S_ISDIR, "it is a directory"),
    (stat.S_ISFIFO, "it is a pipe"),
    (stat.S_ISCHR, "it is a device"),
    (stat.S_ISBLK, "it is a device"),
)


def read_text_file(path: Path, *, expected: str, most_bytes: int, as_it_is: bool = False) -> str:
    """The text of a regular file. Raises InputError for what is none: that never ends, or waits for
    a writer; for what cannot be read, is larger than `most_bytes`, or is no text in UTF-8.

    `as_it_is`: a byte order mark stays, and bytes that are not UTF-8 become U+FFFD."""
    content = read_file_bytes(path, expected=expected, most_bytes=most_bytes)
    text = _decoded(content, as_it_is)
    if text is None:
        raise InputError("cannot be read: it is not text", where=str(path), expected=expected)
    return text


def read_file_bytes(path: Path, *, expected: str, most_bytes: int) -> bytes:
    """The bytes of a regular file. Raises InputError as `read_text_file`, text or not."""
    try:
        why, content = _read(path, most_bytes + 1)
    except (OSError, ValueError) as error:
        why, content = _why_not_opened(path, error), b""
    if not why and len(content) > most_bytes:
        why = f"it is larger than {format_size(most_bytes)}"
    if why:
        raise InputError(
            f"cannot be read: {why}",
            where=str(path),
            expected=expected,
            hint="write what comes out of it into a file first" if why == "it is a pipe" else None,
        )
    return content


def read_text_input(*, expected: str, most_bytes: int, as_it_is: bool = False) -> str:
    """The text of standard input, by the same rules: one that never ends is refused, not read."""
    content = sys.stdin.buffer.read(most_bytes + 1)
    too_large = len(content) > most_bytes
    text = None if too_large else _decoded(content, as_it_is)
    if text is None:
        why = f"it is larger than {format_size(most_bytes)}" if too_large else "it is not text"
        raise InputError(f"cannot be read: {why}", where="standard input", expected=expected)
    return text


def _read(path: Path, most_bytes: int) -> tuple[str | None, bytes]:
    """The kind of a path that is no regular file, and the content of one."""
    # A pipe without a writer would hold up an open that may wait.
    number = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        mode = os.fstat(number).st_mode
        why = next((word for is_kind, word in _KINDS if is_kind(mode)), None)
        if why is not None:
            return (why, b"")
        with os.fdopen(number, "rb", closefd=False) as file:
            return (None, file.read(most_bytes))
    finally:
        os.close(number)


def _why_not_opened(path: Path, error: OSError | ValueError) -> str:
    # Linux refuses to open a socket, so its kind is asked first.
    if getattr(error, "errno", None) == errno.ENXIO and path.is_socket():
        return "it is a socket"
    return getattr(error, "strerror", None) or str(error)


def _decoded(content: bytes, as_it_is: bool) -> str | None:
    """The text; None where it is none."""
    try:
        text = content.decode("utf-8", "replace") if as_it_is else content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text
