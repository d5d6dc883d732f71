"""JSON documents in the bytes of a log: where they begin and end, whatever stands around them."""

import json
import re
from collections.abc import Iterator
from json.decoder import JSONDecodeError
from typing import NamedTuple

from weft.results.lines.clean import Buffer

_MAX_DOCUMENT_BYTES = 1 << 26
_MAX_LOOKED_AT_BYTES = 1 << 28
_MAX_BALANCED_CHARACTERS = 1 << 22
_MAX_DOCUMENTS = 1000
_HEAD_BYTES = 4096
_BLANKS = b" \t\r\n"
_TOKENS = re.compile(r'"[^"\\\n]*(?:\\.[^"\\\n]*)*"|[{}\[\]]')
_DECODER = json.JSONDecoder()


class JsonDocument(NamedTuple):
    """A piece of a log that looks like JSON: its bytes from `start` to `end`, its first line
    (counted from 1), how many lines it has, and its text."""

    start: int
    end: int
    first_line: int
    n_lines: int
    text: str


def documents_in(content: Buffer) -> Iterator[JsonDocument]:
    """Pieces that begin with `{` at the beginning of a line, or, where the content begins with
    it, with `[` and `{`.

    A valid document ends where JSON ends; consecutive documents of one line each count as one
    piece; one that is not valid ends with the bracket that closes its first.
    """
    at, line, budget = 0, 1, _MAX_LOOKED_AT_BYTES
    for _ in range(_MAX_DOCUMENTS):
        start = _next_start(content, at)
        if start < 0 or budget <= 0:
            return
        end = _end_of_lines(content, start)
        if end == start:
            end = _end_of(content, start)
            budget -= min(len(content) - start, _MAX_DOCUMENT_BYTES)
        line += content[at:start].count(b"\n")
        piece = content[start:end]
        yield JsonDocument(
            start=start,
            end=end,
            first_line=line,
            n_lines=piece.count(b"\n") + (not piece.endswith(b"\n")),
            text=piece.decode("utf-8", "replace"),
        )
        line += piece.count(b"\n")
        at = end


def _next_start(content: Buffer, at: int) -> int:
    if at == 0:
        head = content[:_HEAD_BYTES].lstrip(_BLANKS)
        if head[:1] == b"{" or (head[:1] == b"[" and head[1:].lstrip(_BLANKS)[:1] == b"{"):
            return 0
    elif content[at : at + 1] == b"{":
        return at
    found = content.find(b"\n{", at)
    return found + 1 if found >= 0 else -1


def _end_of(content: Buffer, start: int) -> int:
    """Where the document that begins at `start` ends, line end included."""
    text = content[start : start + _MAX_DOCUMENT_BYTES].decode("latin-1")
    try:
        _, length = _DECODER.raw_decode(text, len(text) - len(text.lstrip()))
    except (JSONDecodeError, RecursionError, ValueError):
        length = _balanced_length(text)
    feed = content.find(b"\n", start + length)
    return len(content) if feed < 0 else feed + 1


def _balanced_length(text: str) -> int:
    """How far it is to the bracket that closes the first one; the whole text where none does."""
    depth = 0
    for token in _TOKENS.finditer(text, 0, _MAX_BALANCED_CHARACTERS):
        bracket = token.group()
        if bracket in "{[":
            depth += 1
        elif bracket in "}]":
            depth -= 1
            if depth <= 0:
                return token.end()
    return len(text)


def _end_of_lines(content: Buffer, start: int) -> int:
    """The end of the consecutive lines that are a document each; `start` where there are none."""
    at = start
    while content[at : at + 1] == b"{":
        feed = content.find(b"\n", at)
        end = len(content) if feed < 0 else feed + 1
        if content[at:end].rstrip()[-1:] != b"}":
            break
        at = end
    return at
