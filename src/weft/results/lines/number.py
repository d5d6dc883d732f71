"""Numbers as tools print them, or None: a reader never trips over a token."""

import math
import re
from decimal import Decimal

_NUMBER = re.compile(r"[+-]?(?:\d{1,40}(?:\.\d{1,40})?|\.\d{1,40})(?:[eE][+-]?\d{1,3})?$", re.ASCII)
_COUNT = re.compile(r"\d{1,18}$")

LARGEST_MEASURED = 1e18
"""No time, rate or bandwidth in any tool's unit is above this; a larger number is damage."""
LARGEST_EXACT_COUNT = 2**53
"""Above it a size is no longer exact in the tables that are stored."""


def as_number(token: str) -> float | None:
    """The finite value of a plain decimal (not 'nan', '1_000', '12.', 400 digits), or None."""
    if not _NUMBER.match(token):
        return None
    value = float(token)
    return value if math.isfinite(value) else None


def as_count(token: str) -> int | None:
    """A whole number of at most 18 digits, not negative, or None."""
    return int(token) if token.isascii() and _COUNT.match(token) else None


def as_amount(token: str) -> float | None:
    """A number that is not negative, or None: times, rates and sizes are none below zero."""
    value = as_number(token)
    return value if value is not None and value >= 0 else None


def as_converted(token: str, times: int, by: int) -> float | None:
    """An amount in another unit, `times` over `by` of the printed one, rounded once; or None."""
    value = as_amount(token)
    if value is None or times == by:
        return value
    return float(Decimal(token) * times / by)


def measured(token: str) -> float | None:
    """A finite number from 0 to 1e18, or None."""
    value = as_amount(token)
    return value if value is not None and value <= LARGEST_MEASURED else None


def counted(token: str) -> int | None:
    """A whole number from 0 to 2^53, or None."""
    value = as_count(token)
    return value if value is not None and value <= LARGEST_EXACT_COUNT else None
