"""Secrets out of a file that holds an environment, everything else untouched."""

import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import IO

from weft.core.files import storage_error, write_part
from weft.launch.redact import redact_environment
from weft.launch.secret_text import MASK, mask_text

_RECORDED = re.compile(rb'"env(?:ironment)?"\s*:\s*([\[{])')
_KEY = (b"-----BEGIN ", b"-----END ")
_STEP = 1 << 22
_MOST_IN_MEMORY = 1 << 25
_LONGEST_SECRET = 1 << 21
"""A recorded environment is as long as Linux lets one be (SOURCE: execve(2), at a stack of 8 MiB);
keys are shorter."""
_QUOTE_OR_BRACKET = re.compile(rb'["\[\]{}]')
_REST_OF_STRING = re.compile(rb'((?:[^"\\\r\n]|\\.)*)("?)')


def redact_content(content: bytes) -> tuple[bytes, int]:
    """The content with what may be secret masked, and how many values that were.

    In a JSON environment (`"env": [...]` or `{...}`) every value is masked but those of settings
    that are known to hold none; everywhere else as in any text (`weft.launch.secret_text`). Line
    numbers stay.
    """
    whole, n_recorded = _redact_recorded(content)
    # Each byte as one character: secrets are ASCII, and what is no text stays as it is.
    text, n_others = mask_text(whole.decode("latin-1"))
    return (text.encode("latin-1") if n_others else whole), n_recorded + n_others


def redact_output(path: Path) -> None:
    """Mask secrets in a file of a process's output, in place. Lines of records (`{`) stay as they
    are: the kernel writes them, and they are most of it. Raises StorageError."""
    try:
        with path.open("rb") as file:
            if any(n_masked for _, n_masked in _redacted_blocks(file)):
                file.seek(0)
                parts = (block for block, _ in _redacted_blocks(file))
                write_part(path, parts, what="output of a command")
    except FileNotFoundError:
        return
    except OSError as error:
        raise storage_error("the output of a command", path, error) from error


def _redacted_blocks(file: IO[bytes]) -> Iterator[tuple[bytes, int]]:
    for window in _windows(file):
        lines = window.splitlines(keepends=True)
        for is_record, block in groupby(lines, lambda line: line.startswith(b"{")):
            content = b"".join(block)
            yield (content, 0) if is_record else redact_content(content)


def _windows(file: IO[bytes]) -> Iterator[bytes]:
    """The file in parts of whole lines, each ending where no secret of several lines can be open,
    or at the most bytes of a part."""
    window = bytearray()
    while read := file.read(_STEP):
        window += read
        end = window.rfind(b"\n") + 1
        tail = window[max(0, end - _LONGEST_SECRET) : end]
        is_open = tail.rfind(_KEY[0]) > tail.rfind(_KEY[1]) or _RECORDED.search(tail)
        if len(window) >= _MOST_IN_MEMORY or (end and not is_open):
            end = end or len(window)
            yield bytes(window[:end])
            del window[:end]
    yield bytes(window)


def _redact_recorded(content: bytes) -> tuple[bytes, int]:
    """Each recorded environment, string by string, up to its closing bracket. A string that does
    not end on its line is masked as far as the line goes."""
    parts: list[bytes] = []
    at = n_masked = 0
    while opened := _RECORDED.search(content, at):
        parts.append(content[at : opened.end()])
        at = opened.end()
        within = [opened.group(1)]
        name = b""
        while within and (found := _QUOTE_OR_BRACKET.search(content, at)):
            between = content[at : found.end()]
            at = found.end()
            if found.group() != b'"':
                parts.append(between)
                if found.group() in b"[{":
                    within.append(found.group())
                else:
                    within.pop()
                continue
            is_list = within[-1] == b"["
            string = _REST_OF_STRING.match(content, at)
            assert string is not None
            text, closing = string.groups()
            is_value = is_list or between.strip().startswith(b":")
            shown = text
            if is_value:
                shown = _shown_entry(text) if is_list else _shown_value(name, text)
            shown = shown if closing else MASK.encode()
            n_masked += shown != text
            parts.extend((between, shown, closing))
            name, at = text, string.end()
    parts.append(content[at:])
    return b"".join(parts), n_masked


def _shown_entry(entry: bytes) -> bytes:
    """'NAME=VALUE' with its value masked unless it is a known setting."""
    name, equals, value = entry.partition(b"=")
    return name + equals + _shown_value(name, value) if equals else MASK.encode()


def _shown_value(name: bytes, value: bytes) -> bytes:
    shown = redact_environment({_text(name): _text(value)})[_text(name)]
    return value if shown != MASK else MASK.encode()


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")
