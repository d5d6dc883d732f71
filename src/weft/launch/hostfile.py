"""A hostfile as Open MPI, MPICH, Intel MPI and the batch systems write it."""

import re
from collections import Counter
from pathlib import Path

from weft.core.documents.text_file import read_text_file
from weft.core.errors import InputError

# SOURCE: Open MPI 5.0 documentation, "Scheduling processes across hosts": NAME slots=N; a host that
# stands there again adds its slots. MPICH's Hydra and Intel MPI: NAME:N.
_SLOTS = re.compile(r"slots=(.*)", re.IGNORECASE)
_NUMBER = re.compile(r"0*[1-9][0-9]{0,8}")
_EXPECTED = "a text file with one host name a line"
MOST_HOSTFILE_BYTES = 64 << 20
_SHOWN = 80


def read_hostfile(path: Path) -> dict[str, int | None]:
    """The hosts of a file in order, and how many ranks at a time each can hold: its `slots=N` or
    `:N`, or how often it stands there; None where it stands there once and no number is given.

    '#' begins a comment, other words are passed over. Raises InputError for what is no text file,
    without a host, on a name that cannot be printed, or on slots that are no number.
    """
    text = read_text_file(path, expected=_EXPECTED, most_bytes=MOST_HOSTFILE_BYTES)
    slots: Counter[str] = Counter()
    given = set()
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.split("#", 1)[0].split()
        if not words:
            continue
        name, asked = _host_of(words)
        if not name or not name.isprintable():
            raise InputError(
                f"{words[0][:_SHOWN]!a} is no host name",
                where=f"{path}:{number}",
                expected=_EXPECTED,
            )
        slots[name] += 1 if asked is None else _positive(asked, f"{path}:{number}")
        if asked is not None or slots[name] > 1:
            given.add(name)
    if not slots:
        raise InputError("no host in it", where=str(path), expected=_EXPECTED)
    return {name: n if name in given else None for name, n in slots.items()}


def _host_of(words: list[str]) -> tuple[str, str | None]:
    """The name, and its slots as written."""
    name, colon, behind = words[0].partition(":")
    if ":" in behind:  # an IPv6 address
        name, colon = words[0], ""
    found = [match[1] for word in words[1:] if (match := _SLOTS.fullmatch(word))]
    return name, found[-1] if found else behind if colon else None


def _positive(text: str, where: str) -> int:
    if not _NUMBER.fullmatch(text):
        raise InputError(
            f"{text[:_SHOWN]!a} is no number of slots",
            where=where,
            expected="how many ranks the host can hold at a time, as in 'node1 slots=4'",
        )
    return int(text)
