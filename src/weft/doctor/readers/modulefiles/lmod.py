"""Lmod's modulefiles in Lua: the variables that `setenv` and `pushenv` set.

Both branches of a condition count, as everywhere. Only a value that is one text or one number is
known. SOURCE: Lmod user guide, Lua modulefile functions; Lua 5.4 reference manual, 3.1.
"""

import re
from collections.abc import Iterator

from weft.doctor.job import HOLE, Job, JobKind, JobSetting, SettingOrigin, SourceLines

_SIGNS = re.compile(
    r"^[ \t]*(?:setenv|pushenv|prepend_path|append_path|whatis|family|depends_on|help)[ \t]*[\(\[]",
    re.M,
)
_COMMENT = r"--\[(?P<level>=*)\[(?:.*?\](?P=level)\]|.*)|--[^\n]*"
"""One that is not closed goes on to the end."""
_TEXT = r"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|\[\[[^\]]{0,4096}\]\]"
_PIECE = re.compile(rf"{_TEXT}|{_COMMENT}", re.DOTALL)
_SETS = re.compile(
    r"(?<![\w.:])(?:setenv|pushenv)[ \t]*\(\s*(?P<quote>[\"'])(?P<name>\w+)(?P=quote)\s*,\s*"
)
_VALUE = re.compile(rf"(?P<value>{_TEXT}|-?[0-9.]+|true|false)\s*[,)]")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


def is_lmod(text: str) -> bool:
    """Whether a text in Lua is a modulefile."""
    return _SIGNS.search(text) is not None


def read_lmod(name: str, text: str) -> Job:
    """The variables of a modulefile in Lua. Nothing in it is corrected."""
    lines = SourceLines(text)
    settings = []
    for start, variable, end, value in _calls(_without_comments(text)):
        at = lines.place(start, end, exact=False)
        settings.append(JobSetting(variable, value, SettingOrigin.EXPORT, at))
    return Job(name, text, JobKind.MODULEFILE, tuple(settings))


def _spaces(found: re.Match[str]) -> str:
    return " " * len(found[0])


def _without_comments(text: str) -> str:
    """As long as the text. A `--` inside of a text begins no comment."""

    def blank(found: re.Match[str]) -> str:
        is_comment = found[0].startswith("--")
        return re.sub(r"[^\n]+", _spaces, found[0]) if is_comment else found[0]

    return _PIECE.sub(blank, text)


def _calls(text: str) -> Iterator[tuple[int, str, int, str]]:
    """(start, variable, end, value) of each call."""
    for found in _SETS.finditer(text):
        value = _VALUE.match(text, found.end())
        if value is None:
            line_end = text.find("\n", found.end())
            yield found.start(), found["name"], len(text) if line_end < 0 else line_end, HOLE
        else:
            yield found.start(), found["name"], value.end(), _plain(value["value"])


def _plain(written: str) -> str:
    if written.startswith("[["):
        return written[2:-2].removeprefix("\n")
    if written[0] in "\"'":
        return _ESCAPED.sub(r"\1", written[1:-1])
    return written
