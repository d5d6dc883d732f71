"""Missing up-links by the pattern of the siblings, and the taper."""

from tests.unit.audit.subnet_faults import RATES, TREE, FaultySubnet, ruling

from weft.core.finding import Severity


def test_the_missing_cable_is_named_by_both_ports() -> None:
    # The third leaf's port 7 goes to spine-01; each leaf has two ports in a row there: 5 and 6.
    subnet = FaultySubnet()
    subnet.cut("leaf-03", 7)
    (found,) = ruling("missing-up-links", subnet).findings
    assert found.severity is Severity.BAD
    assert found.sentence == ("leaf-03 lacks 1 of 4 up-links: port 7 to spine-01 port 6")
    # 4 x 100 below: 4 x 200 up is 0.5, 3 x 200 is 0.67.
    assert "taper 0.67:1 instead of 0.50:1" in found.evidence
    (cable,) = found.facts.cables
    assert (cable.a.node, cable.a.port) == ("leaf-03", 7)
    assert (cable.b.node, cable.b.port) == ("spine-01", 6)


def test_the_first_and_the_last_leaf_have_neighbours_on_one_side() -> None:
    for leaf, port, far in (("leaf-01", 8, "spine-02 port 2"), ("leaf-06", 6, "spine-02 port 11")):
        subnet = FaultySubnet()
        subnet.cut(leaf, port)
        (found,) = ruling("missing-up-links", subnet).findings
        assert found.sentence == f"{leaf} lacks 1 of 4 up-links: port {port} to {far}"


def test_states_of_both_ports_are_reported() -> None:
    subnet = FaultySubnet()
    ends = subnet.cable("leaf-03", 7)
    for end in ends:
        node = subnet.record["nodes"][end["node"]]
        node["uncabled"].append({"port": end["port"], "physical": "polling"})
    subnet.cut("leaf-03", 7)
    (found,) = ruling("missing-up-links", subnet).findings
    assert found.evidence[0].count("[polling]") == 2


def test_a_spine_that_lost_a_row_of_cables_is_one_finding() -> None:
    subnet = FaultySubnet({**TREE, "nodes": 40})
    for leaf in ("leaf-02", "leaf-04", "leaf-05"):
        subnet.cut(leaf, 6)
    (found,) = ruling("missing-up-links", subnet).findings
    assert found.sentence == (
        "spine-02 lacks 3 cables to 3 switches below: leaf-02, leaf-04, leaf-05"
    )
    assert len(found.facts.cables) == 3


def test_a_leaf_without_any_cable_up() -> None:
    subnet = FaultySubnet()
    for port in range(5, 9):
        subnet.cut("leaf-04", port)
    (found,) = ruling("missing-up-links", subnet).findings
    assert found.sentence.startswith("leaf-04 lacks 4 of 4 up-links: port 5 to spine-01 port 7")


def test_a_leaf_built_with_half_of_everything_is_a_note() -> None:
    subnet = FaultySubnet()
    subnet.cut("leaf-06", 7)
    subnet.cut("leaf-06", 8)
    (found,) = ruling("missing-up-links", subnet).findings
    assert found.severity is Severity.NOTE


def test_swapped_cables_leave_the_number_and_change_the_spread() -> None:
    subnet = FaultySubnet({**TREE, "nodes": 48})
    # The cable that belongs in spine-02 is in a free port of spine-01: 12 leaves x 2 are used.
    subnet.record["nodes"][subnet.node("spine-01")]["n_ports"] = 40
    far = subnet.cable("leaf-05", 8)[1]
    far["node"], far["port"] = subnet.node("spine-01"), 33
    (found,) = ruling("missing-up-links", subnet).findings
    assert found.severity is Severity.WARNING
    assert found.sentence == ("leaf-05 spreads its up-links unevenly: 3 to spine-01, 1 to spine-02")


def test_a_pod_is_compared_with_its_own_spines() -> None:
    document = {"generate": "fat_tree", "levels": 3, "radix": 8, "nodes": 128, **RATES}
    subnet = FaultySubnet(document)
    assert ruling("missing-up-links", subnet).findings == ()
    subnet.cut("leaf-11", 6)
    (found,) = ruling("missing-up-links", subnet).findings
    assert found.sentence.startswith("leaf-11 lacks 1 of 4 up-links: port 6 to spine-")
    pod = {subnet.cable("leaf-12", port)[1]["node"] for port in range(5, 9)}
    assert subnet.node(found.facts.cables[0].b.node) in pod


def test_a_half_empty_leaf_is_no_fault() -> None:
    subnet = FaultySubnet()
    for port in (2, 3, 4):
        subnet.cut("leaf-06", port)
    assert ruling("missing-up-links", subnet).findings == ()
    assert ruling("uneven-taper", subnet).findings == ()


