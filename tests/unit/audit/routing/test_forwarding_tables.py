"""What tables lead to: LIDs that are not reached, valleys, credit loops."""

from typing import Any

import pytest
from tests.unit.audit.subnet_faults import FaultySubnet, ruling

from weft.core.finding import Severity

CLEAN: dict[str, Any] = {
    "n_pairs": 552,
    "hops": {"2": 72, "4": 480},
    "n_unreachable": 0,
    "unreachable": [],
    "n_unreachable_lids": 0,
    "valleys": [],
    "n_valley_paths": 0,
    "n_without_lid": 0,
}


def with_tables(**answers: Any) -> FaultySubnet:
    subnet = FaultySubnet(survey=CLEAN, credit_loop=None)
    subnet.answers.update(answers)
    subnet.record["n_tables"] = 8
    return subnet


def missing(
    subnet: FaultySubnet, dst: str, at: str, port: int, circle: tuple[str, ...] = ()
) -> Any:
    return {
        "lid": subnet.record["nodes"][subnet.node(dst)]["port_lids"]["1"],
        "dst": {"node": subnet.node(dst), "port": 1},
        "n_sources": 20,
        "at": subnet.node(at),
        "port": port,
        "circle": [subnet.node(name) for name in circle],
    }


def survey_of(*unreachable: Any) -> dict[str, Any]:
    n = len(unreachable)
    return {**CLEAN, "unreachable": list(unreachable), "n_unreachable_lids": n, "n_unreachable": n}


@pytest.mark.parametrize("rule", ["unreachable", "valleys", "credit-loops"])
def test_clean_tables_have_no_finding(rule: str) -> None:
    found = ruling(rule, with_tables())
    assert found.findings == ()
    assert found.judged


@pytest.mark.parametrize("rule", ["unreachable", "valleys", "credit-loops"])
def test_without_tables_nothing_is_said(rule: str) -> None:
    found = ruling(rule, FaultySubnet())
    assert (found.judged, found.findings) == ("", ())
    assert "opensm-lfts.dump" in found.missing


def test_an_entry_over_a_missing_cable_is_reported_as_stale() -> None:
    subnet = with_tables()
    subnet.answers["survey"] = survey_of(
        missing(subnet, "n001 hca0", "spine-01", 1), missing(subnet, "n002 hca0", "spine-01", 1)
    )
    (found,) = ruling("unreachable", subnet).findings
    assert found.severity is Severity.BAD
    assert found.sentence == (
        "2 LIDs not reached (n001 hca0, n002 hca0): tables lead over missing cables at spine-01"
    )
    assert found.evidence[0].startswith("spine-01 port 1 (GUID")
    assert found.evidence[0].endswith("LID 1, 2, from up to 20 senders")
    assert found.facts.lids == (1, 2)


def test_a_table_without_an_entry_names_its_switch() -> None:
    subnet = with_tables()
    subnet.answers["survey"] = survey_of(missing(subnet, "n001 hca0", "leaf-06", 0))
    (found,) = ruling("unreachable", subnet).findings
    assert found.sentence == ("1 LID not reached (n001 hca0): no entry in the table of leaf-06")


def test_a_circle_names_its_switches() -> None:
    subnet = with_tables()
    circle = ("leaf-05", "spine-02")
    subnet.answers["survey"] = survey_of(missing(subnet, "n001 hca0", "leaf-05", 6, circle))
    (found,) = ruling("unreachable", subnet).findings
    assert found.sentence == "routes to 1 LID (n001 hca0) run in a circle: leaf-05 -> spine-02"


def test_the_tables_of_one_switch_are_no_fabric() -> None:
    subnet = with_tables()
    subnet.record["n_tables"] = 1
    found = ruling("unreachable", subnet)
    assert found.missing == "tables of 1 of 8 switches only"
    assert found.findings == ()


def test_a_dump_that_broke_off_is_a_warning() -> None:
    subnet = with_tables()
    subnet.record["n_tables"] = 7
    (found,) = ruling("unreachable", subnet).findings
    assert found.severity is Severity.WARNING


def test_valleys_are_named_with_an_example() -> None:
    subnet = with_tables()
    ends = [{"node": subnet.node(f"{name} hca0"), "port": 1} for name in ("n001", "n024")]
    valley = {"at": subnet.node("leaf-03"), "n_paths": 12, "example": ends}
    subnet.answers["survey"] = {**CLEAN, "valleys": [valley], "n_valley_paths": 12}
    (found,) = ruling("valleys", subnet).findings
    assert found.severity is Severity.WARNING
    # 12 of 552.
    assert found.sentence.startswith("12 paths (2.2 %) go down and up again, through 1 switch")
    assert "n001 hca0 to n024 hca0" in found.evidence[0]
    assert found.next_command == "weft fabric trace 'n001 hca0' 'n024 hca0' FILES"


def loop_of(subnet: FaultySubnet) -> dict[str, Any]:
    ports = (("leaf-01", 5), ("spine-01", 3), ("leaf-02", 6), ("spine-02", 1))
    channels = [[{"node": subnet.node(name), "port": port}, 0] for name, port in ports]
    return {"channels": channels, "n_channels": 9}


def test_a_credit_loop_is_reported_with_both_ends_of_each_cable() -> None:
    subnet = with_tables()
    subnet.answers["credit_loop"] = loop_of(subnet)
    (found,) = ruling("credit-loops", subnet).findings
    assert found.severity is Severity.BAD
    assert "1. leaf-01 port 5 (GUID" in found.evidence[1]
    assert found.evidence[1].endswith("-> spine-01 port 1, lane 0")
    assert len(found.facts.cables) == 4
    assert found.facts.service_levels == (0,)
    assert subnet.levels == [0]


def test_where_lanes_were_read_other_service_levels_are_judged_too() -> None:
    subnet = with_tables()
    loop = loop_of(subnet)
    subnet.answers["credit_loop"] = lambda service_level: loop if service_level in (1, 3) else None
    subnet.record["n_sl2vl"] = 40
    subnet.log(engines_used=["minhop"])
    (found,) = ruling("credit-loops", subnet).findings
    assert found.severity is Severity.BAD
    assert found.facts.service_levels == (1, 3)


@pytest.mark.parametrize("engine", ["dfsssp", "torus-2QoS"])
def test_an_engine_that_gives_paths_their_service_level_is_warned_about_only(engine: str) -> None:
    subnet = with_tables()
    subnet.answers["credit_loop"] = loop_of(subnet)
    subnet.record["n_sl2vl"] = 40
    subnet.log(engines_used=[engine])
    (found,) = ruling("credit-loops", subnet).findings
    assert found.severity is Severity.WARNING
    assert any(engine in line for line in found.evidence)


def test_lids_beyond_those_that_are_listed_are_counted() -> None:
    subnet = with_tables()
    subnet.answers["survey"] = {
        **survey_of(missing(subnet, "n001 hca0", "leaf-06", 0)),
        "n_unreachable_lids": 12,
    }
    (found,) = ruling("unreachable", subnet).findings
    assert found.sentence.startswith("12 LIDs not reached (n001 hca0)")
