"""Ranks as places of a grid: whether messages go to neighbours, and which grid explains them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

MOST_DIMENSIONS = 3

Place = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Grid:
    """So many ranks along each dimension; the last one's neighbours have neighbouring numbers, as
    MPI_Cart_create numbers them."""

    dims: tuple[int, ...]

    @property
    def n(self) -> int:
        """Ranks."""
        return prod(self.dims)

    def place(self, rank: int) -> Place:
        """Of a rank."""
        found = []
        for size in reversed(self.dims):
            found.append(rank % size)
            rank //= size
        return tuple(reversed(found))

    def rank(self, place: Sequence[int]) -> int:
        """At a place, round again behind the last."""
        number = 0
        for at, size in zip(place, self.dims, strict=True):
            number = number * size + at % size
        return number

    def step(self, src: int, dst: int) -> Place:
        """The shortest way from one rank to another, round the ends; half way round is +."""
        found = []
        for a, b, size in zip(self.place(src), self.place(dst), self.dims, strict=True):
            way = (b - a) % size
            found.append(way if 2 * way <= size else way - size)
        return tuple(found)

    def is_neighbour(self, src: int, dst: int) -> bool:
        """Whether it is one step along one dimension, round the ends."""
        return sorted(map(abs, self.step(src, dst))) == [*([0] * (len(self.dims) - 1)), 1]

    @property
    def words(self) -> str:
        """'4 x 2 x 2', or '4 x 2' where nothing is behind one another."""
        return " x ".join(str(size) for size in self.dims if size > 1) or "1"


def grids(n: int) -> Iterator[Grid]:
    """All grids of n ranks, those nearest to a cube first."""
    divisors = [d for d in range(1, n + 1) if n % d == 0]
    found = {dims for dims in product(divisors, repeat=MOST_DIMENSIONS) if prod(dims) == n}
    for dims in sorted(found, key=lambda dims: (max(dims) / min(dims), dims)):
        yield Grid(dims)


def larger(grid: Grid, factor: int) -> Grid:
    """A grid of so many times the ranks, as near to a cube as multiplying its own dimensions
    allows: nothing is known about messages along others."""
    dims = list(grid.dims)
    long = [at for at, size in enumerate(dims) if size > 1] or [len(dims) - 1]
    for prime in sorted(_primes(factor), reverse=True):
        dims[min(long, key=lambda at: dims[at])] *= prime
    return Grid(tuple(dims))


def _primes(n: int) -> list[int]:
    found, divisor = [], 2
    while n > 1:
        while n % divisor == 0:
            found.append(divisor)
            n //= divisor
        divisor += 1
    return found
