"""Names in the order in which a person counts them."""

import re

SortKey = tuple[tuple[int, int, str], ...]

_DIGITS = re.compile(r"(\d+)")
_MOST_DIGITS = 4000
"""Python reads no number of more than 4,300: a longer one is text."""


def natural_key(name: str) -> SortKey:
    """Sorts leaf9 before leaf10: figures by their value, other parts as text."""
    parts = (part for part in _DIGITS.split(name) if part)
    return tuple((0, int(part), part) if _is_figure(part) else (1, 0, part) for part in parts)


def _is_figure(part: str) -> bool:
    return part.isascii() and part.isdigit() and len(part) <= _MOST_DIGITS
