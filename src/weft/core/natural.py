"""Names in the order in which a person counts them."""

import re

SortKey = tuple[tuple[int, int, str], ...]

_DIGITS = re.compile(r"(\d+)")


def natural_key(name: str) -> SortKey:
    """Sorts leaf9 before leaf10: figures by their value, other parts as text."""
    parts = (part for part in _DIGITS.split(name) if part)
    return tuple(
        (0, int(part), part) if part.isascii() and part.isdigit() else (1, 0, part)
        for part in parts
    )
