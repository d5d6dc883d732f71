"""Words of a shell's text: quotes, escapes and variables that are known, as bash reads them."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from weft.doctor.job import HOLE, TextPlace, Word

if TYPE_CHECKING:
    from tree_sitter import Node

ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
VARIABLE = "variable_name"
DEFAULTS = (":-", "-", ":=", "=")
_ESCAPE = re.compile(r"\\(\n|.)", re.DOTALL)
_ANSI = {"n": "\n", "t": "\t", "E": "\x1b", "e": "\x1b", "\\": "\\", "'": "'", '"': '"'}
"""Of $'...', those that `export -p` writes; others stay as they stand."""
_ANSI_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_QUOTED_ESCAPE = re.compile(r"\\(\n|[\"\\$`])")


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a word: `splits` where white space in it ends the word."""

    text: str
    splits: bool = False


class Words:
    """Words of nodes. `known` are the texts that variables have by now, `arrays` the words."""

    def __init__(self, text: bytes, place: Callable[[int, int, bool], TextPlace]) -> None:
        self._text = text
        self._place = place
        self.known: dict[str, str] = {}
        self.arrays: dict[str, list[str]] = {}
        self.positional: list[str] | None = None
        """The words of `$@`, None where only the running job knows them."""
        self.used_default = False
        """Whether the value that was read last is a default that the user may replace."""
        self._takes_defaults = False

    @contextmanager
    def called(self, words: list[str] | None) -> Iterator[None]:
        """A function's body, with the words behind its name as `$@`."""
        outer, self.positional = self.positional, words
        yield
        self.positional = outer

    def of(self, *nodes: "Node") -> list[Word]:
        """The words that nodes which touch become; none where all is an unquoted empty variable."""
        first, last = nodes[0], nodes[-1]
        array = self._of_array(first) if len(nodes) == 1 else None
        if array is not None:
            at = self._place(first.start_byte, first.end_byte, False)
            return [Word(text, at) for text in array]
        pieces = self._together(nodes)
        texts = _split(pieces)
        if len(texts) == 1 and not any(
            piece.splits and piece.text.strip() != piece.text for piece in pieces
        ):
            return [self._whole(first, last, texts[0])]
        at = self._place(first.start_byte, last.end_byte, False)
        return [Word(text, at) for text in texts]

    def _together(self, nodes: Sequence["Node"]) -> list[Piece]:
        """The grammar ends a word behind `${A},$` of `${A},$B,$C`: its name begins the next."""
        pieces: list[Piece] = []
        for node in nodes:
            own = list(self._pieces(node, quoted=False))
            name = NAME.match(own[0].text) if own and pieces and pieces[-1].text == "$" else None
            if name is not None:
                pieces[-1] = self._expanded(name[0], quoted=False)
                own[0] = Piece(own[0].text[name.end() :])
            pieces += own
        return pieces

    def value(self, node: "Node | None") -> str:
        """The text of an assigned value: never split. Of `${NAME:-VALUE}` with a name that is not
        known, it is the default."""
        self.used_default = False
        if node is None:
            return ""
        self._takes_defaults = True
        texts = [piece.text for piece in self._pieces(node, quoted=False)]
        self._takes_defaults = False
        behind = self._text[node.end_byte : node.end_byte + 1].decode("utf-8", "replace")
        if texts and texts[-1] == "$" and NAME.match(behind):
            texts[-1] = HOLE
        return "".join(texts)

    def source(self, node: "Node") -> str:
        """The text of a node."""
        return self._between(node.start_byte, node.end_byte)

    def _whole(self, node: "Node", last: "Node", text: str) -> Word:
        at = self._place(node.start_byte, last.end_byte, True)
        raw = self.source(node)
        shift = ASSIGNMENT.match(raw.lstrip("\"'"))
        if shift is None:
            return Word(text, at)
        quote = len(raw) - len(raw.lstrip("\"'"))
        if quote and node.type not in ("string", "raw_string"):
            return Word(text, at)
        start = node.start_byte + quote + shift.end()
        # A quote that was opened before the name is closed behind the value.
        return Word(text, at, self._place(start, max(start, last.end_byte - quote), True))

    def _of_array(self, node: "Node") -> list[str] | None:
        inner = node
        if node.type == "string" and node.named_child_count == 1:
            inner = node.named_children[0]
        if inner.type == "simple_expansion" and self.source(inner) == "$@":
            return self.positional
        if inner.type != "expansion" or not inner.named_children:
            return None
        subscript = inner.named_children[0]
        if subscript.type != "subscript" or self.source(subscript)[-3:] not in ("[@]", "[*]"):
            return None
        found = self.arrays.get(self.source(subscript)[:-3])
        return [HOLE] if found is None else found

    def _pieces(self, node: "Node", *, quoted: bool) -> Iterator[Piece]:
        kind = node.type
        if kind in ("word", "number", VARIABLE, "regex", "extglob_pattern"):
            yield Piece(_ESCAPE.sub(_unescaped, self.source(node)))
        elif kind == "raw_string":
            yield Piece(self.source(node)[1:-1])
        elif kind == "ansi_c_string":
            text = self.source(node)[2:-1]
            yield Piece(_ANSI_ESCAPE.sub(lambda found: _ANSI.get(found[1], found[0]), text))
        elif kind == "string":
            yield from self._of_string(node)
        elif kind in ("concatenation", "command_name", "translated_string"):
            for child in node.children:
                yield from self._pieces(child, quoted=quoted)
        elif kind == "simple_expansion":
            yield self._expanded(self.source(node)[1:], quoted=quoted)
        elif kind == "expansion" and [one.type for one in node.children[1:-1]] == [VARIABLE]:
            yield self._expanded(self.source(node.children[1]), quoted=quoted)
        elif kind == "expansion" and (default := self._default(node)):
            yield from default
        else:
            yield Piece(self.source(node) if not node.is_named else HOLE)

    def _default(self, node: "Node") -> list[Piece]:
        """The value of `${NAME:-VALUE}`; empty for other expansions."""
        children = node.children
        is_default = len(children) > 4 and children[1].type == VARIABLE
        if not is_default or not self._takes_defaults or children[2].type not in DEFAULTS:
            return []
        value = self.known.get(self.source(children[1]))
        if value is not None:
            return [Piece(value)]
        self.used_default = True
        return [piece for child in children[3:-1] for piece in self._pieces(child, quoted=True)]

    def _of_string(self, node: "Node") -> Iterator[Piece]:
        # The parser leaves white space between expansions out of its children.
        at = node.start_byte + 1
        yield Piece("")
        for child in node.children[1:-1]:
            yield Piece(self._between(at, child.start_byte))
            if child.type == "string_content":
                yield Piece(_QUOTED_ESCAPE.sub(_unescaped, self.source(child)))
            else:
                yield from self._pieces(child, quoted=True)
            at = child.end_byte
        yield Piece(self._between(at, max(at, node.end_byte - 1)))

    def _between(self, start: int, end: int) -> str:
        return self._text[start:end].decode("utf-8", "replace")

    def _expanded(self, name: str, *, quoted: bool) -> Piece:
        value = self.known.get(name)
        return Piece(HOLE) if value is None else Piece(value, splits=not quoted)


def touching(nodes: Sequence["Node"]) -> list[list["Node"]]:
    """Nodes that touch: parts of one word."""
    runs: list[list[Node]] = []
    for node in nodes:
        if runs and runs[-1][-1].end_byte == node.start_byte and "redirect" not in node.type:
            runs[-1].append(node)
        else:
            runs.append([node])
    return runs


def _unescaped(found: re.Match[str]) -> str:
    return "" if found[1] == "\n" else found[1]


def _split(pieces: Sequence[Piece]) -> list[str]:
    words: list[str] = []
    current: str | None = None
    for piece in pieces:
        if not piece.splits:
            current = (current or "") + piece.text
            continue
        parts = re.split(r"[ \t\n]+", piece.text)
        if len(parts) == 1:
            current = (current or "") + parts[0] if parts[0] else current
            continue
        if current is not None or parts[0]:
            words.append((current or "") + parts[0])
        words += [part for part in parts[1:-1] if part]
        current = parts[-1] or None
    if current is not None:
        words.append(current)
    return words
