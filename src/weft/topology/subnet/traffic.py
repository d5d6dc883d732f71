"""Traffic: all to all, a shift, pairs from a file, or the messages of a collective."""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from weft.core.documents.text_file import read_text_file
from weft.core.errors import InputError
from weft.core.natural import natural_key
from weft.core.units import format_size, parse_size
from weft.topology.engine import as_input_error, engine_module
from weft.topology.subnet.place_names import Places
from weft.topology.subnet.subnet import Subnet

ALL_TO_ALL = "all-to-all"
SIZE_BYTES = 1 << 20
MOST_PAIRS_BYTES = 1 << 26
"""A file of pairs is no larger: a million pairs of long names."""
EXPECTED = "all-to-all, shift:K, pairs:FILE, or a collective as allreduce[:ALGORITHM[:SIZE]]"
AGGREGATION_NODE = "Aggregation Node"
"""The own name of processors for reductions inside switches: no rank runs there."""

_WHERE_IN_JSON = re.compile(r" at line \d+ column \d+$")
Pairs = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Traffic:
    """`by_bytes`: pairs of end ports by what each sends, empty when all send to all. `unit` is
    what is counted on cables: 'paths', each one pair, or 'B'."""

    title: str
    unit: str
    by_bytes: Mapping[int, Pairs]

    @property
    def most_of_a_pair(self) -> int:
        """The bytes of the busiest pair: no cable that is used carries less in one piece."""
        if self.is_all_to_all:
            return 1
        sent: Counter[tuple[int, int]] = Counter()
        for n_bytes, pairs in self.by_bytes.items():
            for pair, times in Counter(pairs).items():
                sent[pair] += n_bytes * times
        return max(sent.values())

    @property
    def is_all_to_all(self) -> bool:
        """Whether each rank sends as much to every other."""
        return not self.by_bytes


def traffic_of(subnet: Subnet, text: str) -> Traffic:
    """The traffic that `text` asks for (EXPECTED). Ranks are end ports in the order of their names.

    Raises InputError for a text, a file or a name that means nothing.
    """
    kind, _, argument = text.partition(":")
    if text in (ALL_TO_ALL, "alltoall", "all_to_all"):
        return Traffic("all to all", "paths", {})
    if kind == "shift":
        return _shift(subnet, argument)
    if kind == "pairs":
        return _pairs(subnet, argument)
    return _collective(subnet, text)


def ranks_of(subnet: Subnet) -> tuple[int, ...]:
    """The end ports that ranks run on, by number, in the order of the hosts' names."""
    names = [subnet.name(endport.node) for endport in subnet.endports]
    numbers = [at for at, name in enumerate(names) if AGGREGATION_NODE not in name]
    return tuple(sorted(numbers, key=lambda at: (natural_key(names[at]), subnet.endports[at].port)))


def _shift(subnet: Subnet, text: str) -> Traffic:
    ranks = ranks_of(subnet)
    n = len(ranks)
    if not text.isascii() or not text.isdigit() or not 0 < int(text) < max(n, 2):
        raise InputError(
            f"'shift:{text}'", where="--load", expected=f"shift:K with K from 1 to {n - 1}"
        )
    shift = int(text)
    pairs = tuple((rank, ranks[(at + shift) % n]) for at, rank in enumerate(ranks))
    return Traffic(f"a shift by {shift}", "paths", {1: pairs})


def _pairs(subnet: Subnet, name: str) -> Traffic:
    text = read_text_file(
        Path(name), expected="lines of two names", most_bytes=MOST_PAIRS_BYTES, as_it_is=True
    )
    places = Places(subnet)
    numbers = {(endport.node, endport.port): at for at, endport in enumerate(subnet.endports)}
    pairs = []
    for line_number, line in enumerate(text.splitlines(), start=1):
        words = line.partition("#")[0].replace(",", " ").split()
        if not words:
            continue
        if len(words) != 2:
            raise InputError(
                f"{len(words)} words",
                where=f"{name}:{line_number}",
                expected="two names, the sender's first",
            )
        ends = [places.find(word)[0] for word in words]
        known = [numbers.get((end.node, end.port)) for end in ends]
        if known[0] is None or known[1] is None:
            raise InputError(
                "a switch neither sends nor receives",
                where=f"{name}:{line_number}",
                expected="names of hosts",
            )
        pairs.append((known[0], known[1]))
    if not pairs:
        raise InputError("no pairs", where=name, expected="lines of two names")
    return Traffic(f"the {len(pairs):,} pairs of {Path(name).name}", "paths", {1: tuple(pairs)})


def _collective(subnet: Subnet, text: str) -> Traffic:
    benchmark, _, argument = text.partition(":")
    algorithm, _, size = argument.partition(":")
    size_bytes = parse_size(size) if size else SIZE_BYTES
    step = {"benchmark": benchmark, "size_bytes": size_bytes}
    if algorithm:
        step["algorithm"] = algorithm
    ranks = ranks_of(subnet)
    try:
        moves = engine_module().expand_collective(json.dumps(step), len(ranks))
    except ValueError as error:
        found = as_input_error(error)
        raise InputError(
            _WHERE_IN_JSON.sub("", found.what),
            where=f"--load {text}",
            expected=EXPECTED,
            hint=found.hint,
        ) from error
    by_bytes: dict[int, list[tuple[int, int]]] = defaultdict(list)
    sends = moves["is_send"]
    columns = (moves[name][sends].tolist() for name in ("rank", "peer", "size_bytes"))
    for src, dst, n_bytes in zip(*columns, strict=True):
        if n_bytes:
            by_bytes[n_bytes].append((ranks[src], ranks[dst]))
    if not by_bytes:
        raise InputError(
            "nothing is sent", where=f"--load {text}", expected="a collective with bytes to send"
        )
    how = f" ({algorithm})" if algorithm else ""
    return Traffic(
        f"{benchmark}{how} of {format_size(size_bytes)} on {len(ranks):,} ranks",
        "B",
        {n_bytes: tuple(pairs) for n_bytes, pairs in sorted(by_bytes.items())},
    )
