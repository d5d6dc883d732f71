"""The number of up-links that is usual among siblings, and who they are."""

from tests.unit.topology.hand_subnet import described
from tests.unit.topology.subnet.test_cable_matrix import directors, tree_cables, tree_switches

from weft.topology.subnet.siblings import sibling_groups, usual_of_group
from weft.topology.subnet.subnet import Subnet


def level(subnet: Subnet) -> dict[int, int]:
    return {node.index: node.level for node in subnet.nodes if node.is_switch and node.level}


def test_two_of_three_tell_and_one_of_two_does_not() -> None:
    whole, short = {10: 2, 11: 2}, {10: 2, 11: 1}
    assert usual_of_group([whole, whole, short]) == 4
    assert usual_of_group([whole, short]) is None
    assert usual_of_group([{}, {}, {}]) is None


def test_where_many_lack_one_the_upper_switches_tell() -> None:
    rows = [{10: 1, 11: 1, 12: 1, 13: 1} for _ in range(8)]
    for at in range(4):
        del rows[at][10 + at]
    assert usual_of_group(rows) == 4
    assert usual_of_group([{10: 1}, {11: 1, 12: 1}, {13: 1, 14: 1, 15: 1}]) is None


def test_planes_have_siblings_of_their_own_and_boards_of_a_director_are_one_part() -> None:
    plane = [(f"b{a}", n, f"b{b}", m) for a, n, b, m in tree_cables()]
    switches = tree_switches() | {f"b{name}": at for name, at in tree_switches().items()}
    subnet = described(switches, [*tree_cables(), *plane])
    assert len(sibling_groups(subnet, level(subnet))) == 4
    boards = described(*directors())
    assert len(sibling_groups(boards, level(boards))) == 2
