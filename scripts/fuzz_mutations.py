"""Readers, and the damage that launchers, editors, disks and people do to their files."""

import copy
import gzip
import json
import random
import re
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import tomli_w

Lines = list[str]
Damage = Callable[[random.Random, str, Sequence[Lines]], bytes]
"""The bytes of a sample with damage; it may take lines of other samples."""
TIME_LIMIT_S = 1.0
"""CPU time an input of a few kilobytes may take; a reader whose cost is not linear exceeds it."""


@dataclass(frozen=True, slots=True)
class Reader:
    """A reader with its samples and their damage.

    `outcome` reads input number i: whether it found anything, and the fault of that. `tool` is that
    of its rows or the kind of its job, where it has one.
    """

    name: str
    pieces: tuple[str, ...]
    damage: Damage
    outcome: Callable[[bytes, int], tuple[bool, str]]
    tool: str = ""
    limit_s: float = TIME_LIMIT_S


_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
_TOKENS = (
    "nan", "-nan", "inf", "-inf", "Infinity", "-1", "-0.01", "0", "-0", "1e999", "1e-999", "1e18",
    "9" * 25, "9" * 400, "0." + "0" * 300 + "1", "18446744073709551616", "1_000", "1,234.5", "0x1f",
    "1..2", "1.2.3", "+", "-", "", "N/A", "null", "*", "%", "1e", "e5", ".", "1.0X", "١٢٣", "²",
    "½", "１２", "(null)", "-9223372036854775808", "2147483648", "1/0", "12:34", "1 2", "0b1", "∞",
)  # fmt: skip
_ODD = "\x00\x0b\x0c\x1c\x85\u2028\ufeff\u0661\xa0\t…é"
_ODD_BYTES = (
    b"\xff",
    b"\xfe\xff",
    b"\xc3",
    b"\xed\xa0\x80",
    b"\x00",
    b"\r",
    b"\x1b[",
    b"\n\n",
    b"\\",
)
_PREFIXES = (
    "[1,0]<stdout>:", "[1,0]<stdout>: ", "0: ", "12: ", "node-17: ", "node-17 | ", "[0] ",
    "2024-05-01T12:00:00.123456Z ", "[2024-05-01 12:00:00] ", "May  1 12:00:00 node17 slurm[42]: ",
    "pod/nccl-0 ", "[pod/nccl-0/main] ", "[mpirun-0] ", "    ", "\t", "> ", "# ", "| ", "* ",
)  # fmt: skip
_COLOURS = ("\x1b[31m", "\x1b[0m", "\x1b[1;32;40m", "\x1b[K", "\x1b]0;title\x07", "\x1b[")
_NOISE = (
    "node17:4242:4250 [0] NCCL INFO Channel 00/16 : 0[0] -> 1[1] [receive] via NET/IB/0/GDRDMA",
    "[node17:04242] mca_base_component_repository_open: unable to open mca_btl_openib",
    "osu_bw: /usr/lib/libnl-3.so.200: no version information available (required by x)",
    " Conflicting CPU frequency values: 1200.000000 != 3500.000000. CPU Frequency is not max.",
    "srun: job 4242 queued and waiting for resources",
    "",
    "#",
    "-" * 80,
    "# Using devices",
)
_RUNS = " \t-#.|([:,0123456789eE=<>{\"'*/+"


def _edited(rng: random.Random, lines: Lines, edit: Callable[[str], str]) -> None:
    if lines:
        at = rng.randrange(len(lines))
        lines[at] = edit(lines[at])


def _inserted(rng: random.Random, lines: Lines, choose: Callable[[], str]) -> None:
    """Something is put into a line."""

    def edit(line: str) -> str:
        at = rng.randint(0, len(line))
        return line[:at] + choose() + line[at:]

    _edited(rng, lines, edit)


def _numbers(rng: random.Random, lines: Lines, _: Sequence[Lines]) -> None:
    """A number of one line becomes something else."""

    def edit(line: str) -> str:
        found = list(_NUMBER.finditer(line))
        if not found:
            return line
        match = rng.choice(found)
        return line[: match.start()] + rng.choice(_TOKENS) + line[match.end() :]

    for _i in range(rng.randint(1, 3)):
        _edited(rng, lines, edit)


