"""Streams read at once: their order, their errors, and how far they run ahead."""

import os
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from weft.doctor.container.image import ordered_passes
from weft.doctor.container.image.ordered_passes import OrderedPasses

IsOver = Callable[[], bool]


@pytest.fixture(autouse=True)
def _four_cpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(4)))


def counted(n_items: int, taken: list[int]) -> Callable[[IsOver], Iterator[int]]:
    def items(_: IsOver) -> Iterator[int]:
        for one in range(n_items):
            taken.append(one)
            yield one

    return items


def wait_for(is_true: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not is_true():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_items_come_in_the_order_of_the_streams() -> None:
    sizes = [0, 1, 1000, 3, 500, 0, 128, 129]
    passes = OrderedPasses([counted(size, []) for size in sizes])
    assert [list(passes.items(one)) for one in range(8)] == [list(range(one)) for one in sizes]
    passes.close()


def test_later_streams_are_read_while_the_first_one_waits() -> None:
    goes_on, taken = threading.Event(), []

    def first(_: IsOver) -> Iterator[int]:
        goes_on.wait(30)
        yield 1

    passes = OrderedPasses([first, counted(5, taken)])
    wait_for(lambda: len(taken) == 5)
    goes_on.set()
    assert (list(passes.items(0)), list(passes.items(1))) == ([1], list(range(5)))
    passes.close()


def test_an_error_is_raised_in_the_turn_of_its_stream() -> None:
    def broken(_: IsOver) -> Iterator[int]:
        yield 1
        raise ValueError("the second")

    passes = OrderedPasses([counted(300, []), broken, counted(3, [])])
    assert len(list(passes.items(0))) == 300
    with pytest.raises(ValueError, match="the second"):
        list(passes.items(1))
    passes.close()


def test_streams_wait_when_they_are_far_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ordered_passes, "MOST_WAITING", 1000)
    first: list[int] = []
    later: list[list[int]] = [[], []]
    passes = OrderedPasses([counted(10_000, first), *(counted(10_000, one) for one in later)])
    # A batch of each stream may be under way.
    most = 1000 + 3 * ordered_passes._BATCH
    wait_for(lambda: sum(map(len, later)) >= 1000)
    time.sleep(0.1)
    assert sum(map(len, later)) <= most
    assert len(first) <= (ordered_passes._MOST_BATCHES + 1) * ordered_passes._BATCH
    assert [len(list(passes.items(one))) for one in range(3)] == [10_000] * 3
    passes.close()


def test_close_ends_streams_that_run_and_that_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ordered_passes, "MOST_WAITING", 10)

    def endless(is_over: IsOver) -> Iterator[int]:
        while not is_over():
            time.sleep(0.001)
        yield 1

    passes = OrderedPasses([endless, counted(10_000, []), counted(10_000, [])])
    before = threading.active_count()
    passes.close()
    assert threading.active_count() < before


def test_a_limit_on_threads_leaves_those_that_began(monkeypatch: pytest.MonkeyPatch) -> None:
    start, begun = threading.Thread.start, []

    def limited(thread: threading.Thread) -> None:
        if begun:
            raise RuntimeError("can't start new thread")
        begun.append(thread)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", limited)
    passes = OrderedPasses([counted(3, []), counted(2, []), counted(1, [])])
    assert [list(passes.items(one)) for one in range(3)] == [[0, 1, 2], [0, 1], [0]]
    passes.close()
