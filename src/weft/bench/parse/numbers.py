"""Numbers as tools print them: plain ASCII decimals, or nothing."""

import re

MAX_DIGITS = 40
"""A longer token is no measurement; refusing it keeps conversions cheap."""
LARGEST = 1e18
_DECIMAL = re.compile(r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,2})?")


def measured(token: str) -> float | None:
    """A finite number from 0 to 1e18; None for anything else (nan, inf, -1, 1_000, 400 digits)."""
    if len(token) > MAX_DIGITS or _DECIMAL.fullmatch(token) is None:
        return None
    value = float(token)
    return value if value <= LARGEST else None


def counted(token: str) -> int | None:
    """A whole number from 0 to 1e18; None for anything else."""
    if len(token) > MAX_DIGITS or not (token.isascii() and token.isdigit()):
        return None
    value = int(token)
    return value if value <= LARGEST else None
