"""States of ports, duplicate names, the manager's log, what changed, what was not understood."""

import pytest
from tests.unit.audit.subnet_faults import FaultySubnet, ruling

from weft.core.finding import Finding, Severity


@pytest.mark.parametrize("state", ["init", "armed"])
def test_a_port_that_is_up_and_not_in_service(state: str) -> None:
    subnet = FaultySubnet()
    for end in subnet.cable("leaf-03", 5):
        end["logical"] = state
    (found,) = ruling("stuck-ports", subnet).findings
    assert found.severity is Severity.BAD
    assert found.sentence.startswith(
        f"leaf-03 port 5 -- spine-01 port 5 is stuck in {state.title()}"
    )
    assert len(found.facts.cables) == 1


def test_all_ports_in_init_is_one_finding_about_the_manager() -> None:
    subnet = FaultySubnet()
    for pair in subnet.record["cables"]:
        for end in pair:
            end["logical"] = "init"
    (found,) = ruling("stuck-ports", subnet).findings
    assert found.sentence.startswith("every port is stuck in Init")
    assert "start one" in found.facts.fix


def test_a_free_port_polls_and_a_training_one_does_not_rest() -> None:
    subnet = FaultySubnet()
    leaf = subnet.record["nodes"][subnet.node("leaf-03")]
    leaf["uncabled"] = [{"port": 9, "physical": "polling"}, {"port": 10, "physical": "disabled"}]
    assert ruling("stuck-ports", subnet).findings == ()
    leaf["uncabled"].append({"port": 11, "physical": "training"})
    (found,) = ruling("stuck-ports", subnet).findings
    assert "leaf-03 port 11" in found.evidence[0]


def test_an_adapter_that_polls_and_has_no_cable() -> None:
    subnet = FaultySubnet()
    subnet.cut("n005 hca0", 1)
    node = subnet.record["nodes"][subnet.node("n005 hca0")]
    node["uncabled"] = [{"port": 1, "physical": "polling"}]
    (found,) = ruling("stuck-ports", subnet).findings
    assert found.severity is Severity.BAD
    assert "n005 hca0 port 1" in found.evidence[0]


def test_duplicate_guids_and_lids() -> None:
    subnet = FaultySubnet()
    place = {"source": 0, "line": 3}
    subnet.record["sources"] = [{"name": "net.txt", "format": "ibnetdiscover", "n_unread": 0}]
    subnet.record["misfits"] = [
        {
            "kind": "duplicate-guid",
            "guid": 0x10,
            "descriptions": ["x", "y"],
            "places": [place, {"source": 0, "line": 9}],
        },
        {"kind": "duplicate-lid", "lid": 7, "descriptions": ["n001 hca0", "n002 hca0"]},
        {"kind": "duplicate-lid", "lid": 8, "descriptions": ["n001 hca0", "n002 hca0"]},
    ]
    (guid,) = ruling("duplicate-guids", subnet).findings
    assert guid.sentence == "two nodes have the GUID 0x0000000000000010: 'x' and 'y'"
    assert guid.evidence == ("net.txt:3 and net.txt:9",)
    (lid,) = ruling("duplicate-lids", subnet).findings
    assert lid.severity is Severity.BAD
    assert lid.sentence.startswith("LID 7, 8 belongs to two ports: of 'n001 hca0' and of")
    assert len(lid.evidence) == 2
    assert ruling("files", subnet).findings == ()


def test_an_engine_that_fell_back() -> None:
    # As OpenSM 3.3.23 logs it with -R ftree on an irregular tree.
    subnet = FaultySubnet()
    subnet.log(
        engines_used=["minhop"],
        errors=[
            "AB0C: Different number of ports in an downward port group on switches:",
            "AB0D: Fabric topology hasn't been identified as FatTree",
        ],
    )
    (found,) = ruling("engine-fell-back", subnet).findings
    assert found.severity is Severity.BAD
    assert (
        found.sentence
        == "the subnet manager routes with minhop instead of ftree; only its log shows it"
    )
    assert len(found.evidence) == 3
    assert ruling("manager-errors", subnet).findings == ()


@pytest.mark.parametrize(
    ("asked", "used", "severity"),
    [
        (["ftree"], ["minhop"], Severity.BAD),
        (["ftree", "updn"], ["updn"], Severity.WARNING),
        (["updn"], ["updn"], None),
        ([], ["minhop"], None),
        ([], ["ftree", "minhop"], Severity.WARNING),
        (["ftree"], ["ftree", "minhop"], Severity.BAD),
        (["ftree"], ["minhop", "updn"], Severity.WARNING),
        (["ftree"], ["minhop", "ftree"], None),
    ],
)
def test_asked_and_used(asked: list[str], used: list[str], severity: Severity | None) -> None:
    subnet = FaultySubnet()
    subnet.log(engines_asked=asked, engines_used=used)
    found = ruling("engine-fell-back", subnet).findings
    assert [finding.severity for finding in found] == ([severity] if severity else [])


def test_a_node_that_left_and_one_that_came_back() -> None:
    subnet = FaultySubnet()
    here = subnet.record["nodes"][subnet.node("spine-01")]["guid"]
    lines = [
        f"{guid:#018x} LID range [12, 12] of node:{name}"
        for guid, name in ((0x506B4B0300000160, "MF0;spine01:MQM8700/U1"), (here, "spine-01"))
    ]
    subnet.log(removed=lines)
    gone, back = ruling("left", subnet).findings
    assert (gone.severity, back.severity) == (Severity.BAD, Severity.WARNING)
    assert gone.sentence == "spine01 left the subnet and did not come back"
    assert gone.evidence == (lines[0],)
    assert back.sentence == "spine-01 left the subnet and came back"