def _all_numbers(rng: random.Random, lines: Lines, _: Sequence[Lines]) -> None:
    """All numbers of one line become the same something else."""
    token = rng.choice(_TOKENS).replace("\\", "")
    _edited(rng, lines, lambda line: _NUMBER.sub(token, line))


def _deleted(rng: random.Random, lines: Lines, _: Sequence[Lines]) -> None:
    for _i in range(rng.randint(1, 3)):
        if lines:
            del lines[rng.randrange(len(lines))]


def _doubled(rng: random.Random, lines: Lines, _: Sequence[Lines]) -> None:
    if lines:
        at = rng.randrange(len(lines))
        lines[at:at] = [lines[at]] * rng.choice((1, 1, 1, 2, 5, 30))


def _swapped(rng: random.Random, lines: Lines, _: Sequence[Lines]) -> None:
    if lines:
        a, b = rng.randrange(len(lines)), rng.randrange(len(lines))
        lines[a], lines[b] = lines[b], lines[a]


def _shuffled(rng: random.Random, lines: Lines, _: Sequence[Lines]) -> None:
    rng.shuffle(lines)


def _headless(rng: random.Random, lines: Lines, _: Sequence[Lines]) -> None:
    del lines[: rng.randint(1, 4)]


def _cut(rng: random.Random, lines: Lines, _: Sequence[Lines]) -> None:
    if lines:
        del lines[rng.randrange(len(lines)) :]


def _spliced(rng: random.Random, lines: Lines, others: Sequence[Lines]) -> None:
    """The beginning of one file, the end of another tool's."""
    other = rng.choice(others)
    lines[rng.randint(0, len(lines)) :] = other[rng.randint(0, len(other)) :]


def _interleaved(rng: random.Random, lines: Lines, others: Sequence[Lines]) -> None:
    """Two programs that print at once."""
    for line in rng.choice(others):
        lines.insert(rng.randint(0, len(lines)), line)


def _noisy(rng: random.Random, lines: Lines, _: Sequence[Lines]) -> None:
    for _i in range(rng.randint(1, 4)):
        lines.insert(rng.randint(0, len(lines)), rng.choice(_NOISE))


def _column_more(rng: random.Random, lines: Lines, _: Sequence[Lines]) -> None:
    """A column in all lines, at one position."""
    at, token = rng.randint(0, 8), rng.choice((*_TOKENS[:12], "12.5", "new", "Pass", "|"))
    start = rng.randint(0, max(0, len(lines) - 1))
    for i in range(start, len(lines)):
        words = lines[i].split(" ")
        words.insert(min(at * 3, len(words)), token)
        lines[i] = " ".join(words)


def _column_less(rng: random.Random, lines: Lines, _: Sequence[Lines]) -> None:
    at = rng.randint(0, 8)
    for i, line in enumerate(lines):
        words = line.split()
        if at < len(words):
            del words[at]
        lines[i] = "  ".join(words)


def _prefixed(rng: random.Random, lines: Lines, _: Sequence[Lines]) -> None:
    prefix = rng.choice(_PREFIXES)
    some = rng.random() < 0.3
    lines[:] = [line if some and rng.random() < 0.5 else prefix + line for line in lines]


def _coloured(rng: random.Random, lines: Lines, _: Sequence[Lines]) -> None:
    for _i in range(rng.randint(1, 4)):
        _inserted(rng, lines, lambda: rng.choice(_COLOURS))


def _odd_character(rng: random.Random, lines: Lines, _: Sequence[Lines]) -> None:
    _inserted(rng, lines, lambda: rng.choice(_ODD))


def _joined(rng: random.Random, lines: Lines, _: Sequence[Lines]) -> None:
    if len(lines) > 1:
        at = rng.randrange(len(lines) - 1)
        lines[at : at + 2] = [lines[at] + rng.choice(("", " ", "\r", "\t")) + lines[at + 1]]


