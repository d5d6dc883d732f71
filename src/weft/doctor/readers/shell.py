"""Job scripts and command lines, by a real parser of bash's grammar (tree-sitter).

Commands are taken in the order in which they stand: both branches of a condition, the body of a
loop once, bodies of functions where they are defined.
"""

import re
import shlex
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import dropwhile
from typing import TYPE_CHECKING

from weft.core.errors import InputError
from weft.doctor.job import (
    HOLE,
    Job,
    JobKind,
    JobLaunch,
    JobSetting,
    SettingOrigin,
    SourceLines,
    TextPlace,
    Word,
)
from weft.doctor.readers.launchers import read_launch
from weft.doctor.readers.shell_words import ASSIGNMENT, NAME, Words
from weft.launch.command_words import LAUNCHERS

if TYPE_CHECKING:
    from tree_sitter import Node

BEFORE_A_COMMAND = {"exec", "nohup", "time", "command", "stdbuf", "numactl", "taskset", "sudo"}
"""Commands that run the one behind their options."""
_RUNS = re.compile(rb"([<>|&;(){}])\1{99,}")
"""Operators that no shell takes, over which the grammar's search for sense takes a minute."""
LEAST_S = 0.5
SECONDS_PER_BYTE = 2e-6
"""CPU time that the grammar may take: eight times what it takes for a script. In another text it
may search for sense for hours."""
CHUNK_BYTES = 1 << 20
SHELLS = {"bash", "sh", "zsh", "ksh", "dash"}
_DASH_C = re.compile(r"-[a-z]*c")
MOST_INSIDE = 16
"""Texts of shells that are read."""
MOST_LAUNCHES = 4
"""One inside another."""
MOST_DEPTH = 200
"""Deeper nesting than any script has; a reader must not run out of stack."""
MOST_WORDS = 100_000
SBATCH_SHORT = {"N": "nodes", "n": "ntasks", "J": "job-name", "p": "partition", "C": "constraint"}


def read_script(name: str, text: str) -> Job:
    """The job of a script or of one command line. Text that is no shell is `unread`. Raises
    InputError where the grammar needs too long to decide."""
    reader = _Script(name, text)
    reader.read()
    return Job(
        name,
        text,
        JobKind.SCRIPT,
        tuple(reader.settings),
        tuple(reader.launches),
        _scheduler_options(text),
        tuple(reader.modules),
        tuple(reader.unread),
        frozenset(reader.unset),
    )


def _scheduler_options(text: str) -> dict[str, Word]:
    """Options of Slurm in #SBATCH lines, by their long names."""
    options: dict[str, Word] = {}
    for line, at in SourceLines(text).each():
        if line.startswith("#SBATCH"):
            for option, value in _options_of(line[len("#SBATCH") :]):
                options.setdefault(SBATCH_SHORT.get(option, option), Word(value, at))
    return options


def _options_of(text: str) -> Iterator[tuple[str, str]]:
    try:
        words = shlex.split(text, comments=True)
    except ValueError:
        return
    while words:
        word = words.pop(0)
        if not word.startswith("-"):
            continue
        name, equals, value = word.lstrip("-").partition("=")
        if not equals and words and not words[0].startswith("-"):
            value = words.pop(0)
        elif not word.startswith("--") and len(name) > 1 and not equals:
            name, value = name[0], name[1:]
        yield name, value


