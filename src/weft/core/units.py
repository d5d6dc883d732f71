"""Sizes, times and rates as people write them, how exact computed ones are, and numbers of
documents that no part of weft can compute with.

GB = 1e9 bytes, KiB = 2^10 bytes.
"""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeVar

from weft.core.errors import InputError

ROUNDING = 1e-9
"""How far the same figures may lie apart when computed in another order: 64-bit floats carry 16
digits, and sums here lose fewer than seven. Relative, or absolute for counts and logarithms."""
SUMMED = 1e-6
"""The same for shares summed over a schedule, and for figures printed with six digits or more."""

MOST_BYTES = 2**53
"""Sizes go through 64-bit floats, which hold whole numbers exactly up to here."""

LARGEST_WHOLE = 2**63 - 1
"""TOML's own limit of whole numbers, and that of numpy's columns and the engine."""
LARGEST_FIGURE = 1e18
"""Of the figures of platforms and studies; the least is its inverse, or 0. Products of a dozen stay
in a float's range. The largest number here, the end of the engine's clock, is 9.2e18 ps."""
DEEPEST = 64
"""Levels of nesting. The deepest document of the catalogue has 6."""

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


def refuse_unusable(document: Any, where: str, *, most: float = math.inf) -> None:
    """Raises InputError that names the key of the first number that is not finite or has more than
    64 bits, or of what is nested too deep; of a fraction above `most`, or below its inverse, too.
    """
    left: list[tuple[str, int, Any]] = [("", 0, document)]
    while left:
        path, depth, value = left.pop()
        expected = _expected(value, depth, most)
        if expected:
            at = f"key '{path[:200]}'" if path else "the document"
            raise InputError(
                f"{at} is wrong", where=where, expected=f"{expected}, not {_as(value)}"
            )
        if isinstance(value, Mapping):
            inner = [(f"{path}.{key}".lstrip("."), depth + 1, one) for key, one in value.items()]
            left.extend(reversed(inner))
        elif isinstance(value, list):
            items = [(f"{path}[{i}]", depth + 1, one) for i, one in enumerate(value)]
            left.extend(reversed(items))


def _expected(value: Any, depth: int, most: float) -> str:
    """What was expected instead; "" of what can be used."""
    if depth > DEEPEST:
        return f"at most {DEEPEST} levels of nesting"
    if isinstance(value, float) and not math.isfinite(value):
        return "a finite number"
    if isinstance(value, float) and value and not 1 / most <= abs(value) <= most:
        return f"0, or a number from {1 / most:g} to {most:g}"
    if isinstance(value, int) and abs(value) > LARGEST_WHOLE:
        return "a whole number of at most 64 bits"
    return ""


def _as(value: Any) -> str:
    if isinstance(value, float):
        return str(value)
    # Python refuses to print numbers of thousands of digits.
    return f"one of {value.bit_length()} bits" if isinstance(value, int) else "more"


def parse_size(text: str) -> int:
    """Bytes of '8', '4K', '4KiB', '1MiB', '1MB'. Raises InputError on anything else."""
    match = _SIZE.match(text)
    factor = _SIZE_FACTORS.get(match.group(2).lower()) if match else None
    if match is None or factor is None:
        raise InputError(
            f"'{text}' is not a size", expected="a number with B, K, KiB, M, MiB, G, kB, MB or GB"
        )
    n_bytes = float(match.group(1)) * factor
    if n_bytes > MOST_BYTES:
        raise InputError(
            f"'{text[:40]}' is too large a size", expected=f"at most {MOST_BYTES:,} bytes"
        )
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
    if not 0 < seconds < math.inf:
        raise InputError(
            f"'{text[:40]}' is not a time",
            expected="a number above 0 with ms, s, min or h, such as 60s",
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
