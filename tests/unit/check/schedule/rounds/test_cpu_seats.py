"""Rounds in which no machine has more active ranks than CPUs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.check.schedule.ranks import ranks_of_nodes
from weft.check.schedule.rounds.cpu_seats import within_cpus
from weft.check.schedule.rounds.matchings import reflections
from weft.check.schedule.schedule import on_all_rails


def reflection_rounds(n: int) -> list[list[tuple[int, int]]]:
    return [[(a, b) for a, b in pairs.tolist()] for pairs in reflections(n)]


def rail_rounds(n_nodes: int, n_rails: int) -> list[list[tuple[int, int]]]:
    ranks = ranks_of_nodes(tuple(map(str, range(n_nodes))), n_rails, None)
    rounds = on_all_rails(reflections(n_nodes), ranks)
    return [[(a, b) for a, b in pairs.tolist()] for pairs in rounds]


def test_ranks_of_one_host_with_two_cpus_meet_one_pair_at_a_time() -> None:
    rounds = within_cpus(reflection_rounds(8), 8, {0: 2})
    assert [len(pairs) for pairs in rounds] == [1] * 28


def test_four_cpus_hold_two_pairs() -> None:
    # 8 ranks, round 1 of the reflections: 0-1, 2-7, 3-6, 4-5.
    assert within_cpus([[(0, 1), (2, 7), (3, 6), (4, 5)]], 8, {0: 4}) == [
        [(0, 1), (2, 7)],
        [(3, 6), (4, 5)],
    ]


def test_enough_cpus_leave_the_rounds_as_they_are() -> None:
    assert within_cpus([[(0, 1), (2, 3)]], 4, {0: 4}) == [[(0, 1), (2, 3)]]


def test_who_sends_first_stays_first_and_pairs_stay_in_order() -> None:
    parts = within_cpus([[(3, 2), (0, 1), (5, 4), (6, 7)]], 8, {0: 4})
    assert parts == [[(3, 2), (0, 1)], [(5, 4), (6, 7)]]


def test_pairs_between_hosts_take_one_cpu_of_each() -> None:
    # Two hosts of three ranks: 0, 1, 2 and 3, 4, 5; two CPUs each.
    assert within_cpus([[(0, 3), (1, 4), (2, 5)]], 3, {0: 2, 1: 2}) == [[(0, 3), (1, 4)], [(2, 5)]]


def test_a_pair_that_never_fits_keeps_a_round_of_its_own() -> None:
    assert within_cpus([[(0, 1), (2, 3)]], 4, {0: 1}) == [[(0, 1)], [(2, 3)]]


def test_hosts_of_one_machine_share_its_cpus() -> None:
    # Four hosts of one rank; the first three are one machine, of the last nobody knows.
    one_machine = {0: 0, 1: 0, 2: 0}
    cpus = dict.fromkeys(range(3), 2)
    assert within_cpus([[(0, 1), (2, 3)]], 1, cpus, one_machine) == [[(0, 1)], [(2, 3)]]
    assert within_cpus([[(0, 3), (1, 2)]], 1, dict.fromkeys(range(3), 3), one_machine) == [
        [(0, 3), (1, 2)]
    ]


def test_two_machines_of_two_hosts_each_hold_a_pair_at_a_time() -> None:
    rounds = [[(0, 1), (2, 3)], [(0, 2), (1, 3)]]
    assert within_cpus(rounds, 1, dict.fromkeys(range(4), 2), {0: 0, 1: 0, 2: 2, 3: 2}) == rounds
    assert within_cpus(rounds, 1, dict.fromkeys(range(4), 1), {0: 0, 1: 0, 2: 2, 3: 2}) == [
        [(0, 1)], [(2, 3)],
        [(0, 2)], [(1, 3)],
    ]  # fmt: skip


@pytest.mark.parametrize(("tasks", "cpus"), [(0, 2), (2, 0)])
def test_no_ranks_or_no_cpus_are_refused(tasks: int, cpus: int) -> None:
    with pytest.raises(ValueError, match="ranks on"):
        within_cpus([[(0, 1)]], tasks, {0: cpus})


def test_a_small_host_holds_up_only_the_rounds_that_it_is_in() -> None:
    # Three hosts of two ranks; the first has one CPU, of the last nobody knows.
    rounds = [[(0, 2), (1, 3)], [(2, 4), (3, 5)], [(0, 4), (1, 5)]]
    assert within_cpus(rounds, 2, {0: 1, 1: 2}) == [
        [(0, 2)], [(1, 3)],
        [(2, 4), (3, 5)],
        [(0, 4)], [(1, 5)],
    ]  # fmt: skip


@given(st.integers(1, 5), st.integers(1, 6), st.dictionaries(st.integers(0, 4), st.integers(2, 7)))
def test_every_pair_is_measured_once_and_no_host_is_crowded(
    n_hosts: int, tasks: int, cpus: dict[int, int]
) -> None:
    whole = reflection_rounds(tasks) if n_hosts == 1 and tasks > 1 else []
    whole = rail_rounds(n_hosts, tasks) if n_hosts > 1 else whole
    rounds = within_cpus(whole, tasks, cpus)
    assert sorted(tuple(p) for r in rounds for p in r) == sorted(p for r in whole for p in r)
    for pairs in rounds:
        hosts = [rank // tasks for pair in pairs for rank in pair]
        assert all(hosts.count(host) <= cpus.get(host, tasks) for host in hosts)
