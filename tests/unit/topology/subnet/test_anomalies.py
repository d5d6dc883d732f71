"""What is said about odd cells: titles that state the finding, ports where a person must look."""

from tests.unit.topology.hand_subnet import Ends, described, tree_cables, tree_switches

from weft.topology.subnet.anomalies import cable_anomalies, title_of
from weft.topology.subnet.cable_matrix import matrices_of
from weft.topology.subnet.subnet import Subnet
from weft.topology.subnet.tiers import tiers_of


def told(subnet: Subnet) -> tuple[str, list[tuple[str, str, str, str]]]:
    tiers = tiers_of(subnet)
    (matrix,) = matrices_of(tiers)
    odd = cable_anomalies(subnet, tiers, matrix)
    return title_of(matrix), [(one.row, one.column, one.what, one.look_at) for one in odd]


def without(*ports: tuple[str, int]) -> list[Ends]:
    return [cable for cable in tree_cables() if cable[:2] not in ports]


def test_nothing_odd_is_a_sentence_too() -> None:
    title, odd = told(described(tree_switches(), tree_cables()))
    assert title == "All 16 up-links match their siblings"
    assert odd == []


def test_a_missing_cable_names_the_port_that_its_siblings_use_and_its_state() -> None:
    subnet = described(tree_switches(), without(("leaf2", 3)), uncabled={"leaf2": {3: "polling"}})
    title, odd = told(subnet)
    assert title == "1 of 16 up-links is missing: leaf2 to spine0"
    assert odd == [
        ("leaf2", "spine0", "1 of 2 cables", "leaf2[3] has no cable that is up (polling)")
    ]


def test_a_swapped_cable_says_where_it_goes() -> None:
    wrong: Ends = ("leaf2", 3, "spine1", 39)
    title, odd = told(described(tree_switches(), [*without(("leaf2", 3)), wrong]))
    assert title == (
        "1 of 16 up-links is missing: leaf2 to spine0; more than at the siblings: leaf2 to spine1"
    )
    assert [look_at for *_, look_at in odd] == [
        "leaf2[3] goes to spine1[39] instead",
        "leaf2[3] - spine1[39], 4xHDR, active, link-up",
    ]


def test_many_places_are_counted_after_the_first_two() -> None:
    title, odd = told(
        described(
            tree_switches(9),
            [
                cable
                for cable in tree_cables(9)
                if cable[:2] not in (("leaf1", 2), ("leaf2", 3), ("leaf3", 4), ("leaf4", 5))
            ],
        )
    )
    assert title == "4 of 36 up-links are missing: leaf1 to spine0, leaf2 to spine0 and 2 more"
    assert len(odd) == 4


def test_slow_and_down_cables_are_named_with_both_ends() -> None:
    slow, down = ("leaf0", 2, "spine0", 1), ("leaf3", 5, "spine1", 8)
    title, odd = told(described(tree_switches(), tree_cables(), rates={slow: 100.0}, down=[down]))
    assert title == (
        "1 of 16 up-links is down: leaf3 to spine1; 1 is slower than the others: leaf0 to spine0"
    )
    assert odd == [
        ("leaf3", "spine1", "a cable is down", "leaf3[5] - spine1[8], 4xHDR, down, polling"),
        ("leaf0", "spine0", "a cable is slower", "leaf0[2] - spine0[1], 4xEDR, active, link-up"),
    ]


def test_a_leaf_without_any_up_link_is_reported() -> None:
    title, odd = told(
        described(
            tree_switches(), [c for c in tree_cables() if (c[0], c[2][:5]) != ("leaf3", "spine")]
        )
    )
    assert title == "no up-links at all: leaf3"
    assert odd == [("leaf3", "the level above", "none of 4 cables", "no up-link")]


def test_the_free_port_of_a_director_is_on_the_board_that_the_row_goes_to() -> None:
    # 40 leaves, two directors of two boards: leaf n has two cables to board n // 20 of either, so
    # that all 40 ports of a board are used.
    switches: dict[str, int | None] = {f"leaf{n}": 1 for n in range(40)}
    switches |= {f"MF0;core{core}:X/L{board}/U1": 2 for core in range(2) for board in range(2)}
    cables: list[Ends] = [
        (f"leaf{n}", 10 + 2 * core + lane, f"MF0;core{core}:X/L{n // 20}/U1", n % 20 * 2 + lane + 1)
        for n in range(40)
        for core in range(2)
        for lane in range(2)
    ]
    subnet = described(
        switches, [c for c in cables if c[:2] not in (("leaf27", 11), ("leaf3", 12))]
    )
    tiers = tiers_of(subnet)
    odd = cable_anomalies(subnet, tiers, matrices_of(tiers)[0])
    assert [(one.row, one.column, one.look_at) for one in odd] == [
        ("leaf3", "core1", "leaf3[12] has no cable that is up; free at the other end: core1 L0[7]"),
        (
            "leaf27",
            "core0",
            "leaf27[11] has no cable that is up; free at the other end: core0 L1[16]",
        ),
    ]
