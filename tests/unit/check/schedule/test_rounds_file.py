"""Files of rounds: ours and ClusterKit's, and what is wrong with them, by line."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.check.schedule.ranks import ranks_of_nodes
from weft.check.schedule.rounds_file import read_rounds
from weft.core.errors import InputError

NODES = ("a-1", "a-2", "b", "c")


def read(tmp_path: Path, text: str, n_rails: int = 1) -> list[list[list[int]]]:
    path = tmp_path / "rounds.txt"
    path.write_text(text)
    return [pairs.tolist() for pairs in read_rounds(path, ranks_of_nodes(NODES, n_rails, None))]


def test_a_line_is_a_round_of_ranks_or_nodes(tmp_path: Path) -> None:
    text = "# two rounds\n0-1 3-2   # by rank\n\na-1-b a-2-c\n"
    assert read(tmp_path, text) == [[[0, 1], [2, 3]], [[0, 2], [1, 3]]]


def test_lines_of_clusterkit_are_pairs_of_a_numbered_round(tmp_path: Path) -> None:
    """The format of `clusterkit -f`: <round> <node1> <node2>."""
    text = "1 a-1 a-2\n2 a-1 b\n1 b c\n"
    assert read(tmp_path, text) == [[[0, 1], [2, 3]], [[0, 2]]]
    assert read(tmp_path, "10 a-1 b\n9 a-1 a-2\n") == [[[0, 1]], [[0, 2]]]


def test_a_pair_of_nodes_is_one_of_each_rail(tmp_path: Path) -> None:
    assert read(tmp_path, "a-1-c\n", n_rails=2) == [[[0, 6], [1, 7]]]
    assert read(tmp_path, "a-1:1-c:7\n", n_rails=2) == [[[1, 7]]]


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("0-1\n0-9\n", 2, "no node or rank '9'"),
        ("0-1 1-2\n", 1, "'a-2' is in two pairs of one round"),
        ("\n\nb-b\n", 3, "'b' cannot meet itself"),
        ("0-1 hello\n", 1, "'hello' is no pair"),
        ("a-1-nobody\n", 1, "'a-1-nobody' is no pair"),
        ("1 a-1 a-2\n1 a-2 b\n", 2, "'a-2' is in two pairs of one round"),
        ("1 a-1 stranger\n", 1, "no node or rank 'stranger'"),
        ("\u00b2 a-1 a-2\n", 1, "is no pair"),
        ("9" * 5000 + " a-1 a-2\n", 1, "is no pair"),
    ],
)
def test_what_is_wrong_is_reported_with_its_line(
    tmp_path: Path, text: str, line: int, said: str
) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, text)
    assert said in caught.value.what
    assert caught.value.where == f"{tmp_path / 'rounds.txt'}:{line}"


@pytest.mark.parametrize("text", ["", "# nothing\n"])
def test_a_file_without_a_round_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError, match="no round in it"):
        read(tmp_path, text)


def test_a_name_that_can_be_cut_in_two_ways_is_refused(tmp_path: Path) -> None:
    ranks = ranks_of_nodes(("x", "x-y", "y-z", "z"), 1, None)
    path = tmp_path / "rounds.txt"
    path.write_text("x-y-z\n")
    with pytest.raises(InputError, match="has two readings"):
        read_rounds(path, ranks)


@given(st.binary(max_size=80) | st.text("0123456789ab-c: #\n", max_size=80).map(str.encode))
def test_any_file_is_rounds_or_an_error_that_says_where(tmp_path_factory, content: bytes) -> None:
    path = tmp_path_factory.mktemp("any") / "rounds.txt"
    path.write_bytes(content)
    rounds, where = [], str(path)
    try:
        rounds = read_rounds(path, ranks_of_nodes(NODES, 1, None))
    except InputError as error:
        where = str(error.where)
    assert where.startswith(str(path))
    for pairs in rounds:
        ranks = pairs.reshape(-1).tolist()
        assert len(ranks) == len(set(ranks))
        assert set(ranks) <= set(range(4))


def test_a_pipe_that_no_one_writes_to_is_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "rounds"
    os.mkfifo(path)
    with pytest.raises(InputError, match="cannot be read: it is a pipe"):
        read_rounds(path, ranks_of_nodes(NODES, 1, None))
