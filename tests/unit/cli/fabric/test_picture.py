"""The matrix in plain characters."""

import pytest
from tests.unit.topology.hand_subnet import Ends, described, tree_cables, tree_switches

from weft.cli.fabric.picture import picture


def test_odd_rows_stand_alone_and_their_neighbours_fold() -> None:
    cables = [cable for cable in tree_cables(9) if cable[:2] != ("leaf4", 3)]
    assert picture(described(tree_switches(9), cables), 80) == [
        "1 of 36 up-links is missing: leaf4 to spine0.",
        "  leaf0 to leaf3  22",
        "  leaf4           -2",
        "  leaf5 to leaf8  22",
        "  columns: spine0 to spine1; a figure: cables, - fewer than the siblings",
        "  leaf4 to spine0: 1 of 2 cables; leaf4[3] has no cable that is up",
    ]


def test_every_state_has_a_mark_of_its_own() -> None:
    cables = tree_cables(9, spines=5)
    changed = [c for c in cables if c[:2] not in (("leaf0", 2), ("leaf0", 3), ("leaf0", 4))]
    changed.append(("leaf0", 20, "spine2", 40))
    subnet = described(
        tree_switches(9, 5),
        changed,
        rates={("leaf0", 8, "spine3", 1): 100.0},
        down=[("leaf0", 10, "spine4", 1)],
    )
    assert picture(subnet, 80)[1] == "  leaf0           x-+v!"


def test_more_columns_than_fit_leave_the_findings_alone() -> None:
    cables = [c for c in tree_cables(4, spines=38, per_spine=1) if c[:2] != ("leaf2", 3)]
    lines = picture(described(tree_switches(4, 38), cables), 60)
    assert lines[0] == "1 of 152 up-links is missing: leaf2 to spine1."
    assert len(lines) == 2


def test_nothing_is_wider_than_the_terminal() -> None:
    names = {f"leaf{at}": f"{'a very long name ' * 4}{at}" for at in range(4)}
    cables: list[Ends] = [(names[a], p, b, q) for a, p, b, q in tree_cables(hosts=0)]
    switches = {names.get(name, name): level for name, level in tree_switches().items()}
    wide = [line for line in picture(described(switches, cables), 50)[1:] if len(line) > 50]
    # Sentences are folded by whoever prints them; rows of the matrix are not.
    assert [line for line in wide if not line.startswith("  columns")] == []


def test_a_ring_is_reported_to_be_one() -> None:
    ring: list[Ends] = [(f"s{at}", 1, f"s{(at + 1) % 4}", 2) for at in range(4)]
    slow = {ring[1]: 100.0}
    assert picture(described({f"s{at}": 1 for at in range(4)}, ring, rates=slow), 80) == [
        "1 of 4 cables between switches is slower than the others: s1 to s2.",
        "  s1 to s2: a cable is slower; s1[1] - s2[2], 4xEDR, active, link-up",
    ]
    assert picture(described({f"s{at}": 1 for at in range(4)}, ring), 80) == [
        "4 switches with 4 cables between them, without levels."
    ]


def test_colour_only_on_a_terminal_that_wants_it(monkeypatch: pytest.MonkeyPatch) -> None:
    subnet = described(tree_switches(), [c for c in tree_cables() if c[:2] != ("leaf2", 3)])
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[" in "".join(picture(subnet, 80))
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in "".join(picture(subnet, 80))
