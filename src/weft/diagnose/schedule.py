"""Which pairs measure at the same time: every pair once, no node twice in a round.

A round is a list of (a, b) with a < b, indices of nodes in the fabric's order.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from weft.diagnose.check.network import Network

IndexPair = tuple[int, int]
Rounds = list[list[IndexPair]]
Path = tuple[str, ...]


def reflection_rounds(n: int) -> Rounds:
    """All pairs of n in at most n rounds: round r pairs i with r - i (mod n).

    Neighbouring senders then have neighbouring receivers, each a different one modulo the number
    of up-links, so under d-mod-k routing on a full tree no two messages of a round share a cable:
    one round more than the circle method, and no collisions to sort out afterwards.
    SOURCE: the argument is Zahavi's for shift permutations (Fat-tree routing and node ordering
    providing contention free traffic, JPDC 2012); a reflection is a shift read backwards.
    Raises ValueError below two nodes.
    """
    _refuse_fewer_than_two(n)
    return [pairs for r in range(n) if (pairs := _reflection(r, n))]


def rail_rounds(n_nodes: int, n_rails: int) -> Rounds:
    """Reflections of nodes, rail by rail at the same time: rank i * n_rails + r is rail r of node
    i, and meets rail r of every other node. Raises ValueError below two nodes."""
    return [
        [(a * n_rails + rail, b * n_rails + rail) for a, b in pairs for rail in range(n_rails)]
        for pairs in reflection_rounds(n_nodes)
    ]


def without_collisions(rounds: Rounds, paths: Mapping[IndexPair, Path]) -> Rounds:
    """Split each round so that no two pairs of it share an egress port, in either direction.

    `paths` holds the ports crossed from a to b for (a, b) and for (b, a). First fit: a full tree
    stays as it is, a 2:1 taper about doubles the rounds.
    """
    split: Rounds = []
    for pairs in rounds:
        split.extend(_first_fit(pairs, paths))
    return split


def rounds_without_collisions(
    nodes: tuple[str, ...], n_rails: int, network: Network | None
) -> Rounds:
    """All pairs of nodes, each rail with its own kind, split by the fabric's paths if known."""
    rounds = rail_rounds(len(nodes), n_rails)
    if network is None:
        return rounds
    names = [
        network.hcas_of[node][rail if n_rails > 1 else 0]
        for node in nodes
        for rail in range(n_rails)
    ]
    directed = [pair for pairs in rounds for a, b in pairs for pair in ((a, b), (b, a))]
    paths = network.wiring.paths([(names[a], names[b]) for a, b in directed])
    return without_collisions(rounds, dict(zip(directed, paths, strict=True)))


def alone_rounds(pairs: Sequence[IndexPair], times: int = 1) -> Rounds:
    """The retest: each pair in a round of its own, the whole list `times` times over."""
    return [[pair] for _ in range(times) for pair in pairs]


def estimate_s(
    n_rounds: int, *, size_bytes: int, window: int, bits_per_s: float, round_trip_s: float = 4e-6
) -> float:
    """Seconds that all rounds take on a fabric: windows of the large size each way, then round
    trips of the small one. SOURCE of the counts: the defaults of the OSU Micro-Benchmarks, which
    the kernel follows: 20 + 2 windows above 8 KiB, 10,000 + 200 round trips up to it."""
    bandwidth_s = 2 * 22 * window * size_bytes * 8 / bits_per_s
    return n_rounds * (bandwidth_s + 10_200 * round_trip_s)


def _refuse_fewer_than_two(n: int) -> None:
    if n < 2:
        raise ValueError(f"{n} nodes make no pair")


def _reflection(r: int, n: int) -> list[IndexPair]:
    return [(i, (r - i) % n) for i in range(n) if i < (r - i) % n]


def _first_fit(pairs: Sequence[IndexPair], paths: Mapping[IndexPair, Path]) -> Rounds:
    parts: list[_Part] = []
    for a, b in pairs:
        there, back = frozenset(paths[a, b]), frozenset(paths[b, a])
        for part in parts:
            if part.there.isdisjoint(there) and part.back.isdisjoint(back):
                break
        else:
            part = _Part([], set(), set())
            parts.append(part)
        part.pairs.append((a, b))
        part.there.update(there)
        part.back.update(back)
    return [part.pairs for part in parts]


@dataclass(frozen=True, slots=True)
class _Part:
    """Pairs that may run together, and the ports they hold while sending there and back."""

    pairs: list[IndexPair]
    there: set[str]
    back: set[str]
