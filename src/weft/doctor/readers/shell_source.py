"""A script's text: its bytes, the places of both, and the tree of bash's grammar (tree-sitter)."""

import re
import time
from typing import TYPE_CHECKING

from weft.core.errors import InputError
from weft.doctor.job import SourceLines, TextPlace

if TYPE_CHECKING:
    from tree_sitter import Node

_RUNS = re.compile(rb"([<>|&;(){}])\1{99,}")
"""Operators that no shell takes, over which the grammar's search for sense takes a minute."""
LEAST_S = 0.5
SECONDS_PER_BYTE = 2e-6
"""CPU time that the grammar may take: eight times what it takes for a script. In another text it
may search for sense for hours."""
CHUNK_BYTES = 1 << 20


class ShellSource:
    """A text, its bytes, and the places of both."""

    def __init__(self, name: str, text: str, whole: str) -> None:
        self.name = name
        self.whole = whole
        text = unix_lines(text)
        self.text = text.encode("utf-8", "replace")
        self._lines = SourceLines(whole)
        self._trees: dict[tuple[int, int], Node] = {}
        self._characters = None if text.isascii() else _character_of_each_byte(text)

    def tree(self, start: int, end: int) -> "Node":
        """The grammar's tree of a part of the text, each node at its place in the whole. Raises
        InputError where the grammar needs too long to decide."""
        if (start, end) not in self._trees:
            self._trees[start, end] = self._parsed(start, end)
        return self._trees[start, end]

    def _parsed(self, start: int, end: int) -> "Node":
        import tree_sitter_bash
        from tree_sitter import Language, Parser, Range

        part = _RUNS.sub(_blanks, self.text[start:end])
        end_s = time.process_time() + LEAST_S + SECONDS_PER_BYTE * len(part)
        language = Language(tree_sitter_bash.language())
        try:
            # Only of a text that it asks for the parser says how far it is.
            only = Range((0, start), (0, end), start, end)
            tree = Parser(language, included_ranges=[only]).parse(
                lambda offset, _: part[max(offset - start, 0) : offset - start + CHUNK_BYTES],
                progress_callback=lambda _offset, _error: time.process_time() > end_s,
            )
        except ValueError as error:
            raise InputError(
                "bash's grammar finds no sense in it in reasonable time",
                where=self.name,
                expected="a shell script or a command line",
                hint="look for long runs of operators or brackets",
            ) from error
        return tree.root_node

    def place(self, start: int, end: int, *, exact: bool) -> TextPlace:
        """The place of bytes."""
        if self._characters is not None:
            start, end = self._characters[start], self._characters[end]
        return self._lines.place(start, end, exact=exact)


def unix_lines(text: str) -> str:
    """As long as the text, with a space for each carriage return of Windows' line ends."""
    return text.replace("\\\r\n", " \\\n").replace("\r\n", " \n")


def _blanks(found: re.Match[bytes]) -> bytes:
    return b" " * len(found[0])


def _character_of_each_byte(text: str) -> list[int]:
    places: list[int] = []
    for index, character in enumerate(text):
        places += [index] * len(character.encode("utf-8", "replace"))
    return [*places, len(text)]
