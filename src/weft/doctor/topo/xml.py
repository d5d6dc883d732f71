"""A topology file as NCCL's own reader takes it, which knows a small part of XML.

SOURCE: NVIDIA/nccl v2.30.7, src/graph/xml.cc and xml.h. A text at which NCCL gives up is a
complaint of severity `bad`. Where other readers of XML go on, so does this one: it finds all.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from weft.core.documents.text_file import read_text_file, read_text_input
from weft.core.errors import InputError
from weft.doctor.case import Found
from weft.doctor.job import NOWHERE, SourceLines, TextPlace
from weft.doctor.topo.dialect import NCCL_DIALECT, TopologyDialect, dialect_of
from weft.doctor.topo.element import Attribute, Element

EXPECTED = "a topology file"
MOST_BYTES = 1 << 20
"""Of a file that is read at all; files of whole machines have 100 KB."""
MOST_FOUND = 200
"""Complaints of one file; more are only counted."""
GRAPH_ELEMENTS = ("graphs", "graph")
"""Of NCCL_GRAPH_FILE. SOURCE: NVIDIA/nccl v2.30.7, src/graph/xml.cc: ncclTopoXmlGraphLoadGraphs."""
MOST_ATTRIBUTES = 16
MOST_CHARACTERS = 253
"""Of a name or value, in bytes: 255 with the character behind it and the end mark."""

_WORD = re.compile(r"[^ >/\n\r=]*")
_BLANKS = re.compile(r"[ \n\r]*")
_ANY_BLANKS = re.compile(r"\s*")
_OTHER_BLANKS = ("\t", "\n", "\r", "\v", "\f")
"""Characters that separate words for other readers, not for NCCL."""


@dataclass(slots=True)
class TopologyFile:
    """The elements that NCCL would keep of a file, and faults of its text. `is_refused`: NCCL gives
    up somewhere in it; `n_elements` were kept before that and after. `n_unsaid` more was found.
    `is_graph`: it describes rings and trees (NCCL_GRAPH_FILE), not the machine."""

    name: str
    dialect: TopologyDialect = NCCL_DIALECT
    systems: list[Element] = field(default_factory=list)
    found: list[Found] = field(default_factory=list)
    is_refused: bool = False
    n_elements: int = 0
    n_unsaid: int = 0
    is_graph: bool = False

    @property
    def system(self) -> Element | None:
        """The element that NCCL uses: the first."""
        return self.systems[0] if self.systems else None


def read_topology(name: str, text: str, dialect: TopologyDialect | None = None) -> TopologyFile:
    """The file of a text in the dialect of a library, or in that it was written in; never fails."""
    reader = _Reader(name, text, dialect or dialect_of(text))
    try:
        reader.read()
    except _RefusalError:
        reader.file.is_refused = True
    return reader.file


def topology_file(path: Path, dialect: TopologyDialect | None = None) -> TopologyFile:
    """The file at a path; '-' is standard input. Raises InputError where it cannot be read, is no
    text or is too large."""
    if str(path) == "-":
        text = read_text_input(expected=EXPECTED, most_bytes=MOST_BYTES, as_it_is=True)
        return read_topology("standard input", text, dialect)
    if not path.exists():
        raise InputError(
            "no such file",
            where=str(path),
            expected=EXPECTED,
            hint="NCCL says so at NCCL_DEBUG=INFO alone, and goes on without it",
        )
    text = read_text_file(path, expected=EXPECTED, most_bytes=MOST_BYTES, as_it_is=True)
    return read_topology(str(path), text, dialect)


class _RefusalError(Exception):
    """NCCL gives up, and the meaning of the remaining text is not known."""


class _Reader:
    def __init__(self, name: str, text: str, dialect: TopologyDialect) -> None:
        self.text = text
        self.file = TopologyFile(name, dialect)
        self.pos = 0
        self.lines = SourceLines(text)
        self.seen: set[str] = set()
        self.opened: list[Element] = []
        self.ignored = ("", NOWHERE)
        self.n_ignored_open = 0

    # --- elements

    def read(self) -> None:
        """All elements, until the end or where NCCL gives up."""
        self._skip_byte_order_mark()
        while True:
            if self.file.n_elements > self.file.dialect.most_elements:
                at = self.lines.place(self.pos, self.pos)
                most = str(self.file.dialect.most_elements)
                self._refuse("topo-too-many-elements", at, n=most)
            kind, element = self._tag()
            if element is None:
                break
            if kind == "close":
                self._close(element)
            elif self.n_ignored_open:
                self.n_ignored_open += kind == "open"
            else:
                self._open(element, is_open=kind == "open")
        if self.n_ignored_open:
            self._refuse("topo-unclosed", self.ignored[1], element=self.ignored[0])
        if self.opened:
            self._refuse("topo-unclosed", self.opened[-1].at, element=self.opened[-1].name)

    def _close(self, tag: Element) -> None:
        # NCCL reads the inside of an ignored element over it: its name is gone by then.
        if self.n_ignored_open:
            self.n_ignored_open -= 1
        elif not self.opened:
            self._open_by_closing(tag)
        elif self.opened[-1].name != tag.name:
            self._refuse("topo-mismatch", tag.at, element=self.opened[-1].name, other=tag.name)
        else:
            self.opened.pop()

    def _open_by_closing(self, tag: Element) -> None:
        """NCCL takes a closing tag that closes nothing for an opening one."""
        if tag.name == "system":
            self._refuse("topo-closes-nothing", tag.at, element=tag.name, says="gives up")
        says = "ignores all up to the next closing tag, and gives up where there is none"
        self._note("topo-closes-nothing", tag.at, element=tag.name, says=says)
        self.ignored = (tag.name, tag.at)
        self.n_ignored_open += 1

    def _open(self, element: Element, *, is_open: bool) -> None:
        outer = element.parent = self.opened[-1] if self.opened else None
        children = self.file.dialect.children
        if element.name not in children.get(outer.name if outer is not None else "", ()):
            self._ignore(element, outer)
            self.ignored = (element.name, element.at)
            self.n_ignored_open += is_open
            return
        (outer.children if outer is not None else self.file.systems).append(element)
        self.file.n_elements += 1
        if is_open:
            self.opened.append(element)

    def _ignore(self, element: Element, outer: Element | None) -> None:
        if element.name in GRAPH_ELEMENTS and outer is None and not self.file.systems:
            self.file.is_graph = True
            self._note_once("topo-graph-file", element.at)
            return
        inside = f"<{outer.name}>" if outer is not None else "the file"
        name = element.name.replace("\t", "\\t")
        self._note("topo-ignored-element", element.at, element=name, inside=inside)

    # --- tags

    def _tag(self) -> tuple[str, Element | None]:
        """The next tag behind comments, None at the end: whether it does `open` its element,
        `close` it, or is a `single` one."""
        while True:
            self._skip_blanks()
            if self.pos >= len(self.text):
                return "", None
            start = self.pos
            if self.text[start] != "<":
                end = self.text.find("<", start)
                words = self.text[start : end if end >= 0 else None].strip()
                shown = words.partition("\n")[0][:40]
                self._refuse("topo-text", self.lines.place(start, start + len(words)), text=shown)
            if self.text.startswith("<!--", start):
                self._comment()
            elif self.text.startswith(("<?", "<!"), start):
                self._declaration()
            else:
                return self._element_tag()

    def _element_tag(self) -> tuple[str, Element]:
        start = self.pos
        self.pos += 1
        name = self._word("name of an element")
        if "\t" in name and self._character() == "=":
            self.pos -= len(name) - name.index("\t")
            name = name[: name.index("\t")]
        if not name and self._character() == "/":
            self.pos += 1
            name = self._word("name of an element")
            self._expect(">", f"</{name}")
            return "close", Element(name, {}, self.lines.place(start, self.pos))
        attributes, n_slots = self._attributes(name)
        kind = "open"
        if self._character() == "/":
            self.pos += 1
            self._word("end of a tag")
            kind = "single"
        self._expect(">", f"<{name}")
        return kind, Element(name, attributes, self.lines.place(start, self.pos), n_slots)

    def _attributes(self, element: str) -> tuple[dict[str, Attribute], int]:
        """Attributes by name, of a name the first, and the places they take in NCCL's table."""
        attributes: dict[str, Attribute] = {}
        n_slots = 0
        while self._is_at_attribute(element):
            start = self.pos
            key = self._word("name of an attribute", most=MOST_CHARACTERS + 1)
            attribute = Attribute("", self.lines.place(start, self.pos))
            if key.startswith(_OTHER_BLANKS):
                says = "takes it for a part of the next attribute's name, which it does not know"
                self._note("topo-blank-in-tag", attribute.at, element=element, says=says)
            if self._character() == "=":
                if not key:
                    self._malformed(start, f"a '=' with a blank before it in <{element}>")
                attribute = self._value(element, key)
            if n_slots < MOST_ATTRIBUTES:
                n_slots += 1
                if key:
                    attributes.setdefault(key, attribute)
            elif key:
                words = {"element": element, "attribute": key, "n": str(MOST_ATTRIBUTES)}
                self._note("topo-extra-attribute", self.lines.place(start, self.pos), **words)
        return attributes, n_slots

    def _is_at_attribute(self, element: str) -> bool:
        """Whether another attribute begins, which one blank announces; goes behind that."""
        here, behind = self._character(), self.text[self.pos + 1 : self.pos + 2]
        if here == " " and behind not in ("\n", "\r"):
            self.pos += 1
            return True
        if here != " " and here not in _OTHER_BLANKS:
            return False
        start = self.pos
        self.pos = _ANY_BLANKS.match(self.text, start).end()  # type: ignore[union-attr]
        at = self.lines.place(start, self.pos)
        self._give_up_once("topo-blank-in-tag", at, element=element, says="gives up")
        return self._character() not in "/>"

    def _value(self, element: str, key: str) -> Attribute:
        self.pos += 1
        quote = self._character()
        start = self.pos + 1
        if quote not in ('"', "'"):
            self._malformed(self.pos, f"no quote before the value of {key} in <{element}>")
        if quote == "'":
            self._note_once("topo-single-quotes", self.lines.place(self.pos, start), attribute=key)
        end = self.text.find(quote, start)
        if end < 0 or _n_bytes(self.text[start:end]) > MOST_CHARACTERS:
            at = self.lines.place(start, min(start + MOST_CHARACTERS, len(self.text)))
            self._refuse("topo-too-long", at, what=f"value of {key}", n=str(MOST_CHARACTERS))
        self.pos = end + 1
        return Attribute(self.text[start:end], self.lines.place(start, end))

    def _comment(self) -> None:
        """NCCL reads its first word like an element's name, with the same limits."""
        start = self.pos
        self.pos += 1
        word = self._word("first word of a comment")
        if self._character() == "=":
            self._refuse("topo-comment", self.lines.place(start, self.pos + 1), word=word[3:])
        end = self.text.find("-->", start + 4)
        if end < 0:
            self._refuse("topo-unclosed", self.lines.place(start, start + 4), element="!--")
        self.pos = end + 3

    def _declaration(self) -> None:
        start = self.pos
        end = self.text.find(">", start)
        self.pos = end + 1 if end >= 0 else len(self.text)
        at = self.lines.place(start, self.pos)
        self._give_up_once("topo-declaration", at, text=self.text[start : start + 9])

    # --- characters

    def _skip_byte_order_mark(self) -> None:
        if self.text.startswith("\ufeff"):
            self._give_up_once("topo-byte-order-mark", self.lines.place(0, 1))
            self.pos = 1

    def _skip_blanks(self) -> None:
        """Skip blanks between elements, also those that only other readers allow."""
        while True:
            self.pos = _BLANKS.match(self.text, self.pos).end()  # type: ignore[union-attr]
            if self.pos >= len(self.text) or self.text[self.pos] not in "\t\v\f\x85\xa0":
                return
            self._give_up_once("topo-tab", self.lines.place(self.pos, self.pos + 1))
            self.pos += 1

    def _word(self, what: str, *, most: int = MOST_CHARACTERS) -> str:
        """The characters of a name; stands at the one that ends it."""
        start = self.pos
        self.pos = _WORD.match(self.text, start).end()  # type: ignore[union-attr]
        word = self.text[start : self.pos]
        if _n_bytes(word) > most:
            at = self.lines.place(start, start + most)
            self._refuse("topo-too-long", at, what=what, n=str(most))
        return word

    def _character(self) -> str:
        """The character here; the end of the file inside of a tag is the end of reading."""
        if self.pos >= len(self.text):
            self._malformed(self.pos, "the end of the file inside of a tag")
        return self.text[self.pos]

    def _expect(self, wanted: str, tag: str) -> None:
        if self._character() != wanted:
            found = self.text[self.pos]
            self._malformed(self.pos, f"{found!r} where {tag}...> should end")
        self.pos += 1

    # --- faults

    def _note(self, rule: str, at: TextPlace, **words: str) -> None:
        if len(self.file.found) < MOST_FOUND:
            self.file.found.append(Found(rule, words, at))
        else:
            self.file.n_unsaid += 1

    def _note_once(self, rule: str, at: TextPlace, **words: str) -> None:
        if rule not in self.seen:
            self.seen.add(rule)
            self._note(rule, at, **words)

    def _give_up_once(self, rule: str, at: TextPlace, **words: str) -> None:
        """NCCL gives up here; another reader goes on, and so does this."""
        self.file.is_refused = True
        self._note_once(rule, at, **words)

    def _refuse(self, rule: str, at: TextPlace, **words: str) -> NoReturn:
        self.file.found.append(Found(rule, words, at))
        raise _RefusalError

    def _malformed(self, start: int, what: str) -> NoReturn:
        self._refuse("topo-malformed", self.lines.place(start, start), what=what)


def _n_bytes(text: str) -> int:
    # A byte that is no UTF-8 has become U+FFFD.
    return len(text) if text.isascii() else len(text.replace("\ufffd", "?").encode())
