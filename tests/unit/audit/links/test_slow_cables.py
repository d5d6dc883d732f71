"""Slow cables: width and speed against the siblings, and against what ends say they can."""

import pytest
from tests.unit.audit.subnet_faults import TREE, FaultySubnet, ruling

from weft.core.finding import Severity


def test_one_slow_up_link_is_named_with_both_ends() -> None:
    subnet = FaultySubnet()
    subnet.set_rate("leaf-03", 5, "4xEDR", 100.0)
    (found,) = ruling("slow-cables", subnet).findings
    assert found.severity is Severity.BAD
    assert found.sentence == "leaf-03 port 5 -- spine-01 port 5 runs 4xEDR instead of 4xHDR"
    leaf = subnet.nodes[subnet.node("leaf-03")].guid
    assert f"{leaf:#018x}" in found.evidence[0]
    # Six leaves with four cables each; one is slow.
    assert "23 of 24 cables" in found.evidence[-1]
    cable = found.facts.cables[0]
    ends = {cable.a.node, cable.b.node}
    assert ends == {"leaf-03", "spine-01"}
    assert "reseat" in found.facts.fix


def test_one_slow_host_among_adapters_of_its_make() -> None:
    subnet = FaultySubnet()
    subnet.set_rate("n007 hca0", 1, "1xHDR", 50.0)
    (found,) = ruling("slow-cables", subnet).findings
    assert found.severity is Severity.BAD
    assert "n007 hca0 port 1" in found.sentence
    assert "1xHDR instead of 2xHDR" in found.sentence


def test_adapters_of_another_make_are_judged_by_their_own_kind() -> None:
    subnet = FaultySubnet()
    for number in range(1, 25):
        device = 0x1017 if number <= 6 else 0x101B
        subnet.record["nodes"][subnet.node(f"n{number:03d} hca0")]["device"] = device
    for number in range(1, 7):
        subnet.set_rate(f"n{number:03d} hca0", 1, "4xFDR", 54.5)
    assert ruling("slow-cables", subnet).findings == ()


def test_a_leaf_all_of_whose_hosts_are_slow_is_one_warning() -> None:
    subnet = FaultySubnet()
    for port in range(1, 5):
        subnet.set_rate("leaf-02", port, "1xHDR", 50.0)
    (found,) = ruling("slow-cables", subnet).findings
    assert found.severity is Severity.WARNING
    assert found.sentence == "4 cables of leaf-02 run 1xHDR instead of 2xHDR"
    assert len(found.facts.cables) == 4


def test_several_slow_cables_of_one_leaf_are_one_finding() -> None:
    subnet = FaultySubnet()
    subnet.set_rate("leaf-02", 1, "1xHDR", 50.0)
    subnet.set_rate("leaf-02", 3, "1xHDR", 50.0)
    (found,) = ruling("slow-cables", subnet).findings
    assert found.severity is Severity.BAD
    assert found.sentence == "2 cables of leaf-02 run 1xHDR instead of 2xHDR"


def test_a_leaf_of_an_older_generation_shows_nothing_faster_and_is_left_alone() -> None:
    subnet = FaultySubnet()
    for port in range(5, 9):
        subnet.set_rate("leaf-06", port, "4xEDR", 100.0)
    assert ruling("slow-cables", subnet).findings == ()


@pytest.mark.parametrize("n", [9, 11, 12])
def test_many_hosts_at_half_the_rate_are_a_mix(n: int) -> None:
    subnet = FaultySubnet()
    for number in range(1, n + 1):
        subnet.set_rate(f"n{number:03d} hca0", 1, "2xEDR", 50.0)
    assert ruling("slow-cables", subnet).findings == ()


