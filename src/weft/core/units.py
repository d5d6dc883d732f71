"""Sizes, times and rates as people write them, and how exact computed ones are.

GB = 1e9 bytes, KiB = 2^10 bytes.
"""

import math
import re
from collections.abc import Sequence
from typing import Protocol, TypeVar

from weft.core.errors import InputError

ROUNDING = 1e-9
"""How far the same figures may lie apart when computed in another order: 64-bit floats carry 16
digits, and sums here lose fewer than seven. Relative, or absolute for counts and logarithms."""
SUMMED = 1e-6
"""The same for shares summed over a schedule, and for figures printed with six digits or more."""

_SIZE = re.compile(r"^\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*$")
_SIZE_FACTORS = {
    "": 1,
    "b": 1,
    "k": 2**10,
    "kib": 2**10,
    "m": 2**20,
    "mib": 2**20,
    "g": 2**30,
    "gib": 2**30,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
}

_DURATION_FACTORS = {"": 1.0, "ms": 1e-3, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}


def parse_size(text: str) -> int:
    """Bytes of '8', '4K', '4KiB', '1MiB', '1MB'. Raises InputError on anything else."""
    match = _SIZE.match(text)
    factor = _SIZE_FACTORS.get(match.group(2).lower()) if match else None
    if match is None or factor is None:
        raise InputError(
            f"'{text}' is not a size", expected="a number with B, K, KiB, M, MiB, G, kB, MB or GB"
        )
    n_bytes = float(match.group(1)) * factor
    if n_bytes != int(n_bytes):
        raise InputError(f"'{text}' is not a whole number of bytes", expected="a whole number")
    return int(n_bytes)


def parse_size_range(text: str) -> tuple[int, ...]:
    """Sizes of '8', '8,64K', or '1:4M' (powers of two between the two ends, both included)."""
    sizes: list[int] = []
    for part in text.split(","):
        if ":" not in part:
            sizes.append(parse_size(part))
            continue
        low, high = (parse_size(end) for end in part.split(":", 1))
        sizes.extend(powers_of_two(low, high))
    if not sizes:
        raise InputError(f"'{text}' names no size", expected="'8', '8,64K' or '1:4M'")
    return tuple(sorted(set(sizes)))


def powers_of_two(low_bytes: int, high_bytes: int) -> tuple[int, ...]:
    """low, 2 low, 4 low ... up to high; from 0 the list goes 0, 1, 2, 4 ..."""
    if low_bytes > high_bytes:
        raise InputError(
            f"the range {low_bytes}:{high_bytes} is empty", expected="the smaller size first"
        )
    sizes = [0] if low_bytes == 0 else []
    size = max(low_bytes, 1)
    while size <= high_bytes:
        sizes.append(size)
        size *= 2
    return tuple(sizes)


def format_size(n_bytes: int) -> str:
    """'8 B', '64 KiB', '4 MiB': exact, in the largest binary unit that divides the size."""
    for factor, unit in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if n_bytes >= factor and n_bytes % factor == 0:
            return f"{n_bytes // factor} {unit}"
    return f"{n_bytes} B"


def format_size_roughly(n_bytes: int) -> str:
    """'7.9 MiB', '945 GiB': to two digits or more, for sizes that are measured."""
    for factor, unit in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if n_bytes >= factor:
            size = n_bytes / factor
            return f"{size:.0f} {unit}" if size >= 10 else f"{round(size, 1):g} {unit}"
    return f"{n_bytes} B"


def format_significant(value: float, digits: int = 4) -> str:
    """A plain decimal with the given significant digits, never an exponent."""
    if value == 0:
        return "0"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return f"{value:.{decimals}f}"


def parse_duration(text: str) -> float:
    """Seconds of '90', '60s', '500ms', '5min', '1h'. Raises InputError on all else, and on 0."""
    match = _SIZE.match(text)
    factor = _DURATION_FACTORS.get(match.group(2).lower()) if match else None
    seconds = float(match.group(1)) * factor if match and factor is not None else 0.0
    if seconds <= 0:
        raise InputError(
            f"'{text}' is not a time", expected="a number above 0 with ms, s, min or h, such as 60s"
        )
    return seconds


def format_duration(seconds: float) -> str:
    """'41 ms', '12.3 s', '4 min 05 s', '2 h 10 min'."""
    if seconds < 1:
        return f"{seconds * 1e3:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    if seconds < 3600:
        return f"{int(seconds // 60)} min {int(seconds % 60):02d} s"
    return f"{int(seconds // 3600)} h {int(seconds % 3600 // 60):02d} min"


class Limited(Protocol):
    """A part of a table by message size: for sizes up to `max_bytes`, None for any."""

    @property
    def max_bytes(self) -> int | None:
        """The largest size that it is for."""
        ...


Part = TypeVar("Part", bound=Limited)


def in_force(parts: Sequence[Part], size_bytes: int) -> Part:
    """The first of the parts that is for a size; the last one where none is."""
    fitting = (one for one in parts if one.max_bytes is None or size_bytes <= one.max_bytes)
    return next(fitting, parts[-1])
