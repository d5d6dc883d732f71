"""Files that somebody names: read whole, or refused with what they are instead."""

import errno
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO

from weft.core.errors import InputError
from weft.core.units import format_size

_PIECE_BYTES = 1 << 20
_PIPE = "it is a pipe"
_KINDS = (
    (stat.S_ISDIR, "it is a directory"),
    (stat.S_ISFIFO, _PIPE),
    (stat.S_ISCHR, "it is a device"),
    (stat.S_ISBLK, "it is a device"),
    (stat.S_ISSOCK, "it is a socket"),
)
_OPEN = ("/dev/fd/", "/dev/stdin", "/proc/")
"""Where the system keeps the open files of a process."""


def read_text_file(path: Path, *, expected: str, most_bytes: int, as_it_is: bool = False) -> str:
    """The text of a regular file. Raises InputError for what is none: that never ends, or waits for
    a writer; for what cannot be read, is larger than `most_bytes`, or is no text in UTF-8.

    `as_it_is`: a byte order mark stays, and bytes that are not UTF-8 become U+FFFD."""
    content = read_file_bytes(path, expected=expected, most_bytes=most_bytes)
    text = _decoded(content, as_it_is)
    if text is None:
        raise _refusal(path, "it is not text", expected)
    return text


def read_file_bytes(path: Path, *, expected: str, most_bytes: int) -> bytes:
    """The bytes of a regular file. Raises InputError as `read_text_file`, text or not."""
    with open_file(path, expected=expected, most_bytes=most_bytes) as file:
        content = _read(file, most_bytes + 1)
    # A file of /proc has no size before it is read, and others may grow.
    if len(content) > most_bytes:
        raise _refusal(path, _too_large(most_bytes), expected)
    return content


@contextmanager
def open_file(path: Path, *, expected: str, most_bytes: int) -> Iterator[BufferedReader]:
    """A regular file, open for reading in bytes. Raises InputError as `read_file_bytes`, before
    a byte is read, and where reading fails."""
    try:
        # A pipe without a writer would hold up an open that may wait.
        number = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        raise _refusal(path, _why_not_opened(path, error), expected) from error
    try:
        status = os.fstat(number)
        why = _kind_of(status.st_mode)
        if why or status.st_size > most_bytes:
            raise _refusal(path, why or _too_large(most_bytes), expected)
        with os.fdopen(number, "rb", closefd=False) as file:
            yield file
    except OSError as error:
        raise _refusal(path, error.strerror or str(error), expected) from error
    finally:
        os.close(number)


def refuse_endless(name: str, *, expected: str) -> None:
    """Raises InputError unless the file of that name ends: a regular file, standard input as '-',
    or a pipe that is open already, as `<(zcat FILE)` gives it; and where a file is one large hole.
    For readers that read pieces."""
    if name == "-":
        return
    path = Path(name)
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError) as error:
        raise _refusal(path, _why_not_opened(path, error), expected) from error
    if stat.S_ISFIFO(mode) and name.startswith(_OPEN):
        return
    if why := _kind_of(mode):
        raise _refusal(path, why, expected)
    with open_file(path, expected=expected, most_bytes=sys.maxsize) as file:
        if os.fstat(file.fileno()).st_size and _is_a_hole(file.fileno()):
            raise _refusal(path, "no byte of it was ever written", expected)


def read_text_input(*, expected: str, most_bytes: int, as_it_is: bool = False) -> str:
    """The text of standard input, by the same rules: one that never ends is refused, not read."""
    content = _read(sys.stdin.buffer, most_bytes + 1)
    too_large = len(content) > most_bytes
    text = None if too_large else _decoded(content, as_it_is)
    if text is None:
        why = _too_large(most_bytes) if too_large else "it is not text"
        raise InputError(f"cannot be read: {why}", where="standard input", expected=expected)
    return text


def _read(file: BinaryIO, most_bytes: int) -> bytes:
    """Up to so many bytes. In pieces: Python makes room for all that it is asked for."""
    content = bytearray()
    while len(content) < most_bytes and (piece := file.read(_PIECE_BYTES)):
        content += piece
    return bytes(content[:most_bytes])


def _kind_of(mode: int) -> str | None:
    """The kind of a file that is not regular; None of one that is."""
    return next((word for is_kind, word in _KINDS if is_kind(mode)), None)


def _is_a_hole(number: int) -> bool:
    """Whether a file has a size and no data: 10 GB of it cost nothing, and reading them minutes."""
    try:
        os.lseek(number, 0, os.SEEK_DATA)
    except OSError as error:
        return error.errno == errno.ENXIO
    return False


def _refusal(path: Path, why: str, expected: str) -> InputError:
    return InputError(
        f"cannot be read: {why}",
        where=str(path),
        expected=expected,
        hint="write what comes out of it into a file first" if why == _PIPE else None,
    )


def _too_large(most_bytes: int) -> str:
    return f"it is larger than {format_size(most_bytes)}"


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
