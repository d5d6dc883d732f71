"""Who sends to whom, from the texts that --load takes."""

from pathlib import Path

import pytest
from tests.unit.topology.hand_subnet import HandSubnet, described, tree_cables, tree_switches

from weft.core.errors import InputError
from weft.topology.subnet.traffic import ranks_of, traffic_of


def subnet(hosts: int = 2) -> HandSubnet:
    return described(tree_switches(), tree_cables(hosts=hosts))


def test_ranks_follow_names_as_people_count_and_none_runs_inside_a_switch() -> None:
    # End ports in the order of their description: h0-1, h0-2, ... then the adapter of a spine.
    cables = [("leaf0", 1, "h10", 1), ("leaf0", 2, "h9", 1), ("leaf0", 3, "An Aggregation Node", 1)]
    assert ranks_of(described({"leaf0": 1}, cables)) == (1, 0)


def test_a_shift_sends_each_rank_to_the_one_k_further_and_round_again() -> None:
    traffic = traffic_of(subnet(), "shift:3")
    assert traffic.by_bytes == {1: tuple((at, (at + 3) % 8) for at in range(8))}
    assert (traffic.title, traffic.unit) == ("a shift by 3", "paths")


@pytest.mark.parametrize("text", ["shift:0", "shift:8", "shift:", "shift:-1", "shift:x"])
def test_a_shift_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"expected: shift:K with K from 1 to 7"):
        traffic_of(subnet(), text)


def test_pairs_come_from_lines_of_two_names(tmp_path: Path) -> None:
    file = tmp_path / "pairs.txt"
    file.write_text("# sender receiver\nh0-1 h3-2\n\nh1-1, h0-2  # back\n")
    assert traffic_of(subnet(), f"pairs:{file}").by_bytes == {1: ((0, 7), (2, 1))}


def test_bad_pairs_are_refused_with_their_line(tmp_path: Path) -> None:
    file = tmp_path / "pairs.txt"
    for text, message in (
        ("h0-1\n", r"pairs.txt:1: 1 words"),
        ("\nh0-1 leaf1\n", r"pairs.txt:2: a switch neither sends nor receives"),
        ("# nothing\n", r"no pairs"),
    ):
        file.write_text(text)
        with pytest.raises(InputError, match=message):
            traffic_of(subnet(), f"pairs:{file}")
    with pytest.raises(InputError, match="cannot be read"):
        traffic_of(subnet(), f"pairs:{tmp_path / 'none'}")


def test_a_collective_is_what_its_algorithm_sends() -> None:
    # Recursive doubling on 8 ranks: three rounds, each with the partner 1, 2, 4 away.
    traffic = traffic_of(subnet(), "allreduce:recursive_doubling:1K")
    pairs = {(rank, rank ^ 1 << bit) for rank in range(8) for bit in range(3)}
    assert set(traffic.by_bytes) == {1024}
    assert set(traffic.by_bytes[1024]) == pairs
    assert len(traffic.by_bytes[1024]) == 24
    assert traffic.title == "allreduce (recursive_doubling) of 1 KiB on 8 ranks"


def test_what_is_no_traffic_is_refused_with_what_there_is() -> None:
    with pytest.raises(InputError, match="all-to-all, shift:K, pairs:FILE, or a collective"):
        traffic_of(subnet(), "everything")
    with pytest.raises(InputError, match="--load barrier: nothing is sent"):
        traffic_of(subnet(), "barrier")


def test_a_file_of_pairs_without_an_end_is_left() -> None:
    with pytest.raises(InputError, match="cannot be read: it is a device"):
        traffic_of(subnet(), "pairs:/dev/zero")
