"""Programs on more ranks: what is known to grow by its pattern grows exactly so."""

from itertools import product

import pytest

from weft.core.errors import InputError
from weft.trace.grid import Grid, grids, larger
from weft.trace.program import CollectivePart, RankProgram, written
from weft.trace.scaling import grid_of, scaled


def halo(grid: Grid, *, size: int = 1000, compute: int = 8000, n: int = 3) -> list[RankProgram]:
    """Iterations of an exchange with both neighbours along each dimension, and a sum."""
    world = tuple(range(grid.n))
    ranks = []
    for rank in range(grid.n):
        steps: list[tuple[str, tuple[object, ...]]] = [("calc", (5,))]
        begun = 0
        for _ in range(n + 1):
            steps += [("mark", ()), ("calc", (compute,))]
            for axis, length in enumerate(grid.dims):
                if length == 1:
                    continue
                done = []
                for way in (1, -1):
                    place = list(grid.place(rank))
                    there, back = list(place), list(place)
                    there[axis] += way
                    back[axis] -= way
                    steps.append(("recv", (grid.rank(back), begun + 1, 0)))
                    steps.append(("send", (grid.rank(there), size, begun + 2, 0)))
                    done += [begun + 1, begun + 2]
                    begun += 2
                steps.append(("wait", (tuple(done),)))
            steps.append(("collective", (CollectivePart("allreduce", world, 8, (), 0),)))
        ranks.append(RankProgram(steps))
    return ranks


def inner(ranks: list[RankProgram]) -> list[RankProgram]:
    found = []
    for rank in ranks:
        marks = [at for at, (kind, _) in enumerate(rank.steps) if kind == "mark"]
        found.append(RankProgram(rank.steps[marks[0] : marks[-1] + 1]))
    return found


@pytest.mark.parametrize(
    ("small", "factor", "large"),
    [
        ((1, 1, 3), 2, (1, 1, 6)),
        ((1, 1, 2), 4, (1, 1, 8)),
        ((1, 2, 2), 4, (1, 4, 4)),
        ((1, 3, 3), 2, (1, 6, 3)),
        ((2, 2, 2), 8, (4, 4, 4)),
        ((3, 3, 3), 2, (6, 3, 3)),
    ],
)
def test_a_halo_exchange_grows_into_that_of_the_larger_grid(
    small: tuple[int, ...], factor: int, large: tuple[int, ...]
) -> None:
    found, first, second = scaled(halo(Grid(small)), factor, strong=False)
    assert (first.dims, second.dims) == (small, large)
    expected = written(inner(halo(Grid(large))), lambda *_: None)
    assert written(found, lambda *_: None).text == expected.text


def test_strong_scaling_divides_the_volume_and_its_faces() -> None:
    found, _, _ = scaled(halo(Grid((2, 2, 2)), size=4000), 8, strong=True)
    steps = found[63].steps
    assert {numbers[0] for kind, numbers in steps if kind == "calc"} == {1000}
    # An eighth of the volume has faces of a quarter.
    assert {numbers[1] for kind, numbers in steps if kind == "send"} == {1000}


def test_groups_along_a_dimension_stay_along_it_and_pairs_share_their_data() -> None:
    def rank(number: int) -> RankProgram:
        row = tuple(range(number // 4 * 4, number // 4 * 4 + 4))
        steps = [
            ("mark", ()),
            ("collective", (CollectivePart("alltoall", row, 800, (), 0),)),
            ("collective", (CollectivePart("alltoallv", row, 0, (8, 16, 24, 32), 0),)),
            ("send", ((number + 4) % 16, 10, 1, 0)),
            ("recv", ((number - 4) % 16, 2, 0)),
            ("send", (number // 4 * 4 + (number + 1) % 4, 10, 3, 0)),
            ("recv", (number // 4 * 4 + (number - 1) % 4, 4, 0)),
            ("wait", ((1, 2, 3, 4),)),
            ("mark", ()),
        ]
        return RankProgram(steps)

    ranks = [rank(number) for number in range(16)]
    assert grid_of([one.steps for one in ranks]).dims == (1, 4, 4)
    found, _, large = scaled(ranks, 4, strong=False)
    assert large.dims == (1, 8, 8)
    parts = [numbers[0] for kind, numbers in found[9].steps if kind == "collective"]
    assert parts[0].members == tuple(range(8, 16))
    assert parts[0].size == 400
    assert parts[1].blocks == (4, 8, 12, 16) * 2
    program = written(found, lambda *_: None)
    assert (program.n_left_out, program.n_collectives_left_out) == (0, 0)


def test_messages_to_ranks_that_are_no_neighbours_are_named() -> None:
    steps = [
        [("send", (3, 8, 0, 0))],
        [("send", (0, 8, 0, 0))],
        [],
        [("recv", (0, 0, 0))],
        [],
        [],
        [],
    ]
    with pytest.raises(InputError, match="neighbours on no grid: rank 0 to 3"):
        grid_of(steps)


def test_a_line_whose_ends_do_not_meet_is_refused() -> None:
    """Copies of it would be islands."""
    steps = [[("send", (number + 1, 8, 0, 0))] for number in range(3)]
    with pytest.raises(InputError, match="along 4 ranks of the grid 4 that do not go round"):
        grid_of([*steps, []])


def test_groups_that_are_no_part_of_the_grid_are_refused() -> None:
    ranks = halo(Grid((1, 1, 4)))
    odd = CollectivePart("barrier", (0, 2), 0, (), 0)
    ranks[0].steps.insert(3, ("collective", (odd,)))
    with pytest.raises(InputError, match="a barrier of 2 ranks that are no line"):
        scaled(ranks, 2, strong=False)
    with pytest.raises(InputError, match="no iterations to scale"):
        scaled([RankProgram([]), RankProgram([])], 2, strong=False)
    with pytest.raises(InputError, match="scaled 9999 times"):
        scaled(ranks, 9999, strong=False)


def test_grids_number_ranks_as_mpi_does() -> None:
    grid = Grid((2, 3, 4))
    places = list(product(range(2), range(3), range(4)))
    assert [grid.place(rank) for rank in range(24)] == places
    assert all(grid.rank(place) == rank for rank, place in enumerate(places))
    assert grid.is_neighbour(0, 3)  # round the end
    assert not grid.is_neighbour(0, 2)
    assert not grid.is_neighbour(0, 0)
    assert grid.words == "2 x 3 x 4"
    assert next(one.dims for one in grids(4)) == (1, 2, 2)
    assert larger(Grid((1, 1, 1)), 6).dims == (1, 1, 6)
