"""Values of JSON documents as numbers and texts, whatever a tool wrote them as."""

import json
import math
from typing import Any

from weft.results.lines.number import LARGEST_EXACT_COUNT, LARGEST_MEASURED, counted, measured

_MAX_CHARACTERS = 1 << 26
_LONGEST_TEXT = 200


def loaded(text: str) -> Any:
    """The document, or None where it is no JSON, too deep or too large."""
    if len(text) > _MAX_CHARACTERS:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def amount(value: Any) -> float | None:
    """A number from 0 to 1e18, written as a number or as text; None for anything else."""
    if isinstance(value, str):
        return measured(value.strip()[:64])
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if not 0 <= value <= LARGEST_MEASURED:
        return None
    number = float(value)
    return number if math.isfinite(number) else None


def count(value: Any) -> int | None:
    """A whole number from 0 to 2^53, written as a number or as text; None for anything else."""
    if isinstance(value, str):
        return counted(value.strip()[:64])
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 <= value <= LARGEST_EXACT_COUNT else None


def text_of(value: Any) -> str:
    """A text or number as text, without blanks around it, cut; "" for anything else."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and abs(value) > LARGEST_MEASURED:
        return ""
    return str(value).strip()[:_LONGEST_TEXT] if isinstance(value, str | int | float) else ""
