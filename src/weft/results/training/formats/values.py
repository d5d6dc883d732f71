"""Numbers and times of a log's lines."""

import re
from datetime import UTC, datetime
from functools import lru_cache

from weft.results.training.model import NAN

STAMP_PATTERN = r"(\d{4}-\d\d-\d\d[T ]\d\d:\d\d):(\d\d)(?:[.,](\d{1,6}))?"
"""A clock to the minute, its second, and a fraction."""
_STAMP = re.compile(STAMP_PATTERN)
_STAMP_WITHIN = 120
_SHORT = 24
"""A field of so many characters is read at once where a blank ends its number."""
NUMBER = r"[-+]?(?:\d[\d,]*(?:\.\d*)?(?:[eE][-+]?\d{1,3})?|nan|NaN|NAN|inf|Inf|Infinity)"
"""As Python's loggers print a number; commas between thousands."""
_NUMBER = re.compile(rf"[\s:=]*({NUMBER})")


def number(text: str) -> float:
    """The number of a text that `NUMBER` matches; NaN of any other."""
    try:
        return float(text)
    except ValueError:
        pass
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return NAN


def stamp_in(text: str) -> float:
    """The first date and time of a line, in seconds; NaN where it has none."""
    found = _STAMP.search(text, 0, _STAMP_WITHIN)
    return NAN if found is None else stamp_of(*found.groups())


def stamp_of(minute: str, second: str, fraction: str | None) -> float:
    """The parts of a clock in seconds."""
    return _seconds_of(minute) + float(f"{second}.{fraction}" if fraction else second)


@lru_cache(maxsize=64)
def _seconds_of(minute: str) -> float:
    """A minute in seconds: the lines of a log share few of them."""
    try:
        return datetime.fromisoformat(minute).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return NAN


def value_after(text: str, name: str, start: int = 0) -> float:
    """The number behind a name, ':' or '=' between them; NaN where the line lacks it. Searched as
    plain text: regular expressions take ten times as long, and logs have millions of lines."""
    at = text.find(name, start)
    if at < 0:
        return NAN
    at += len(name)
    try:
        word, _ = text[at : at + _SHORT].lstrip(" :=").split(None, 1)
        return float(word)
    except ValueError:
        found = _NUMBER.match(text, at)
    return NAN if found is None else number(found.group(1))