def test_a_manager_on_a_spine_leaves_it_a_spine() -> None:
    subnet = FaultySubnet({**TREE, "nodes": 40, "nodes_per_leaf": 8})
    subnet.record["nodes"][subnet.node("spine-01")]["n_ports"] = 40
    subnet.move("leaf-05", 8, "spine-01", 40)
    assert ruling("missing-up-links", subnet).findings == ()


def test_adapters_inside_switches_are_no_hosts() -> None:
    # Switches that reduce have an adapter of their own: it makes no leaf of a spine.
    subnet = FaultySubnet()
    for spine in ("spine-01", "spine-02"):
        leaf_port = {"spine-01": 1, "spine-02": 2}[spine]
        name = f"n00{leaf_port} hca0"
        subnet.rename(name, "Mellanox Technologies Aggregation Node")
        subnet.move("leaf-01", leaf_port, spine, 13)
        subnet.record["nodes"][subnet.node(spine)]["n_ports"] = 41
        # Two nodes have one name now: `node` finds the first.
        subnet.record["nodes"][subnet.node("Mellanox Technologies Aggregation Node")][
            "description"
        ] += f" {spine}"
    subnet.cut("leaf-03", 7)
    (found,) = ruling("missing-up-links", subnet).findings
    assert found.sentence.startswith("leaf-03 lacks 1 of 4 up-links")


def test_too_many_hosts_on_a_leaf() -> None:
    subnet = FaultySubnet()
    # Two nodes of leaf-06 are plugged into leaf-01: six there instead of four.
    for number in range(1, 7):
        subnet.record["nodes"][subnet.node(f"leaf-{number:02d}")]["n_ports"] = 12
    subnet.move("leaf-06", 1, "leaf-01", 9)
    subnet.move("leaf-06", 2, "leaf-01", 10)
    (found,) = ruling("uneven-taper", subnet).findings
    assert found.severity is Severity.WARNING
    # 6 x 100 over 4 x 200.
    assert found.sentence == "leaf-01 has a taper of 0.75:1 where its siblings have 0.50:1"


def test_a_missing_up_link_is_not_reported_twice() -> None:
    subnet = FaultySubnet()
    subnet.cut("leaf-03", 7)
    assert ruling("uneven-taper", subnet).findings == ()


def test_directors_are_one_place_whatever_board_a_cable_is_in() -> None:
    # Spines renamed to boards of one director: three cables to the one, one to the other is even.
    subnet = FaultySubnet({**TREE, "nodes": 48})
    subnet.rename("spine-01", "MF0;core1:CS8500/L01/U1")
    subnet.rename("spine-02", "MF0;core1:CS8500/L02/U1")
    far = subnet.cable("leaf-05", 8)[1]
    subnet.record["nodes"][subnet.node("MF0;core1:CS8500/L01/U1")]["n_ports"] = 40
    far["node"], far["port"] = subnet.node("MF0;core1:CS8500/L01/U1"), 33
    assert ruling("missing-up-links", subnet).findings == ()
    subnet.cut("leaf-07", 5)
    (found,) = ruling("missing-up-links", subnet).findings
    assert found.sentence == "leaf-07 lacks 1 of 4 up-links: port 5 to core1 board L01 port 13"
    assert "CS8500, chip U1" in found.evidence[0]


def test_a_tool_that_names_only_cabled_ports_hides_no_missing_one() -> None:
    # The last port of a leaf: without its cable the leaf seems to have seven ports.
    subnet = FaultySubnet()
    subnet.cut("leaf-03", 8)
    subnet.record["nodes"][subnet.node("leaf-03")]["n_ports"] = 7
    (found,) = ruling("missing-up-links", subnet).findings
    assert found.sentence == "leaf-03 lacks 1 of 4 up-links: port 8 to spine-02 port 6"


def test_two_of_three_leaves_are_a_pattern_and_one_of_two_is_none() -> None:
    three, two = FaultySubnet({**TREE, "nodes": 12}), FaultySubnet({**TREE, "nodes": 8})
    for subnet in (three, two):
        subnet.cut("leaf-02", 7)
    assert len(ruling("missing-up-links", three).findings) == 1
    assert ruling("missing-up-links", two).findings == ()


def test_switches_of_one_name_are_distinguished_and_no_name_steers_a_terminal() -> None:
    subnet = FaultySubnet()
    for number in range(1, 7):
        subnet.rename(f"leaf-{number:02d}", f"SwitchIB \x1b[2J {number // 4}")
    subnet.cut("spine-01", 6)
    (found,) = ruling("missing-up-links", subnet).findings
    guid = subnet.record["nodes"][subnet.cable("spine-01", 5)[1]["node"]]["guid"]
    assert found.sentence.startswith(f"SwitchIB ?[2J 0 ({guid:#x}) lacks 1 of 4 up-links: port 7")
    assert "\x1b" not in "".join(found.evidence)
