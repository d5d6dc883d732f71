"""Rounds of disjoint pairs of n units: reflections, and random perfect matchings."""

from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np

from weft.check.readings.readings import Ints

Round = Ints
"""Pairs of numbers, n x 2, no number twice; the first of a pair sends first. Where that does not
matter the smaller one is first."""

_GOLDEN = (5**0.5 - 1) / 2


def reflections(n: int) -> Iterator[Round]:
    """All pairs of n in at most n rounds: round r pairs i with r - i (mod n).

    Neighbouring senders then have neighbouring receivers, each a different one modulo the number of
    up-links. So under d-mod-k routing on a full tree no two messages of a round share a cable. The
    price is one round more than the circle method. SOURCE: the argument is Zahavi's for shift
    permutations (Fat-tree routing and node ordering providing contention free traffic, JPDC 2012);
    a reflection is a shift read backwards. Raises ValueError below two.
    """
    _refuse_fewer_than_two(n)
    return (pairs for r in range(n) if (pairs := reflection(r, n)).size)


def reflection(r: int, n: int) -> Round:
    """Round r of `reflections`; empty where each number would meet itself."""
    i = np.arange(n)
    partner = (r - i) % n
    chosen = i < partner
    return np.stack([i[chosen], partner[chosen]], axis=1)


def spread_order(n: int) -> list[int]:
    """0 ... n - 1, each far from those before it, so that its first few are spread over all.

    SOURCE: multiples of the golden ratio modulo 1 fill the unit interval with the least gaps
    (Knuth, The Art of Computer Programming 3, 6.4).
    """
    wanted = (np.arange(4 * n) * _GOLDEN % 1 * n).astype(np.int64)
    return list(dict.fromkeys([*wanted.tolist(), *range(n)]))


def random_matchings(n: int, times: int, seed: int) -> Iterator[Round]:
    """So many random matchings: perfect ones; where n is odd, one unit is idle.

    Every n - 1 rounds (n, where n is odd) are one round robin of shuffled units in shuffled order.
    No pair meets twice, and no unit is idle twice, before all have. Raises ValueError below two.
    """
    _refuse_fewer_than_two(n)
    return islice(_round_robins(n, np.random.default_rng(seed)), times)


def _round_robins(n: int, draws: np.random.Generator) -> Iterator[Round]:
    while True:
        seats = draws.permutation(n)
        for r in draws.permutation(n - 1 + n % 2):
            yield in_order(seats[circle(int(r), n)])


def circle(r: int, n: int) -> Round:
    """Round r of the circle method: one seat is fixed, the others move on by one a round. For odd n
    the number opposite the empty seat is idle. SOURCE: the textbook round robin."""
    chairs = n + n % 2
    turning = chairs - 1
    seat = np.arange(chairs // 2)
    a = np.where(seat == 0, chairs - 1, (r + seat) % turning)
    b = (r - seat) % turning
    sits = (a < n) & (b < n)
    return in_order(np.stack([a[sits], b[sits]], axis=1))


def in_order(pairs: Ints) -> Round:
    """The smaller number of each pair first, the pairs in order."""
    ordered = np.sort(np.asarray(pairs, np.int64).reshape(-1, 2), axis=1)
    return np.asarray(ordered[np.argsort(ordered[:, 0], kind="stable")], np.int64)


def in_either_direction(rounds: Sequence[Round], seed: int) -> list[Round]:
    """The same pairs, of each now the one first and now the other, by chance: so half of the ranks
    of any switch send while the other half receives. Where switches choose the path, full load in
    one direction makes messages hold one another up, now here, now there."""
    draws = np.random.default_rng(seed)
    turned = [np.where(draws.random((len(r), 1)) < 0.5, r, r[:, ::-1]) for r in rounds]
    return [np.asarray(pairs, np.int64) for pairs in turned]


def between(left: Sequence[int], right: Sequence[int], shift: int) -> list[tuple[int, int]]:
    """Each of the shorter list with one of the longer, another one for each shift."""
    if len(left) > len(right):
        left, right = right, left
    return [(a, right[(i + shift) % len(right)]) for i, a in enumerate(left)]


def _refuse_fewer_than_two(n: int) -> None:
    if n < 2:
        raise ValueError(f"{n} nodes make no pair")