def _broken(rng: random.Random, lines: Lines, _: Sequence[Lines]) -> None:
    if lines:
        at = rng.randrange(len(lines))
        cut = rng.randint(0, len(lines[at]))
        lines[at : at + 1] = [lines[at][:cut], lines[at][cut:]]


def _stretched(rng: random.Random, lines: Lines, _: Sequence[Lines]) -> None:
    """A run of one character, which a pattern that backtracks would choke on."""

    def run() -> str:
        n = 40_000 if rng.random() < 0.03 else rng.choice((10, 50, 50, 300, 3000))
        return rng.choice(_RUNS) * n

    _inserted(rng, lines, run)


def _words(rng: random.Random, lines: Lines, _: Sequence[Lines]) -> None:
    """Words of a line change places, vanish or repeat."""

    def edit(line: str) -> str:
        words = line.split()
        if not words:
            return line
        a, b = rng.randrange(len(words)), rng.randrange(len(words))
        words[a], words[b] = words[b], words[a]
        if rng.random() < 0.3:
            words[a:a] = [words[b]] * rng.choice((1, 2, 20))
        return "   ".join(words)

    _edited(rng, lines, edit)


LINE_MUTATIONS: tuple[Callable[[random.Random, Lines, Sequence[Lines]], None], ...] = (
    _numbers, _numbers, _numbers, _all_numbers, _deleted, _doubled, _swapped, _headless, _cut,
    _spliced, _interleaved, _noisy, _column_more, _column_less, _prefixed, _coloured,
    _odd_character, _joined, _broken, _stretched, _words, _shuffled,
)  # fmt: skip


def _bytes_damaged(rng: random.Random, data: bytes) -> bytes:
    """Damage that ignores lines: bits, foreign bytes, line ends, a cut."""
    kind = rng.randrange(6)
    if kind == 0:
        return data[: rng.randint(0, len(data))]
    if kind == 1:
        return data.replace(b"\n", rng.choice((b"\r\n", b"\r", b"\n\n", b"\n\r")))
    if kind == 2:
        at = rng.randint(0, len(data))
        return data[:at] + rng.choice(_ODD_BYTES) + data[at:]
    if kind == 3:
        return rng.choice((b"\xef\xbb\xbf", b"\n" * 5, b"{", b"[", b"\x1b[0m")) + data
    damaged = bytearray(data)
    for _i in range(rng.randint(1, 8)):
        if damaged:
            damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
    return bytes(damaged)


def mutated_text(rng: random.Random, sample: Lines, others: Sequence[Lines]) -> bytes:
    """The sample with one to four kinds of damage, seldom none of the bytes."""
    lines = list(sample)
    for _i in range(rng.choice((1, 1, 1, 2, 2, 3, 4))):
        rng.choice(LINE_MUTATIONS)(rng, lines, others)
    data = "\n".join(lines).encode("utf-8", "surrogatepass") + b"\n"
    return _bytes_damaged(rng, data) if rng.random() < 0.15 else data


_VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1e308, -0.0, float("nan"), float("inf"), 10**30, "", "nan", "-1",
    "12.5", [4096, 0], 2**31, 2**63 - 1, 5e-324, 1e300, "x" * 300, [], {}, [[]], [0],
    {"Links": [[0, 1.0]]}, "١٢", [1, 2, 3], {"size": -8},
)  # fmt: skip


_BLOWN_UP: tuple[float, ...] = (
    0, 1, -1, 0.5, 1e-9, 5e-324, 1e9, 1e18, 1e300, 1e308, float("inf"), float("nan"), 255, 4096,
    65536, 2**31, 2**32, 2**53, 2**63 - 1, 2**63, 10**30, 10**400,
)  # fmt: skip


def _places(document: Any) -> list[tuple[Any, Any]]:
    """All (container, key) of a document."""
    found: list[tuple[Any, Any]] = []
    todo = [document]
    while todo:
        value = todo.pop()
        if isinstance(value, dict | list):
            items = value.items() if isinstance(value, dict) else enumerate(value)
            for key, inside in items:
                found.append((value, key))
                todo.append(inside)
    return found


