"""Iterations of applications as patterns of their messages, for any number of ranks.

They stand for kinds of programs, not for one input of one of them: sizes and computing are options,
and their defaults are assumed (the benchmarks of the catalogue say from what).
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from weft.core.errors import InputError
from weft.core.units import parse_size
from weft.trace.grid import Grid, grids
from weft.trace.program import CollectivePart, RankProgram

MOST_ITERATIONS = 100_000
MOST_SIZE_BYTES = 1 << 30
MOST_COMPUTE_US = 1e9
STAGES = 3
"""Of a step of time, each with a transpose along rows and along columns and back."""

Steps = Iterator[tuple[str, tuple[Any, ...]]]


def application(name: str, n_ranks: int, options: Mapping[str, Any]) -> list[RankProgram]:
    """What each rank does: `steps` iterations, each after a mark, of `compute_us` us and messages
    of `size`. Raises InputError."""
    if n_ranks < 2:
        raise InputError(f"{name} of {n_ranks} ranks", expected="two ranks or more")
    n_steps = _whole(options, "steps", MOST_ITERATIONS)
    size = parse_size(str(options["size"]))
    if not 1 <= size <= MOST_SIZE_BYTES:
        raise InputError(f"{name} with messages of {size} B", expected="1 B to 1 GiB")
    compute_us = float(options["compute_us"])
    if not 0 <= compute_us <= MOST_COMPUTE_US:
        raise InputError(f"{name} with {compute_us} us", expected="0 us to 1,000 s")
    pattern = PATTERNS[name](n_ranks, size, round(1000 * compute_us))
    programs = []
    for rank in range(n_ranks):
        steps: list[tuple[str, tuple[Any, ...]]] = []
        for step in range(n_steps):
            steps.append(("mark", ()))
            steps += pattern(rank, step)
        programs.append(RankProgram([*steps, ("mark", ())]))
    return programs


def _whole(options: Mapping[str, Any], key: str, most: int) -> int:
    value = options[key]
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
        raise InputError(f"option '{key}' is {value!r}", expected=f"a whole number up to {most}")
    return value


Pattern = Callable[[int, int], Steps]
"""What a rank does in a step."""


def halo(n_ranks: int, size: int, compute_ns: int) -> Pattern:
    """Molecular dynamics: computing, then faces to both neighbours along one dimension after the
    other, and a sum of all each tenth step.

    SOURCE: Plimpton, "Fast parallel algorithms for short-range molecular dynamics" (J. Comp. Phys.
    1995): spatial decomposition in three dimensions.
    """
    grid = _cube(n_ranks)
    world = tuple(range(n_ranks))

    def steps(rank: int, step: int) -> Steps:
        yield "calc", (compute_ns,)
        place = grid.place(rank)
        begun = 0
        for axis, length in enumerate(grid.dims):
            if length == 1:
                continue
            for way in (1, -1):
                to = grid.rank([at + way * (k == axis) for k, at in enumerate(place)])
                source = grid.rank([at - way * (k == axis) for k, at in enumerate(place)])
                yield "recv", (source, begun + 1, 0)
                yield "send", (to, size, begun + 2, 0)
                yield "wait", ((begun + 1, begun + 2),)
                begun += 2
        if step % 10 == 0:
            yield "collective", (CollectivePart("allreduce", world, 64, (), 0),)

    return steps


def transposes(n_ranks: int, size: int, compute_ns: int) -> Pattern:
    """Turbulence: in each of three stages a rank's `size` bytes are exchanged within its row, its
    column, and back, computing between; then a sum of all.

    SOURCE: Laizet and Li, "Incompact3d" (Int. J. Numer. Meth. Fluids 2011), with 2DECOMP&FFT's
    pencils.
    """
    grid = _square(n_ranks)
    world = tuple(range(n_ranks))

    def steps(rank: int, _: int) -> Steps:
        place = grid.place(rank)
        lines = [_line(grid, place, axis) for axis in (1, 0) if grid.dims[axis] > 1]
        order = [*lines, *reversed(lines)]
        for _stage in range(STAGES):
            for line in order:
                yield "calc", (max(1, compute_ns // (STAGES * len(order))),)
                block = max(1, size // len(line))
                yield "collective", (CollectivePart("alltoall", line, block, (), 0),)
        yield "collective", (CollectivePart("allreduce", world, 8, (), 0),)

    return steps


def plane_waves(n_ranks: int, size: int, compute_ns: int) -> Pattern:
    """Electronic structure: Fourier transforms by an alltoall of a rank's `size` bytes and back,
    then sums of the whole buffer and of a few numbers.

    SOURCE: Kresse and Furthmueller (Phys. Rev. B 1996): plane waves, with all-to-all transforms
    and sums over all bands.
    """
    world = tuple(range(n_ranks))

    def steps(_: int, __: int) -> Steps:
        for _there in range(2):
            yield "calc", (max(1, compute_ns // 3),)
            block = max(1, size // n_ranks)
            yield "collective", (CollectivePart("alltoall", world, block, (), 0),)
        yield "calc", (max(1, compute_ns // 3),)
        yield "collective", (CollectivePart("allreduce", world, size, (), 0),)
        for _sum in range(2):
            yield "collective", (CollectivePart("allreduce", world, 16, (), 0),)

    return steps


PATTERNS: Mapping[str, Callable[[int, int, int], Pattern]] = {
    "halo": halo,
    "transposes": transposes,
    "plane_waves": plane_waves,
}


def _cube(n_ranks: int) -> Grid:
    return next(grids(n_ranks))


def _square(n_ranks: int) -> Grid:
    """Rows and columns, as near to a square as possible."""
    rows = max(d for d in range(1, int(n_ranks**0.5) + 1) if n_ranks % d == 0)
    return Grid((rows, n_ranks // rows))


def _line(grid: Grid, place: tuple[int, ...], axis: int) -> tuple[int, ...]:
    found = []
    for at in range(grid.dims[axis]):
        own = list(place)
        own[axis] = at
        found.append(grid.rank(own))
    return tuple(found)