class _Script:
    """One pass over a script's tree."""

    def __init__(self, name: str, text: str) -> None:
        self._name = name
        self._bytes = text.encode("utf-8", "replace")
        self._lines = SourceLines(text)
        self._characters = None if text.isascii() else _character_of_each_byte(text)
        self._exported: set[str] = set()
        self._exports_all = False
        self._words = Words(self._bytes, self._place)
        self.settings: list[JobSetting] = []
        self.launches: list[JobLaunch] = []
        self.modules: list[Word] = []
        self.unread: list[TextPlace] = []
        self.unset: set[str] = set()
        self._n_inside = 0
        self._is_inside = False
        """Within quotes a correction would need other ones: nothing is replaced there."""

    def read(self) -> None:
        """Read all. Raises InputError."""
        self._visit(self._tree(_RUNS.sub(_blanks, self._bytes)), 0)

    def _tree(self, text: bytes) -> "Node":
        import tree_sitter_bash
        from tree_sitter import Language, Parser

        end_s = time.process_time() + LEAST_S + SECONDS_PER_BYTE * len(text)
        try:
            # Only of a text that it asks for the parser says how far it is.
            tree = Parser(Language(tree_sitter_bash.language())).parse(
                lambda offset, _: text[offset : offset + CHUNK_BYTES],
                progress_callback=lambda _offset, _error: time.process_time() > end_s,
            )
        except ValueError as error:
            raise InputError(
                "bash's grammar finds no sense in it in reasonable time",
                where=self._name,
                expected="a shell script or a command line",
                hint="look for long runs of operators or brackets",
            ) from error
        return tree.root_node

    def _place(self, start: int, end: int, exact: bool = True) -> TextPlace:
        if self._characters is not None:
            start, end = self._characters[start], self._characters[end]
        return self._lines.place(start, end, exact=exact and not self._is_inside)

    def _place_of(self, node: "Node") -> TextPlace:
        return self._place(node.start_byte, node.end_byte)

    def _visit(self, node: "Node", depth: int) -> None:
        kind = node.type
        if kind == "ERROR":
            self.unread.append(self._place_of(node))
        if depth > MOST_DEPTH or kind in ("comment", "heredoc_body"):
            return
        if kind == "variable_assignment":
            self._assign(node, exported=False)
        elif kind == "declaration_command":
            self._declare(node)
        elif kind == "unset_command":
            self._unset(node)
        elif kind == "command":
            self._command(node)
        else:
            for child in node.named_children:
                self._visit(child, depth + 1)

    def _declare(self, node: "Node") -> None:
        words = [self._words.source(child) for child in node.children]
        export = words[0] == "export" or any(
            word.startswith("-") and "x" in word for word in words[1:]
        )
        for child, *_ in _touching(node.named_children):
            if child.type == "variable_assignment":
                self._assign(child, exported=export)
            elif child.type == "variable_name" and export:
                self._export(self._words.source(child))
            elif export:
                # `export "NAME=VALUE"`, quoted as a whole.
                for word in self._words.of(child):
                    name, _, value = word.text.partition("=")
                    if ASSIGNMENT.match(word.text):
                        self._set(name, value, word.at, word.value_at, exported=True)

    def _export(self, name: str) -> None:
        """A value that was only assigned before counts from here on."""
        self._exported.add(name)
        for index, setting in enumerate(self.settings):
            if setting.name == name and setting.origin is SettingOrigin.ASSIGNED:
                self.settings[index] = replace(setting, origin=SettingOrigin.EXPORT)

    def _unset(self, node: "Node") -> None:
        for child in node.named_children:
            name = self._words.source(child)
            self.unset.add(name)
            self._words.known.pop(name, None)
            self._exported.discard(name)
            self.settings = [
                one for one in self.settings if one.name != name or one.launch is not None
            ]

    def _assign(self, node: "Node", *, exported: bool) -> None:
        name_node = node.child_by_field_name("name")
        value_node = node.child_by_field_name("value")
        if name_node is None or name_node.type != "variable_name":
            return
        name = self._words.source(name_node)
        if value_node is not None and value_node.type == "array":
            self._words.arrays[name] = [
                word.text for child in value_node.named_children for word in self._words.of(child)
            ][:MOST_WORDS]
            return
        value = self._words.value(value_node)
        if "+=" in self._words.source(node)[: len(name) + 2]:
            value = self._words.known.get(name, HOLE) + value
        value_at = self._value_place(node, value_node)
        self._set(name, value, self._place_of(node), value_at, exported=exported)

    def _set(
        self, name: str, value: str, at: TextPlace, value_at: TextPlace | None, *, exported: bool
    ) -> None:
        """A variable that the shell itself sets; one that is exported stays so."""
        if HOLE in value:
            self._words.known.pop(name, None)
        else:
            self._words.known[name] = value
        origin = SettingOrigin.ASSIGNED
        if exported or name in self._exported or self._exports_all:
            self._exported.add(name)
            origin = SettingOrigin.EXPORT
        self.settings.append(JobSetting(name, value, origin, at, value_at))

    def _value_place(self, node: "Node", value: "Node | None") -> TextPlace:
        if value is not None:
            return self._place_of(value)
        return self._place(node.end_byte, node.end_byte)

    def _command(self, node: "Node") -> None:
        own: list[Node] = []
        words: list[Word] = []
        for nodes in _touching(node.named_children):
            if nodes[0].type == "variable_assignment":
                own.append(nodes[0])
            elif nodes[0].type not in ("file_redirect", "herestring_redirect"):
                words += self._words.of(*nodes)
            if len(words) > MOST_WORDS:
                return
        if not words:
            for child in own:
                self._assign(child, exported=False)
            return
        before = [one for one in map(self._before, own) if one is not None]
        n_launches = len(self.launches)
        self._take(words, before, node)
        for text in self._commands_of_shells(node):
            self._inside(text, n_launches if len(self.launches) > n_launches else None)

    def _commands_of_shells(self, node: "Node") -> Iterator["Node"]:
        """The text in single quotes behind `bash -c`."""
        words = node.named_children
        for shell, option, text in zip(words, words[1:], words[2:], strict=False):
            name = self._words.source(shell).rpartition("/")[2]
            asked = self._words.source(option)
            if name in SHELLS and _DASH_C.fullmatch(asked) and text.type == "raw_string":
                yield text

    def _inside(self, node: "Node", launch: int | None) -> None:
        """Commands of a shell of their own: their settings end with it."""
        if self._n_inside == MOST_INSIDE or self._is_inside:
            return
        self._n_inside, self._is_inside = self._n_inside + 1, True
        start, end = node.start_byte + 1, node.end_byte - 1
        outside = self._words.known, self._exported, self._exports_all, self.unset
        self._words.known, self._exported, self.unset = (
            {**self._words.known},
            {*self._exported},
            {*self.unset},
        )
        before, self.settings = self.settings, []
        blank = b" " * start, b" " * (len(self._bytes) - end)
        self._visit(self._tree(_RUNS.sub(_blanks, self._bytes[start:end]).join(blank)), 0)
        self.settings = [
            *before,
            *(replace(one, launch=launch) if one.launch is None else one for one in self.settings),
        ]
        self._words.known, self._exported, self._exports_all, self.unset = outside
        self._is_inside = False

    def _before(self, node: "Node") -> JobSetting | None:
        name = node.child_by_field_name("name")
        value = node.child_by_field_name("value")
        if name is None:
            return None
        known, value_at = self._words.value(value), self._value_place(node, value)
        at = self._place_of(node)
        return JobSetting(self._words.source(name), known, SettingOrigin.BEFORE, at, value_at)

    def _take(self, words: Sequence[Word], before: list[JobSetting], node: "Node") -> None:
        """One command: its settings and its launches."""
        left = list(words)
        while left:
            name = left[0].text.rpartition("/")[2]
            if name == "env":
                left = self._env(left[1:], before)
            elif name in BEFORE_A_COMMAND:
                left = list(dropwhile(lambda word: word.text.startswith("-"), left[1:]))
            else:
                break
        if not left:
            return
        name = left[0].text.rpartition("/")[2]
        if name in LAUNCHERS:
            self._launch(name, left, before, node)
        elif name == "setenv" and len(left) > 1 and NAME.fullmatch(left[1].text):
            value, value_at = (left[2].text, left[2].at) if len(left) > 2 else ("", None)
            self._set(left[1].text, value, left[1].at, value_at, exported=True)
        elif name in ("module", "ml"):
            self.modules += [word for word in left[1:] if word.text not in ("load", "add", "use")]
        elif name == "set" and any(word.text in ("-a", "allexport") for word in left[1:]):
            self._exports_all = True
        elif before:
            self._launch("", left, before, node)

    def _env(self, words: list[Word], before: list[JobSetting]) -> list[Word]:
        while words and (words[0].text.startswith("-") or ASSIGNMENT.match(words[0].text)):
            word = words.pop(0)
            if word.text in ("-u", "-C", "-S") and words:
                words.pop(0)
            name, equals, value = word.text.partition("=")
            if equals and not word.text.startswith("-"):
                before.append(JobSetting(name, value, SettingOrigin.BEFORE, word.at, word.value_at))
        return words

    def _launch(
        self, name: str, words: Sequence[Word], before: Sequence[JobSetting], node: "Node"
    ) -> None:
        at = self._place_of(node)
        inside: int | None = None
        for _ in range(MOST_LAUNCHES):
            index = len(self.launches)
            launch, settings = read_launch(name, words, at)
            self.launches.append(replace(launch, inside=inside))
            self.settings += [replace(setting, launch=index) for setting in (*before, *settings)]
            words = launch.program
            name = words[0].text.rpartition("/")[2] if words else ""
            if name not in LAUNCHERS:
                return
            # One launcher may start another: srun apptainer exec image program.
            at = replace(words[0].at, end=at.end)
            inside, before = index, ()


def _touching(nodes: Sequence["Node"]) -> list[list["Node"]]:
    """Nodes that touch: parts of one word."""
    runs: list[list[Node]] = []
    for node in nodes:
        if runs and runs[-1][-1].end_byte == node.start_byte and "redirect" not in node.type:
            runs[-1].append(node)
        else:
            runs.append([node])
    return runs


def _blanks(found: re.Match[bytes]) -> bytes:
    return b" " * len(found[0])


def _character_of_each_byte(text: str) -> list[int]:
    places: list[int] = []
    for index, character in enumerate(text):
        places += [index] * len(character.encode("utf-8", "replace"))
    return [*places, len(text)]
