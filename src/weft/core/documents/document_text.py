"""TOML and JSON as plain values: read whole, or refused with where they are wrong."""

import json
import math
import re
import tomllib
from pathlib import Path
from typing import Any

from weft.core.documents.text_file import read_text_file
from weft.core.errors import InputError
from weft.core.units import DEEPEST, refuse_unusable

MOST_DOCUMENT_BYTES = 8 << 20
"""Of a document in TOML. The largest of the catalogue has 96 kB; a run names all its nodes."""
MOST_JSON_BYTES = 128 << 20
"""Of a document in JSON: a whole fabric of 8,008 nodes with its tables has 12.6 MB."""

# tomllib copies all parts of a key for each of its parts: a line of 400 kB would take minutes.
_PART = r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')"""
_TOO_DEEP = re.compile(rf"(?<![\w-])(?:{_PART}[ \t]*+\.[ \t]*+){{{DEEPEST + 1}}}")


def toml_table(text: str, where: str, expected: str, *, most: float = math.inf) -> dict[str, Any]:
    """The table of a TOML text. Raises InputError also for what `refuse_unusable` refuses."""
    if deep := _TOO_DEEP.search(text):
        line = text.count("\n", 0, deep.start()) + 1
        raise InputError(
            f"line {line} has a key of more than {DEEPEST} parts", where=where, expected=expected
        )
    try:
        table = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        # A number of thousands of digits is a ValueError of Python's own.
        raise InputError(f"not TOML ({error})", where=where, expected=expected) from error
    refuse_unusable(table, where, most=most)
    return table


def json_value(text: str | bytes, where: str, expected: str) -> Any:
    """The value of a JSON text. Raises InputError also for what `refuse_unusable` refuses."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"not JSON ({error})", where=where, expected=expected) from error
    refuse_unusable(value, where)
    return value


def read_toml_file(path: Path, expected: str) -> dict[str, Any]:
    """The table of a file. Raises InputError as `read_text_file` and `toml_table`."""
    text = read_text_file(path, expected=expected, most_bytes=MOST_DOCUMENT_BYTES)
    return toml_table(text, str(path), expected)


def read_json_file(path: Path, expected: str) -> Any:
    """The value of a file. Raises InputError as `read_text_file` and `json_value`."""
    text = read_text_file(path, expected=expected, most_bytes=MOST_JSON_BYTES)
    return json_value(text, str(path), expected)
