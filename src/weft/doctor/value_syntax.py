"""A value as a file's own language writes it, so that it arrives whole and nothing in it runs."""

import re
import shlex

from weft.doctor.job import Job, JobKind, TextPlace
from weft.launch.tcl import tcl_word


def written(job: Job, at: TextPlace, value: str) -> str | None:
    """The text to put at a value's place; None where the language cannot write it there."""
    if not value.isprintable() and job.kind in (JobKind.CONF, JobKind.LIVE):
        return None
    if job.kind is JobKind.SCRIPT:
        return _in_shell(job.text, at, value)
    if job.kind is JobKind.MODULEFILE:
        return tcl_word(value)
    if job.kind in (JobKind.EDF, JobKind.KUBERNETES):
        return _double_quoted(value)
    return value


def _in_shell(text: str, at: TextPlace, value: str) -> str | None:
    """Of a word that is quoted as a whole ("NAME=VALUE"), the inside of its quotes."""
    if "\0" in value:
        return None
    quote = text[at.end : at.end + 1]
    name = re.search(r"([\"'])[A-Za-z_]\w*=$", text[max(0, at.start - 200) : at.start])
    if name is None or name[1] != quote:
        return shlex.quote(value)
    if quote == '"':
        return re.sub(r"([\"\\$`])", r"\\\1", value)
    return value.replace("'", "'\\''")


def _double_quoted(value: str) -> str:
    """A basic string of TOML, which is a double-quoted scalar of YAML, too.

    SOURCE: TOML 1.0, String; YAML 1.2, 5.7: both have \\uXXXX and \\UXXXXXXXX.
    """
    parts = []
    for character in value:
        number = ord(character)
        if character in '"\\':
            parts.append("\\" + character)
        elif character.isprintable():
            parts.append(character)
        else:
            parts.append(f"\\u{number:04x}" if number < 1 << 16 else f"\\U{number:08x}")
    return f'"{"".join(parts)}"'
