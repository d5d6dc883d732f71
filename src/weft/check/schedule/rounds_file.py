"""A file of rounds: ours, a line a round, or ClusterKit's, a line a pair."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from weft.check.schedule.ranks import ScheduleRanks
from weft.check.schedule.rounds.matchings import Round, in_order
from weft.core.documents.text_file import read_text_file
from weft.core.errors import InputError

MOST_ROUNDS_BYTES = 256 * 2**20
_NUMBER = re.compile(r"[0-9]{1,18}")
_LONGEST_WORD = 1024
"""Letters of two host names (SOURCE: POSIX, _POSIX_HOST_NAME_MAX 255), each with its rank."""

Ends = tuple[int, ...]
"""The ranks that a word means: one, or one a rail of a node."""


def read_rounds(path: Path, ranks: ScheduleRanks) -> list[Round]:
    """The rounds of a file, in its order. Raises InputError with file and line.

    A line of our own is a round, `0-1 2-3` or `n001-n002 n003-n004`: ranks, nodes (all rails of
    them), or `node:rank` as in a check's readings. `#` begins a comment. Lines of three words,
    `<round> <node1> <node2>`, are ClusterKit's: pairs of equal number are one round.
    SOURCE of that format: NVIDIA HPC-X documentation, ClusterKit, custom mode (`-f`).
    """
    lines = _lines(path)
    known = _names(ranks)
    by_pair = all(len(words) == 3 and _NUMBER.fullmatch(words[0]) for _, words in lines)
    named = _clusterkit(lines) if by_pair else _ours(path, lines, known)
    rounds = [_round(path, pairs, known, ranks) for pairs in named]
    if not rounds:
        raise InputError("no round in it", where=str(path), expected="a line a round: 0-1 2-3")
    return rounds


_Lines = Sequence[tuple[int, list[str]]]
_Round = Iterable[tuple[int, tuple[str, str]]]
"""By pair: the number of its line, and two words."""


def _lines(path: Path) -> list[tuple[int, list[str]]]:
    """Line numbers and words, without comments."""
    text = read_text_file(path, expected="a text file of rounds", most_bytes=MOST_ROUNDS_BYTES)
    split = ((i, line.split("#", 1)[0].split()) for i, line in enumerate(text.splitlines(), 1))
    return [(number, words) for number, words in split if words]


def _names(ranks: ScheduleRanks) -> dict[str, Ends]:
    """The ranks of each word."""
    measured = np.flatnonzero(ranks.has_rail).tolist()
    names: dict[str, Ends] = {str(rank): (rank,) for rank in measured}
    names |= {ranks.endpoint(rank): (rank,) for rank in measured}
    for unit, name in enumerate(ranks.units):
        first = unit * ranks.n_rails
        names[name] = tuple(r for r in range(first, first + ranks.n_rails) if ranks.has_rail[r])
    return names


def _clusterkit(lines: _Lines) -> Iterable[_Round]:
    by_number: dict[int, list[tuple[int, tuple[str, str]]]] = {}
    for number, (round_, a, b) in lines:
        by_number.setdefault(int(round_), []).append((number, (a, b)))
    return (pairs for _, pairs in sorted(by_number.items()))


def _ours(path: Path, lines: _Lines, known: dict[str, Ends]) -> Iterable[_Round]:
    for line, words in lines:
        yield [(line, _halves(path, line, word, known)) for word in words]


def _halves(path: Path, line: int, word: str, known: dict[str, Ends]) -> tuple[str, str]:
    """'n1', 'n2' of 'n1-n2', whatever dashes the names have. Raises InputError."""
    # A word of dashes alone would cost the square of its length.
    if len(word) > _LONGEST_WORD:
        raise _wrong(path, line, f"'{word[:80]}...' is no pair")
    cuts = [i for i, letter in enumerate(word) if letter == "-"]
    halves = [(word[:i], word[i + 1 :]) for i in cuts]
    good = [(a, b) for a, b in halves if a in known and b in known]
    if len(good) == 1:
        return good[0]
    if len(halves) == 1:
        return halves[0]
    what = "has two readings" if good else "is no pair"
    raise _wrong(path, line, f"'{word}' {what}")


def _pair(
    path: Path, line: int, ends: tuple[str, str], known: dict[str, Ends]
) -> list[tuple[int, int]]:
    """The pairs of ranks of two words: rail by rail where both are nodes."""
    for name in ends:
        if name not in known:
            raise _wrong(path, line, f"no node or rank '{name}'")
    a, b = known[ends[0]], known[ends[1]]
    if a == b:
        raise _wrong(path, line, f"'{ends[0]}' cannot meet itself")
    return list(zip(a, b, strict=False))


def _round(path: Path, pairs: _Round, known: dict[str, Ends], ranks: ScheduleRanks) -> Round:
    met: list[tuple[int, int]] = []
    busy: set[int] = set()
    for line, of_pair in [(line, _pair(path, line, ends, known)) for line, ends in pairs]:
        for rank in (rank for pair in of_pair for rank in pair):
            if rank in busy:
                who = ranks.endpoint(rank)
                raise _wrong(path, line, f"'{who}' is in two pairs of one round")
            busy.add(rank)
        met += of_pair
    return in_order(np.array(met, np.int64))


def _wrong(path: Path, line: int, what: str) -> InputError:
    return InputError(
        what,
        where=f"{path}:{line}",
        expected="a line a round: 0-1 2-3 or n001-n002 n003-n004; or ClusterKit's '1 n001 n002'",
    )