def test_as_many_slow_cables_on_every_switch_are_meant() -> None:
    document = {
        "generate": "dragonfly",
        "groups": 9,
        "routers_per_group": 8,
        "nodes_per_router": 2,
        "global_ports": 1,
        "host_bits_per_s": 200_000_000_000,
        "local_bits_per_s": 200_000_000_000,
        "global_bits_per_s": 100_000_000_000,
        "host_delay_ps": 1000,
        "local_delay_ps": 1000,
        "global_delay_ps": 1000,
    }
    subnet = FaultySubnet(document)
    rates = {pair[0]["rate"] for pair in subnet.record["cables"]}
    assert len(rates) == 2
    assert ruling("slow-cables", subnet).findings == ()


def test_both_ends_say_they_can_do_more() -> None:
    subnet = FaultySubnet()
    for end in subnet.cable("leaf-01", 6):
        end["supported"], end["supported_gbps"] = "4xNDR", 400.0
    (found,) = ruling("slow-cables", subnet).findings
    assert found.severity is Severity.BAD
    assert found.sentence == "leaf-01 port 6 -- spine-02 port 1 runs 4xHDR; both ends support 4xNDR"


def test_what_a_tool_says_of_every_cable_is_a_note() -> None:
    # ibsim lets iblinkinfo say "Could be 12X" of everything.
    subnet = FaultySubnet()
    for pair in subnet.record["cables"]:
        for end in pair:
            end["supported"], end["supported_gbps"] = "12xHDR", 600.0
    found = ruling("slow-cables", subnet).findings
    assert {finding.severity for finding in found} == {Severity.NOTE}
    assert len(found) == 2


def test_rates_that_no_file_tells_are_not_judged() -> None:
    subnet = FaultySubnet()
    for pair in subnet.record["cables"]:
        for end in pair:
            end["rate"] = end["gbps"] = None
    found = ruling("slow-cables", subnet)
    assert (found.judged, found.findings) == ("", ())
    assert "ibnetdiscover" in found.missing


def test_two_hosts_are_no_majority() -> None:
    subnet = FaultySubnet({**TREE, "nodes": 2, "nodes_per_leaf": 1})
    subnet.set_rate("n001 hca0", 1, "1xHDR", 50.0)
    assert ruling("slow-cables", subnet).findings == ()


def test_an_end_that_says_it_can_do_no_more_is_believed() -> None:
    subnet = FaultySubnet()
    subnet.set_rate("leaf-03", 5, "4xEDR", 100.0)
    for end in subnet.cable("leaf-03", 5):
        end["supported"], end["supported_gbps"] = "4xEDR", 100.0
    assert ruling("slow-cables", subnet).findings == ()


def test_a_motley_net_has_no_usual_rate() -> None:
    subnet = FaultySubnet({**TREE, "nodes": 8})
    rates = (("1xSDR", 2.0), ("4xQDR", 32.0), ("4xFDR", 54.5), ("4xEDR", 100.0))
    for number in range(1, 9):
        subnet.set_rate(f"n{number:03d} hca0", 1, *rates[number % 4])
    assert ruling("slow-cables", subnet).findings == ()


def test_two_hosts_on_half_the_lanes_may_share_a_split_cable() -> None:
    subnet = FaultySubnet({**TREE, "host_bits_per_s": 200_000_000_000})
    subnet.set_rate("n005 hca0", 1, "2xHDR", 100.0)
    (alone,) = ruling("slow-cables", subnet).findings
    assert alone.severity is Severity.BAD
    subnet.set_rate("n006 hca0", 1, "2xHDR", 100.0)
    (pair,) = ruling("slow-cables", subnet).findings
    assert pair.severity is Severity.WARNING
    assert "split cables look the same" in pair.evidence[-1]


def test_what_is_printed_next_to_the_port_and_on_the_cable_is_reported() -> None:
    subnet = FaultySubnet()
    subnet.set_rate("leaf-03", 5, "4xEDR", 100.0)
    subnet.cable("leaf-03", 5)[0]["facts"] = {"Label": "1/3/1", "SN": '"MT2152VS00001"'}
    (found,) = ruling("slow-cables", subnet).findings
    assert "leaf-03 port 5 (labelled 1/3/1, GUID 0x" in found.evidence[0]
    assert "cable MT2152VS00001)" in found.evidence[0]
