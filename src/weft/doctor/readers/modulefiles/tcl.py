"""Modulefiles in Tcl: the variables that `setenv` and `pushenv` set.

Words are read by Tcl's own rules; both branches of a condition count, as everywhere. A value with a
variable or a command in it is not known. SOURCE: Tcl(n), rules [1] to [12]; modulefile(4).
"""

import re
from collections.abc import Iterator

from weft.doctor.job import HOLE, Job, JobKind, JobSetting, SettingOrigin, SourceLines

MAGIC = "#%Module"
_COMMAND = re.compile(r"(?:^|[;{])[ \t]*(?:setenv|pushenv)[ \t]+", re.M)
_NAME = re.compile(r"\{?([A-Za-z_]\w*)\}?[ \t]+")
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "\n": " "}
_ENDS = " \t\n;"


def read_modulefile(name: str, text: str) -> Job:
    """The variables of a modulefile."""
    lines = SourceLines(text)
    settings = []
    for start, variable, value_start, value_end, value in _commands(text):
        at, value_at = lines.place(start, value_end), lines.place(value_start, value_end)
        settings.append(JobSetting(variable, value, SettingOrigin.EXPORT, at, value_at))
    return Job(name, text, JobKind.MODULEFILE, tuple(settings))


def _commands(text: str) -> Iterator[tuple[int, str, int, int, str]]:
    """(start, variable, where the value begins and ends, value) of each command."""
    behind = 0
    for command in _COMMAND.finditer(text):
        if command.start() < behind - 1:
            continue
        line_start = text.rfind("\n", 0, command.start() + 1) + 1
        if text[line_start : command.start() + 1].lstrip().startswith("#"):
            continue
        variable = _NAME.match(text, command.end())
        if variable is None:
            continue
        end, value = _word(text, variable.end())
        if end > variable.end():
            behind = end
            yield command.end(), variable[1], variable.end(), end, value


def _word(text: str, at: int) -> tuple[int, str]:
    """(where the word that begins at `at` ends, its value)."""
    if text[at : at + 1] == "{":
        return _braced(text, at)
    if text[at : at + 1] == '"':
        return _substituted(text, at + 1, '"', 1)
    return _substituted(text, at, _ENDS, 0)


def _braced(text: str, at: int) -> tuple[int, str]:
    """Nothing is replaced in braces; a backslash keeps the brace behind it from counting."""
    depth = 0
    index = at
    while index < len(text):
        character = text[index]
        if character == "\\":
            index += 1
        elif character == "{":
            depth += 1
        elif character == "}":
            depth -= 1
            if depth == 0:
                return index + 1, text[at + 1 : index]
        index += 1
    return at, ""


def _substituted(text: str, at: int, ends: str, behind: int) -> tuple[int, str]:
    parts: list[str] = []
    index = at
    while index < len(text) and text[index] not in ends:
        character = text[index]
        if character == "\\" and index + 1 < len(text):
            index += 1
            parts.append(_ESCAPED.get(text[index], text[index]))
        else:
            parts.append(HOLE if character in "$[" else character)
        index += 1
    return min(index + behind, len(text)), "".join(parts)