def _damage_structure(rng: random.Random, document: Any) -> Any:
    places = _places(document)
    # INVARIANT: no container is in a document twice, or damage could tie it into a knot.
    value = copy.deepcopy(rng.choice(_VALUES))
    if not places:
        return value
    numbers = [(of, key) for of, key in places if type(of[key]) in (int, float)]
    if numbers and rng.random() < 0.4:
        # What is well formed comes farther than what is not.
        container, key = rng.choice(numbers)
        container[key] = rng.choice(_BLOWN_UP)
        return document
    container, key = rng.choice(places)
    kind = rng.randrange(6)
    if kind <= 1:
        container[key] = value
    elif kind == 2:
        del container[key]
    elif kind == 3:
        container[key] = [copy.deepcopy(container[key]) for _i in range(rng.choice((1, 2, 8)))]
    elif kind == 4 and isinstance(container, dict):
        container[rng.choice(("size", "Links", "time", "", "x", key + "2"))] = container.pop(key)
    else:
        other, other_key = rng.choice(places)
        container[key] = json.loads(json.dumps(other[other_key]))
    return document


def mutated_json(rng: random.Random, sample: str, others: Sequence[Lines]) -> bytes:
    """The document with damage to its structure, to its text, or to both."""
    text = _damaged_document(
        rng, sample, json.loads, lambda it: json.dumps(it, indent=rng.choice((None, 1, 2)))
    )
    if rng.random() < 0.02:
        depth = rng.choice((50, 2000))
        text = '{"Links": ' + "[" * depth + text + "]" * depth + "}"
    return _sometimes_mutated(rng, text, others)


def mutated_toml(rng: random.Random, sample: str, others: Sequence[Lines]) -> bytes:
    """The document with damage to its structure, to its text, or to both."""
    text = _damaged_document(rng, sample, _toml_document, tomli_w.dumps)
    return _sometimes_mutated(rng, text, others)


def _damaged_document(
    rng: random.Random, text: str, loads: Callable[[str], Any], dumps: Callable[[Any], str]
) -> str:
    """The text with damage to the structure, seldom none; the text itself where a form has no
    words for the damage."""
    if rng.random() >= 0.8:
        return text
    try:
        document = loads(text)
        for _i in range(rng.choice((1, 1, 2, 3))):
            document = _damage_structure(rng, document)
        return dumps(document)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return text


def _sometimes_mutated(rng: random.Random, text: str, others: Sequence[Lines]) -> bytes:
    if rng.random() < 0.3:
        return mutated_sample(rng, text, others)
    return text.encode("utf-8", "surrogatepass")


def _toml_document(text: str) -> Any:
    return copy.deepcopy(_parsed_toml(text))


_parsed_toml = cache(tomllib.loads)
"""Parsing takes longer than all damage, and samples are few."""


def mutated_sample(rng: random.Random, sample: str, others: Sequence[Lines]) -> bytes:
    """A text with damage to its lines."""
    return mutated_text(rng, sample.split("\n"), others)


def mutated_gzip(rng: random.Random, sample: str, others: Sequence[Lines]) -> bytes:
    """A packed text with damage inside, or to the bytes of the archive."""
    packed = gzip.compress(mutated_sample(rng, sample, others), mtime=0)
    return _bytes_damaged(rng, packed) if rng.random() < 0.7 else packed


def mutated_json_lines(rng: random.Random, sample: str, others: Sequence[Lines]) -> bytes:
    """Documents of a line each, some with damage."""
    lines = sample.encode().split(b"\n")
    for _i in range(rng.choice((1, 1, 2, 5))):
        at = rng.randrange(len(lines))
        damaged = mutated_json(rng, lines[at].decode("utf-8", "replace"), others)
        lines[at] = damaged.replace(b"\n", b" ") if rng.random() < 0.9 else damaged
    return b"\n".join(lines)
