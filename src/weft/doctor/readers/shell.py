"""Job scripts and command lines, by a real parser of bash's grammar (tree-sitter).

Of a condition one branch is taken at a time, and the script is read again until each branch had
its turn: the first branch of every condition, then the second, and so on. The body of a loop counts
once. A function counts where it is first called.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import TYPE_CHECKING

from weft.doctor.job import HOLE, Job, JobKind, JobSetting, SettingOrigin, TextPlace
from weft.doctor.readers.scheduler import scheduler_options
from weft.doctor.readers.shell_branches import BranchTurns, branches_of, has_test
from weft.doctor.readers.shell_commands import Commands
from weft.doctor.readers.shell_source import ShellSource
from weft.doctor.readers.shell_words import ASSIGNMENT, touching

if TYPE_CHECKING:
    from tree_sitter import Node

    from weft.doctor.job import Word

SHELLS = {"bash", "sh", "zsh", "ksh", "dash"}
REMOTE = {"ssh", "pdsh", "clush", "eval"}
"""Commands whose quoted words are commands."""
PRINTS = {"echo", "printf"}
HEREDOCS = {"cat", "tee", "sbatch", "ssh", *SHELLS}
"""Commands whose heredoc is a script or a list of settings."""
_DASH_C = re.compile(r"-[a-z]*c")
MOST_INSIDE = 16
"""Texts of shells that are read."""
MOST_TORN = 64
"""Commands that the grammar joins to the line above, that are read."""
MOST_DEPTH = 200
"""Deeper nesting than any script has; a reader must not run out of stack."""
MOST_WORDS = 100_000
MOST_BRANCHES = 16
"""Times that a script is read."""
MOST_BYTES_OF_BRANCHES = 1 << 20
"""Together; of a larger script fewer branches are read."""


def read_script(
    name: str,
    text: str,
    kind: JobKind = JobKind.SCRIPT,
    *,
    whole: str | None = None,
    exports_all: bool = False,
) -> Job:
    """The job of a script or of one command line; its `parts` take the other branches. `whole` is
    the document with the script in it, as long as `text`. Text that is no shell is `unread`.
    Raises InputError where the grammar needs too long to decide."""
    source = ShellSource(name, text, whole if whole is not None else text)
    tree = source.tree(0, len(source.text))
    options = scheduler_options(text)
    most = max(1, MOST_BYTES_OF_BRANCHES // max(len(source.text), 1))
    turns = BranchTurns()
    jobs: list[Job] = []
    for _ in range(min(MOST_BRANCHES, most)):
        walk = _Walk(source, turns, exports_all=exports_all)
        walk.walk(tree)
        job = _job(source, walk, kind, options)
        jobs += [] if job in jobs else [job]
        if turns.are_all_taken:
            break
    return replace(jobs[0], parts=tuple(jobs[1:]))


def _job(source: "ShellSource", walk: "_Walk", kind: JobKind, options: dict[str, "Word"]) -> Job:
    commands = walk.commands
    local = {
        one.name
        for one in commands.settings
        if one.origin is SettingOrigin.ASSIGNED and one.name in walk.used
    }
    is_local = [
        one.origin is SettingOrigin.ASSIGNED and one.name in local for one in commands.settings
    ]
    pairs = list(zip(commands.settings, is_local, strict=True))
    return Job(
        source.name,
        source.whole,
        kind,
        tuple(one for one, own in pairs if not own),
        tuple(commands.launches),
        options,
        tuple(commands.modules),
        tuple(walk.unread),
        unset=frozenset(commands.unset),
        local=(*walk.printed, *(one.at for one, own in pairs if own)),
        broken=tuple(commands.broken),
        sourced=tuple(commands.sourced),
        unseen=tuple(commands.unseen),
        node_counts=tuple(commands.node_counts),
    )


class _Walk:
    """One pass over a script's tree, with the next branch of each condition."""

    def __init__(
        self, source: ShellSource, turns: BranchTurns, *, exports_all: bool = False
    ) -> None:
        self._source = source
        self._turns = turns
        self.commands = Commands(source.text, self._place, exports_all=exports_all)
        self.unread: list[TextPlace] = []
        self.printed: list[TextPlace] = []
        self.used: set[str] = set()
        """Names of variables that the script itself uses."""
        self._functions: dict[str, Node] = {}
        self._called: set[str] = set()
        self._n_inside = 0
        self._n_torn = 0
        self._is_inside = False
        """Within quotes a correction would need other ones: none is made there."""

    def walk(self, tree: "Node") -> None:
        """Read all; functions that no line calls by name last."""
        self._visit(tree, 0)
        self.commands.is_optional = True
        with self.commands.words.called(None):
            for name, body in list(self._functions.items()):
                if name not in self._called:
                    self._visit(body, 1)

    def _place(self, start: int, end: int, exact: bool = True) -> TextPlace:
        return self._source.place(start, end, exact=exact and not self._is_inside)

    def _place_of(self, node: "Node") -> TextPlace:
        return self._place(node.start_byte, node.end_byte)

    def _visit(self, node: "Node", depth: int) -> None:
        kind = node.type
        if kind == "ERROR":
            self.unread.append(self._place_of(node))
        if depth > MOST_DEPTH or kind in ("comment", "heredoc_body"):
            return
        if kind in ("variable_assignment", "declaration_command", "unset_command"):
            self._use(node)
            _OF_VARIABLES[kind](self, node)
        elif kind == "command":
            self._command(node, depth)
        elif kind == "redirected_statement":
            self._redirected(node, depth)
        elif kind == "function_definition":
            self._define(node)
        elif kind == "subshell":
            scope = self.commands.scope()
            self._children(node.named_children, depth)
            self.commands.back_to(scope)
        elif kind == "list":
            self._list(node, depth)
        else:
            self._compound(node, depth)

    def _children(self, nodes: Sequence["Node"], depth: int, *, optional: bool = False) -> None:
        before = self.commands.is_optional
        self.commands.is_optional = before or optional
        for child in nodes:
            self._visit(child, depth + 1)
        self.commands.is_optional = before

    def _compound(self, node: "Node", depth: int) -> None:
        """A condition, a loop, or any other group."""
        always, branches = branches_of(node)
        self._children(always, depth)
        if branches:
            turn = self._turns.next_of(node.start_byte, len(branches))
            self._children(branches[turn], depth, optional=True)
        variable = node.child_by_field_name("variable")
        if variable is not None:
            # Of a loop, only the running job knows it.
            self.commands.words.known.pop(self._source_of(variable), None)
        if node.type in ("test_command", "simple_expansion", "expansion", "arithmetic_expansion"):
            self._use(node)

    def _list(self, node: "Node", depth: int) -> None:
        """`a && b`: behind a test, and behind ||, b may not run."""
        left, right = node.named_children[:1], node.named_children[1:]
        self._children(left, depth)
        is_or = any(child.type == "||" for child in node.children)
        self._children(right, depth, optional=is_or or any(map(has_test, left)))

    def _define(self, node: "Node") -> None:
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name is not None and body is not None:
            self._functions[self._source_of(name)] = body

    def _source_of(self, node: "Node") -> str:
        return self.commands.words.source(node)

    def _use(self, node: "Node") -> None:
        """Note the variables whose values a part of the script takes."""
        stack = [node]
        while stack:
            one = stack.pop()
            if one.type in ("simple_expansion", "expansion"):
                self.used |= {
                    self._source_of(child)
                    for child in one.named_children
                    if child.type == "variable_name"
                }
            stack += one.named_children

    def _declare(self, node: "Node") -> None:
        words = [self._source_of(child) for child in node.children]
        export = words[0] == "export" or any(
            word.startswith("-") and "x" in word for word in words[1:]
        )
        children = [child for child, *_ in touching(node.named_children)]
        for child, behind in zip_longest(children, children[1:]):
            if child.type == "variable_assignment":
                self._assign(child, exported=export)
            elif child.type == "variable_name" and export:
                name = self._source_of(child)
                if behind is not None and self._source_of(behind).startswith("="):
                    value = "".join(words[words.index(name) + 1 :]).removeprefix("=")
                    broken = JobSetting(name, value, SettingOrigin.ASSIGNED, self._place_of(node))
                    self.commands.broken.append(broken)
                else:
                    self.commands.export(name)
            elif export:
                # `export "NAME=VALUE"`, quoted as a whole.
                for word in self.commands.words.of(child):
                    name, _, value = word.text.partition("=")
                    if ASSIGNMENT.match(word.text):
                        self.commands.words.used_default = False
                        self.commands.set(name, value, word.at, word.value_at, exported=True)
                    elif HOLE in word.text:
                        line = word.at.line
                        self.commands.unseen.append(f"the variables that line {line} exports")

    def _unset(self, node: "Node") -> None:
        for child in node.named_children:
            if not self.commands.is_optional:
                self.commands.take_back(self._source_of(child))
            else:
                self.commands.unset.add(self._source_of(child))

    def _assigned(self, node: "Node") -> None:
        self._assign(node, exported=False)

    def _assign(self, node: "Node", *, exported: bool) -> None:
        name_node = node.child_by_field_name("name")
        value_node = node.child_by_field_name("value")
        if name_node is None or name_node.type != "variable_name":
            return
        words = self.commands.words
        name = self._source_of(name_node)
        if value_node is not None and value_node.type == "array":
            if not self._adds(node, name):
                words.arrays[name] = []
            array = words.arrays.setdefault(name, [])
            for child in value_node.named_children if len(array) < MOST_WORDS else ():
                array += [word.text for word in words.of(child)]
            return
        value = words.value(value_node)
        if self._adds(node, name):
            value = words.known.get(name, HOLE) + value
        value_at = self._value_place(node, value_node)
        self.commands.set(name, value, self._place_of(node), value_at, exported=exported)

    def _adds(self, node: "Node", name: str) -> bool:
        """Whether it is NAME+=VALUE."""
        return "+=" in self._source_of(node)[: len(name) + 2]

    def _value_place(self, node: "Node", value: "Node | None") -> TextPlace:
        if value is not None:
            return self._place_of(value)
        return self._place(node.end_byte, node.end_byte)

    def _command(self, node: "Node", depth: int) -> None:
        own: list[Node] = []
        words: list[Word] = []
        if self._is_torn(node, depth):
            return
        for nodes in touching(node.named_children):
            if nodes[0].type == "variable_assignment":
                own.append(nodes[0])
            elif nodes[0].type not in ("file_redirect", "herestring_redirect"):
                words += self.commands.words.of(*nodes)
            if len(words) > MOST_WORDS:
                return
        if not words:
            for child in own:
                self._use(child)
                self._assigned(child)
            return
        name = words[0].text.rpartition("/")[2]
        if name in PRINTS:
            self.printed.append(self._place_of(node))
        else:
            self._use(node)
        before = [one for one in map(self._before, own) if one is not None]
        n_launches = len(self.commands.launches)
        self.commands.take(words, before, self._place_of(node))
        is_launch = len(self.commands.launches) > n_launches
        for text in self._commands_of_shells(node):
            self._inside(text.start_byte + 1, text.end_byte - 1, n_launches if is_launch else None)
        body = self._functions.get(name)
        if body is not None and name not in self._called:
            self._called.add(name)
            with self.commands.words.called([word.text for word in words[1:]]):
                self._visit(body, depth + 1)

    def _is_torn(self, node: "Node", depth: int) -> bool:
        """Whether the grammar joined assignments (`A=1 B=2`) to the command of the next line, which
        then are read one by one."""
        children = node.named_children
        n_own = sum(1 for one in children if one.type == "variable_assignment")
        if not 1 < n_own < len(children) or children[n_own - 1].type != "variable_assignment":
            return False
        start = children[n_own].start_byte
        between = self._source.text[children[n_own - 1].end_byte : start]
        if b"\n" not in between.replace(b"\\\n", b"") or self._n_torn == MOST_TORN:
            return False
        self._n_torn += 1
        for child in children[:n_own]:
            self._use(child)
            self._assigned(child)
        self._visit(self._source.tree(start, node.end_byte), depth + 1)
        return True

    def _redirected(self, node: "Node", depth: int) -> None:
        """`cat > file <<X` and `echo NAME=VALUE >> file` write settings to a file."""
        self._children(node.named_children, depth)
        body = node.child_by_field_name("body")
        command = body.child_by_field_name("name") if body is not None else None
        name = self._source_of(command) if command is not None else ""
        kinds = {child.type for child in node.named_children}
        if name in HEREDOCS:
            for child in node.named_children:
                for inner in child.named_children if child.type == "heredoc_redirect" else ():
                    if inner.type == "heredoc_body":
                        self._inside(inner.start_byte, inner.end_byte, None, is_file=True)
        elif name in PRINTS and "file_redirect" in kinds and body is not None:
            if self.printed and self.printed[-1] == self._place_of(body):
                self.printed.pop()
            for child in body.named_children[1:]:
                quote = 1 if child.type in ("string", "raw_string") else 0
                start, end = child.start_byte + quote, child.end_byte - quote
                self._inside(start, end, None, is_file=True)

    def _commands_of_shells(self, node: "Node") -> Iterator["Node"]:
        """The quoted text behind `bash -c`, and that of `ssh host '...'`."""
        words = node.named_children
        for shell, option, text in zip(words, words[1:], words[2:], strict=False):
            name = self._source_of(shell).rpartition("/")[2]
            if name in SHELLS and _DASH_C.fullmatch(self._source_of(option)) and self._quoted(text):
                yield text
        if words and self._source_of(words[0]).rpartition("/")[2] in REMOTE:
            yield from (text for text in words[1:] if self._quoted(text))

    def _quoted(self, text: "Node") -> bool:
        """In double quotes a backslash would need its meaning first."""
        is_plain = text.type == "string" and "\\" not in self._source_of(text)
        return text.type == "raw_string" or is_plain

    def _inside(self, start: int, end: int, launch: int | None, *, is_file: bool = False) -> None:
        """Commands of a shell of their own, or of a file: their settings end with it."""
        if self._n_inside == MOST_INSIDE or self._is_inside or start >= end:
            return
        self._n_inside, self._is_inside = self._n_inside + 1, True
        commands = self.commands
        scope, is_written, is_optional = commands.scope(), commands.is_written, commands.is_optional
        commands.is_written = is_written or is_file
        commands.is_optional = is_optional or is_file
        before, commands.settings = commands.settings, []
        self._visit(self._source.tree(start, end), 0)
        commands.settings = [
            *before,
            *(
                replace(one, launch=launch) if one.launch is None else one
                for one in commands.settings
            ),
        ]
        commands.back_to(scope)
        commands.is_written, commands.is_optional = is_written, is_optional
        self._is_inside = False

    def _before(self, node: "Node") -> JobSetting | None:
        name = node.child_by_field_name("name")
        value = node.child_by_field_name("value")
        if name is None:
            return None
        known, value_at = self.commands.words.value(value), self._value_place(node, value)
        at = self._place_of(node)
        return JobSetting(self._source_of(name), known, SettingOrigin.BEFORE, at, value_at)


_OF_VARIABLES = {
    "variable_assignment": _Walk._assigned,
    "declaration_command": _Walk._declare,
    "unset_command": _Walk._unset,
}
