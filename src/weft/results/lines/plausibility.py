"""Numbers that a measurement can have."""

from weft.results.lines.number import as_amount, as_count

LARGEST_MEASURED = 1e18
"""No time, rate or bandwidth in any tool's unit is above this; a larger number is damage."""
LARGEST_EXACT_COUNT = 2**53
"""Above it a size is no longer exact in the tables that are stored."""


def measured(token: str) -> float | None:
    """A finite number from 0 to 1e18, or None."""
    value = as_amount(token)
    return value if value is not None and value <= LARGEST_MEASURED else None


def counted(token: str) -> int | None:
    """A whole number from 0 to 2^53, or None."""
    value = as_count(token)
    return value if value is not None and value <= LARGEST_EXACT_COUNT else None
