"""Names as a person would say them."""

from weft.diagnose.crossing import Component, Part
from weft.diagnose.words import capital, list_pairs, own_node, who

NODE = Component(Part.NODE, ("n007",))
ITS_CABLE = Component(Part.CABLE, ("n007/hca0[1]", "leaf-02[3]"))
OTHER_CABLE = Component(Part.CABLE, ("leaf-02[6]", "spine-02[2]"))


def test_a_node_and_its_own_cable_are_said_in_one_breath():
    said = who([NODE, ITS_CABLE])
    assert said == "node n007, its HCA or its cable n007/hca0[1] - leaf-02[3]"
    hca = Component(Part.HCA, ("n007/hca0",))
    assert who([hca, ITS_CABLE]) == "HCA n007/hca0 or its cable n007/hca0[1] - leaf-02[3]"


def test_a_node_and_a_cable_elsewhere_are_a_choice_of_two():
    assert own_node([NODE, OTHER_CABLE]) is None
    said = who([NODE, OTHER_CABLE])
    assert said == "one of node n007 or cable leaf-02[6] - spine-02[2]"


def test_the_node_n01_does_not_own_the_cable_of_n011():
    near = Component(Part.CABLE, ("n011/hca0[1]", "leaf-02[3]"))
    assert own_node([Component(Part.NODE, ("n01",)), near]) is None


def test_a_long_list_says_how_many_more():
    pairs = [(f"a{i}", f"b{i}") for i in range(9)]
    assert list_pairs(pairs).endswith("and 3 more")
    assert list_pairs(pairs[:1]) == "a0 - b0"


def test_only_the_first_letter_becomes_a_capital():
    assert capital("switch leaf-01 of A") == "Switch leaf-01 of A"
