"""A hostfile as Open MPI, MPICH, Intel MPI and the batch systems write it."""

import re
from collections import Counter
from pathlib import Path

from weft.core.errors import InputError

# SOURCE: Open MPI 5.0 documentation, "Scheduling processes across hosts": NAME slots=N; a host that
# stands there again adds its slots. MPICH's Hydra and Intel MPI: NAME:N.
_SLOTS = re.compile(r"slots=(.*)", re.IGNORECASE)


def read_hostfile(path: Path) -> dict[str, int | None]:
    """The hosts of a file in order, and how many ranks at a time each can hold: its `slots=N` or
    `:N`, or how often it stands there; None where it stands there once and nothing is said.

    '#' begins a comment, other words are passed over. Raises InputError without a host, or on slots
    that are no number.
    """
    slots: Counter[str] = Counter()
    said = set()
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        words = line.split("#", 1)[0].split()
        if not words:
            continue
        name, asked = _host_of(words)
        slots[name] += 1 if asked is None else _positive(asked, f"{path}:{number}")
        if asked is not None or slots[name] > 1:
            said.add(name)
    if not slots:
        raise InputError("no host in it", where=str(path), expected="one host name a line")
    return {name: n if name in said else None for name, n in slots.items()}


def _host_of(words: list[str]) -> tuple[str, str | None]:
    """The name, and what is said of its slots."""
    name, colon, behind = words[0].partition(":")
    if ":" in behind:  # an IPv6 address
        name, colon = words[0], ""
    found = [match[1] for word in words[1:] if (match := _SLOTS.fullmatch(word))]
    return name, found[-1] if found else behind if colon else None


def _positive(text: str, where: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text)):
        raise InputError(
            f"'{text}' is no number of slots",
            where=where,
            expected="how many ranks the host can hold at a time, as in 'node1 slots=4'",
        )
    return int(text)
