"""Numbers as the libraries read them, not as people mean them."""

import re

LONG_MAX = 2**63 - 1
_STRTOLL = re.compile(r"[ \t\n\v\f\r]*([+-]?)(0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*)")


MOST_DIGITS = 19
"""Of a decimal number in 64 bits. Python itself refuses to read some thousands."""


def whole(text: str) -> int | None:
    """A number of decimal digits that 64 bits can hold; None for everything else."""
    is_number = text.isascii() and text.isdecimal() and len(text) <= MOST_DIGITS
    return int(text) if is_number else None


def strtoll(text: str) -> tuple[int | None, str]:
    """(value, remaining text) of C's strtoll(text, &end, 0); None where it does not fit 64 bits.

    Where no number begins the value is 0 and all of the text remains. SOURCE: C11 7.22.1.4.
    """
    found = _STRTOLL.match(text)
    if found is None:
        return 0, text
    digits = found[2]
    if digits[:2] in ("0x", "0X"):
        value = int(digits, 16)
    elif digits.startswith("0"):
        value = int(digits, 8)
    else:
        value = 1 << 64 if len(digits) > MOST_DIGITS else int(digits)
    value = -value if found[1] == "-" else value
    remaining = text[found.end() :]
    return (value if -LONG_MAX - 1 <= value <= LONG_MAX else None), remaining


WORDS_OF_YES = {"true", "yes", "on", "y", "t", "enable", "enabled"}
WORDS_OF_NO = {"false", "no", "off", "n", "f", "disable", "disabled", "none"}
SUFFIX = re.compile(r"\s*([kKmMgGtT])i?[bB]?\s*")
FACTOR = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def meant(text: str) -> str | None:
    """The number meant by a word or by a size with a suffix; None where it is not clear."""
    word = text.strip().lower()
    if word in WORDS_OF_YES:
        return "1"
    if word in WORDS_OF_NO:
        return "0"
    value, remaining = strtoll(text)
    suffix = SUFFIX.fullmatch(remaining)
    if value is not None and suffix is not None and remaining != text:
        return str(value * FACTOR[suffix[1].lower()])
    return None
