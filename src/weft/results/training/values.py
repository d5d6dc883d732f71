"""Numbers and times of a log's lines."""

import re
from datetime import UTC, datetime

from weft.results.training.model import NAN

_STAMP = re.compile(r"(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,6}))?")
NUMBER = r"[-+]?(?:\d[\d,]*(?:\.\d*)?(?:[eE][-+]?\d{1,3})?|nan|NaN|NAN|inf|Inf|Infinity)"
"""As Python's loggers print a number; commas between thousands."""


def number(text: str) -> float:
    """The number of a text that `NUMBER` matches; NaN of any other."""
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return NAN


def stamp_in(text: str) -> float:
    """The first date and time of a line, in seconds; NaN where it has none."""
    found = _STAMP.search(text, 0, 120)
    if found is None:
        return NAN
    *whole, fraction = found.groups()
    try:
        moment = datetime(*(int(part) for part in whole), tzinfo=UTC)  # type: ignore[misc,arg-type]
    except ValueError:
        return NAN
    return moment.timestamp() + float(f"0.{fraction or 0}")


def pattern(name: str, after: str = r"\s*[:=]\s*") -> re.Pattern[str]:
    """A named field with a number behind it, as group 1."""
    return re.compile(rf"(?<![A-Za-z]){name}{after}({NUMBER})")


def field_of(found: re.Match[str] | None) -> float:
    """The number of a field; NaN where the line lacks it."""
    return NAN if found is None else number(found.group(1))
