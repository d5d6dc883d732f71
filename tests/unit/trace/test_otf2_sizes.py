"""The sizes of collectives from Score-P's sums: what went in comes out."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.trace.otf2_files import score_p_bytes

from weft.trace.otf2.sizes import OPERATIONS, Bytes, sizes

NUMBERS = {name: number for number, name in reversed(OPERATIONS.items())}
OF_ONE_SIZE = ("barrier", "broadcast", "reduce", "gather", "scatter", "scan", "reduce_scatter")


def read(name: str, parts: Sequence[Any], root: int, *, in_place: bool = False) -> tuple[Any, ...]:
    """What is read from what Score-P writes."""
    bytes_ = [
        Bytes(*score_p_bytes(name, parts, place, root, in_place=in_place))
        for place in range(len(parts))
    ]
    return sizes(NUMBERS[name], bytes_, root, of_one_buffer=False)


@given(
    name=st.sampled_from((*OF_ONE_SIZE, "allreduce", "allgather", "alltoall")),
    n=st.integers(2, 9),
    count=st.integers(1, 1000),
    root=st.integers(0, 8),
)
def test_sizes_come_back(name: str, n: int, count: int, root: int) -> None:
    size = 0 if name == "barrier" else count * 8 * (n if name == "reduce_scatter" else 1)
    assert read(name, [size] * n, root % n) == (size,) * n


@given(
    name=st.sampled_from(("broadcast", "reduce", "gather", "scatter", "scan")),
    n=st.integers(2, 9),
    count=st.integers(1, 1000),
    root=st.integers(0, 8),
)
def test_sizes_of_calls_with_a_root_come_back_in_place(
    name: str, n: int, count: int, root: int
) -> None:
    assert read(name, [8 * count] * n, root % n, in_place=True) == (8 * count,) * n


@given(n=st.integers(3, 9), count=st.integers(1, 1000))
def test_sums_of_n_less_one_are_in_place_unless_n_divides_them(n: int, count: int) -> None:
    size = 8 * count
    (found, *_) = read("allreduce", [size] * n, 0, in_place=True)
    # What both divide is ambiguous: then it is read as of n.
    assert found == ((n - 1) * size // n if (n - 1) * size % n == 0 else size)


@given(
    blocks=st.lists(st.integers(0, 500), min_size=2, max_size=8),
    root=st.integers(0, 7),
    in_place=st.booleans(),
)
def test_blocks_that_differ_come_back(blocks: list[int], root: int, in_place: bool) -> None:
    n, root = len(blocks), root % len(blocks)
    others = [place for place in range(n) if place != root]
    found = read("gatherv", [(block,) for block in blocks], root, in_place=in_place)
    assert [found[place] for place in others] == [(blocks[place],) for place in others]
    parts = [tuple(blocks) if place == root else (blocks[place],) for place in range(n)]
    of_root = read("scatterv", parts, root, in_place=in_place)[root]
    assert [of_root[place] for place in others] == [blocks[place] for place in others]
    if not in_place:
        assert read("allgatherv", [tuple(blocks)] * n, 0) == (tuple(blocks),) * n


def test_allgatherv_in_place_is_told_by_what_each_rank_receives() -> None:
    blocks = (24, 48, 96)
    assert read("allgatherv", [blocks] * 3, 0, in_place=True) == (blocks,) * 3


@given(rows=st.lists(st.integers(0, 999), min_size=4, max_size=4))
def test_of_alltoallv_the_sums_are_kept(rows: list[int]) -> None:
    # parts[i][j]: what i receives from j.
    parts = [tuple(rows[(i + j) % 4] * (i + 1) for j in range(4)) for i in range(4)]
    found = read("alltoallv", parts, 0)
    for place in range(4):
        assert sum(found[place]) == sum(parts[place])
        sent = sum(part[place] for part in parts)
        assert abs(sum(part[place] for part in found) - sent) <= 4
    even = [(7, 7, 7, 7)] * 4
    assert read("alltoallv", even, 0) == tuple(even)


def test_reduce_scatter_of_different_blocks_is_the_whole_vector() -> None:
    blocks, n = (8, 16, 40), 3
    out = [Bytes(sum(blocks), n * own) for own in blocks]
    assert sizes(13, out, 0, of_one_buffer=False) == (64,) * n
    kept = [Bytes(sum(blocks) - own, (n - 1) * own) for own in blocks]
    assert sizes(13, kept, 0, of_one_buffer=False) == (64,) * n
    assert sizes(16, [Bytes(48, 48)] * n, 0, of_one_buffer=False) == (48,) * n


@pytest.mark.parametrize("name", ["allreduce", "allgather", "alltoall", "reduce", "broadcast"])
def test_eztrace_writes_one_buffer(name: str) -> None:
    found = sizes(NUMBERS[name], [Bytes(88, 88)] * 3, 0, of_one_buffer=True)
    assert found == (88, 88, 88)