def test_other_errors_of_the_manager_are_a_note() -> None:
    subnet = FaultySubnet()
    subnet.log(errors=["3113: MAD completed in error (IB_TIMEOUT) \x1b[31m"])
    (found,) = ruling("manager-errors", subnet).findings
    assert found.evidence == ("3113: MAD completed in error (IB_TIMEOUT) ?[31m",)
    assert found.severity is Severity.NOTE
    assert "3113" in found.sentence


def test_what_was_there_before() -> None:
    before, now = FaultySubnet(), FaultySubnet()
    now.cut("leaf-03", 7)
    now.set_rate("leaf-04", 5, "1xHDR", 50.0)
    cable, slower = ruling("gone", now, before=before).findings
    assert cable.sentence == "leaf-03 port 7 -- spine-01 port 6 missing since the earlier files"
    assert slower.sentence == "leaf-04 port 5 -- spine-01 port 7 slower than before"
    assert slower.evidence[0].endswith("4xHDR before, 1xHDR now")


def test_a_switch_that_is_gone_is_reported_once_without_its_cables() -> None:
    before, now = FaultySubnet(), FaultySubnet()
    spine = now.node("spine-02")
    now.record["nodes"][spine]["guid"] = 1
    now.record["nodes"].append(now.record["nodes"][spine])
    cables = [c for c in now.record["cables"] if spine not in (c[0]["node"], c[1]["node"])]
    now.record["cables"] = cables
    (found,) = ruling("gone", now, before=before).findings
    assert found.sentence == "1 switch missing since the earlier files: spine-02"


def test_lines_that_were_not_understood_warn() -> None:
    subnet = FaultySubnet()
    subnet.record["sources"] = [{"name": "net.txt", "format": "ibnetdiscover", "n_unread": 1}]
    place = {"source": 0, "line": 12}
    subnet.record["unread"] = [{"place": place, "what": "ibwarn: x", "expected": "a port"}]
    subnet.record["misfits"] = [
        {"kind": "stranger", "place": place, "what": "LID 77", "about": "counters"}
    ]
    lines, strangers = ruling("files", subnet).findings
    assert lines.severity is strangers.severity is Severity.WARNING
    assert lines.evidence == ("net.txt:12: ibwarn: x (expected: a port)",)
    assert strangers.evidence == ("net.txt:12: counters of LID 77, which no file describes",)


def test_a_node_without_cables_is_named() -> None:
    subnet = FaultySubnet()
    subnet.cut("n005 hca0", 1)
    (host,) = ruling("isolated", subnet).findings
    assert host.severity is Severity.BAD
    assert host.sentence == "1 adapter without any cable: n005 hca0"


def seen_by_hosts(states: list[str], cards: list[str] | None = None) -> tuple[Finding, ...]:
    """Findings about the devices of one host, in these states, on these cards."""
    subnet = FaultySubnet()
    subnet.record["devices"] = [
        {
            "source": 0,
            "device": f"mlx5_{number}",
            "port": 1,
            "state": state,
            "physical_state": None,
            "link_layer": "InfiniBand",
            "facts": {"System image GUID": cards[number]} if cards else {},
        }
        for number, state in enumerate(states)
    ]
    return ruling("stuck-ports", subnet).findings


def test_a_card_without_any_link_is_dead_and_a_second_port_is_none() -> None:
    (dead,) = seen_by_hosts(["Active", "Down"], ["0xa", "0xb"])
    assert dead.severity is Severity.BAD
    assert dead.sentence == "mlx5_1 port 1 is down, and no port of the card is up"
    (second,) = seen_by_hosts(["Active", "Down"], ["0xa", "0xa"])
    assert second.severity is Severity.NOTE
    (unknown,) = seen_by_hosts(["Active", "Down"])
    assert unknown.severity is Severity.NOTE
    (none_up,) = seen_by_hosts(["Down", "Down"])
    assert none_up.severity is Severity.BAD


def test_a_device_that_its_host_sees_uninitialised() -> None:
    bad, note = seen_by_hosts(["Active", "Initializing", "Down"])
    assert (bad.severity, note.severity) == (Severity.BAD, Severity.NOTE)
    assert bad.sentence == "mlx5_1 port 1 is not in service"
    assert note.sentence == "mlx5_2 port 1 is down"


def test_one_cable_that_corrects_otherwise() -> None:
    subnet = FaultySubnet()
    for pair in subnet.record["cables"]:
        for end in pair:
            end["facts"] = {"FEC": "RS"}
    assert ruling("odd-fec", subnet).findings == ()
    for end in subnet.cable("leaf-03", 5):
        end["facts"] = {"FEC": "NO-FEC"}
    (found,) = ruling("odd-fec", subnet).findings
    assert found.severity is Severity.WARNING
    assert (
        found.sentence == "leaf-03 port 5 -- spine-01 port 5 corrects errors by NO-FEC, not by RS"
    )
    # 24 cables of its rate.
    assert found.evidence[-1] == "23 of 24 4xHDR cables use RS"
    assert ruling("odd-fec", FaultySubnet()).judged == ""
