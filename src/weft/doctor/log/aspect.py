"""One line of what logs say."""

from dataclasses import dataclass
from typing import Any

MOST_SHOWN = 12


@dataclass(frozen=True, slots=True)
class Aspect:
    """One line of the picture: its name, its text and the same as values."""

    name: str
    text: str
    values: Any


def some(parts: list[str], most: int = MOST_SHOWN) -> str:
    """The first of them, and how many more there are."""
    rest = len(parts) - most
    return ", ".join(parts[:most]) + (f" and {rest:,} more" if rest > 0 else "")
