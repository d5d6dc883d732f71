"""On how many nodes and ranks a table was measured."""

import pytest

from weft.bench.result_scale import Scale, StatedScale, scale_of
from weft.core.errors import InputError
from weft.results.model import Table


def table(**said: object) -> Table:
    return Table("osu", "osu_x", "allreduce", (), 7, **said)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("said", "asked", "expected"),
    [
        ({"n_ranks": 8, "n_nodes": 2}, StatedScale(), (2, 4)),
        ({"n_ranks": 8, "tasks_per_node": 4}, StatedScale(), (2, 4)),
        ({"n_ranks": 8, "hosts": ("a", "a", "b", "b")}, StatedScale(), (2, 4)),
        ({"n_ranks": 8}, StatedScale(n_nodes=4), (4, 2)),
        ({"n_ranks": 8}, StatedScale(tasks_per_node=8), (1, 8)),
        ({"n_ranks": 4}, StatedScale(tasks_per_node=8), (1, 4)),
        ({}, StatedScale(4, 2), (4, 2)),
    ],
)
def test_what_file_and_user_say_makes_a_scale_without_an_assumption(
    said: dict[str, object], asked: StatedScale, expected: tuple[int, int]
) -> None:
    assert scale_of(table(**said), "collective", asked, "f") == Scale(*expected)


def test_ranks_without_nodes_are_taken_as_one_a_node_and_it_is_said() -> None:
    found = scale_of(table(n_ranks=8), "collective", StatedScale(), "f")
    assert (found.n_nodes, found.tasks_per_node) == (8, 1)
    assert found.assumed == "8 nodes x 1 rank is assumed for osu_x"


@pytest.mark.parametrize(
    ("said", "asked", "expected"),
    [
        ({}, StatedScale(n_nodes=2), (2, 1)),
        ({"n_ranks": 2}, StatedScale(n_nodes=4, tasks_per_node=8), (2, 1)),
        ({"n_nodes": 1}, StatedScale(), (1, 2)),
        ({"hosts": ("a", "b")}, StatedScale(), (2, 1)),
    ],
)
def test_two_ranks_sit_on_two_nodes_unless_there_is_only_one(
    said: dict[str, object], asked: StatedScale, expected: tuple[int, int]
) -> None:
    assert scale_of(table(**said), "pt2pt", asked, "f") == Scale(*expected)


def test_a_ping_pong_that_says_nothing_is_taken_as_between_two_nodes() -> None:
    found = scale_of(table(), "pt2pt", StatedScale(), "f")
    assert found.assumed == "2 nodes x 1 rank is assumed for osu_x"


def test_a_collective_that_says_nothing_is_refused_with_the_options_that_help() -> None:
    with pytest.raises(InputError) as caught:
        scale_of(table(), "collective", StatedScale(), "a.log")
    assert caught.value.what == "osu_x does not say on how many ranks it ran"
    assert caught.value.where == "a.log:7"
    assert "--nodes N and --tasks-per-node T" in str(caught.value.expected)


@pytest.mark.parametrize(
    ("said", "asked", "message"),
    [
        ({"n_nodes": 2}, StatedScale(n_nodes=4), "ran on 2 nodes, and the command line says 4"),
        (
            {"tasks_per_node": 2},
            StatedScale(4, 1),
            "ran on 2 ranks on a node, and the command line",
        ),
        ({"n_ranks": 8}, StatedScale(3), "ran on 8 ranks, which are not 3 nodes x 2"),
        ({"n_ranks": 8}, StatedScale(2, 2), "ran on 8 ranks, which are not 2 nodes x 2"),
    ],
)
def test_contradictions_are_named(
    said: dict[str, object], asked: StatedScale, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        scale_of(table(**said), "collective", asked, "f")
