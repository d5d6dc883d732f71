"""JSON documents in the bytes of a log: where they begin and end, whatever stands around them."""

import json
from collections.abc import Iterator
from json.decoder import JSONDecodeError
from typing import NamedTuple

from weft.bench.parse.clean import Buffer

_MAX_DOCUMENT_BYTES = 1 << 26
_MAX_DOCUMENTS = 1000
_HEAD_BYTES = 4096
_BLANKS = b" \t\r\n"
_DECODER = json.JSONDecoder()


class Document(NamedTuple):
    """A piece of a log that looks like JSON: its bytes from `start` to `end`, its first line
    (counted from 1), how many lines it has, and its text."""

    start: int
    end: int
    first_line: int
    n_lines: int
    text: str


def documents_in(content: Buffer) -> Iterator[Document]:
    """Pieces that begin with `{` at the beginning of a line, or, where the content begins with
    it, with `[` and `{`.

    A valid document ends where JSON ends; consecutive documents of one line each count as one
    piece; one that is not valid ends with the first line that begins with its closing bracket.
    """
    at, line, budget = 0, 1, _MAX_DOCUMENT_BYTES
    for _ in range(_MAX_DOCUMENTS):
        start = _next_start(content, at)
        if start < 0 or budget <= 0:
            return
        end = _end_of(content, start)
        line += content[at:start].count(b"\n")
        piece = content[start:end]
        yield Document(
            start=start,
            end=end,
            first_line=line,
            n_lines=piece.count(b"\n") + (not piece.endswith(b"\n")),
            text=piece.decode("utf-8", "replace"),
        )
        line += piece.count(b"\n")
        budget -= end - start
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
    """Where the piece that begins at `start` ends, line end included."""
    one_line = _end_of_lines(content, start)
    if one_line > start:
        return one_line
    piece = content[start : start + _MAX_DOCUMENT_BYTES]
    text = piece.decode("latin-1")
    try:
        _, length = _DECODER.raw_decode(text, len(text) - len(text.lstrip()))
    except (JSONDecodeError, RecursionError, ValueError):
        closing = b"\n}" if piece.lstrip(_BLANKS)[:1] == b"{" else b"\n]"
        length = piece.find(closing)
        length = len(piece) if length < 0 else length + len(closing)
    feed = content.find(b"\n", start + length)
    return len(content) if feed < 0 else feed + 1


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
