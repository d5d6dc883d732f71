"""The line of a TOML text that an error is about."""

import re

from weft.core.errors import InputError

_HEADER = re.compile(r"^\s*\[\[?\s*(?P<table>[^\[\]]+?)\s*\]\]?\s*(?:#.*)?$")
_QUOTED_KEY = re.compile(r"'(?P<path>[^']+)'")


def with_line(error: InputError, text: str) -> InputError:
    """The error with the line of the key it names after its place: of the key, else of the table
    that lacks it. As it is where it names none, or the text says so already."""
    named = _QUOTED_KEY.search(error.what)
    if named is None or error.where is None:
        return error
    line = line_of_key(text, named["path"])
    return InputError(
        error.what, where=f"{error.where}, line {line}", expected=error.expected, hint=error.hint
    )


def line_of_key(text: str, path: str) -> int:
    """The line, from 1 on, of 'table.key'; of its table where it is not there, else 1."""
    parts = [part for part in re.split(r"\.|\[\d+\]", path) if part]
    table, found = "", 1
    for number, line in enumerate(text.splitlines(), start=1):
        header = _HEADER.match(line)
        if header is not None:
            table = header["table"]
        here = [part.strip(" \"'") for part in table.split(".") if part]
        if here and here == parts[: len(here)]:
            found = max(found, number) if header is not None else found
        if here != parts[: len(here)]:
            continue
        key = re.match(r"\s*\"?([\w.-]+)\"?\s*=", line)
        if key is not None and _leads(here + key[1].split("."), parts):
            return number
    return found


def _leads(here: list[str], parts: list[str]) -> bool:
    """Whether a key is the one of the path, or an inline table that holds it."""
    return here == parts[: len(here)]
