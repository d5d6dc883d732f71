"""Arrangements: which tenant gets which lane, and what a scenario and OpenSM get of it."""

import pytest

from weft.isolation.annex_a10 import TABLE, opensm_lines, settings, table_entry, timer
from weft.isolation.arrangement import arrangements, levels_of
from weft.isolation.opensm_files import options_conf
from weft.isolation.tenants import Tenancy


def tenancy(*targets: float | None, lanes: int = 8, law: str = "off", **pinned: int) -> Tenancy:
    """Tenants a, b, ... with these targets."""
    tenants = [
        {"name": name, "nodes": f"{name}[1-2]", "traffic": "allreduce:8", "target": target}
        | ({"service_level": pinned[name]} if name in pinned else {})
        for name, target in zip("abcdefgh", targets, strict=False)
    ]
    document = {"schema": "weft.tenants/1", "data_lanes": lanes, "congestion_control": law}
    return Tenancy.model_validate({**document, "tenant": tenants})


def test_the_strictest_have_lanes_of_their_own_and_the_last_lane_is_shared() -> None:
    assert levels_of(tenancy(1.5, None, 1.1)) == {"a": 2, "b": 0, "c": 1}
    assert levels_of(tenancy(1.5, 1.2, 1.1, lanes=3)) == {"a": 2, "b": 2, "c": 1}
    assert levels_of(tenancy(1.5, 1.2, lanes=1)) == {"a": 0, "b": 0}


def test_levels_that_the_list_names_are_kept_and_given_to_nobody_else() -> None:
    assert levels_of(tenancy(1.5, 1.2, None, a=1, c=4)) == {"a": 1, "b": 2, "c": 4}


def test_the_least_is_tried_first() -> None:
    words = [one.words for one in arrangements(tenancy(1.1, None, law="annex_a10"))]
    assert words == [
        "one lane", "lanes", "lanes, priority", "congestion control",
        "lanes, congestion control", "lanes, priority, congestion control",
    ]  # fmt: skip
    assert [one.words for one in arrangements(tenancy(1.1, None, lanes=1))] == ["one lane"]


def test_a_scenario_has_the_lanes_and_tables_that_opensm_is_given() -> None:
    asked = tenancy(1.1, None, 1.2, law="annex_a10")
    one = arrangements(asked)[-1]
    scenario = one.to_scenario()
    assert scenario["lanes"] == {
        "count": 3,
        "sl2vl": [0, 1, 2] + [0] * 13,
        "low": [{"vl": 0, "weight": 64}],
        "high": [{"vl": 1, "weight": 64}, {"vl": 2, "weight": 64}],
        "high_limit": 255,
    }
    lines = options_conf(asked, one).splitlines()
    for line in (
        "qos TRUE", "qos_max_vls 8", "qos_high_limit 255", "qos_vlarb_high 1:64,2:64",
        "qos_vlarb_low 0:64", "qos_sl2vl 0,1,2,0,0,0,0,0,0,0,0,0,0,0,0,0",
        "cc_ca_cong_setting_control_map 0x0007",
    ):  # fmt: skip
        assert line in lines
    law = scenario["congestion_control"]["annex_a10"]
    assert f"cc_sw_cong_setting_threshold {law['threshold']:#04x}" in lines
    assert f"cc_ca_cong_setting_ccti_timer 1 {law['timer_ns'] // 1024}" in lines
    assert f"cc_ca_cong_setting_ccti_increase 1 {law['increase']}" in lines
    assert f"cc_cct {','.join(law['table'])}" in lines


@pytest.mark.parametrize(
    ("wait", "entry"), [(0.0, "3:0"), (1.0, "3:8"), (2047.8, "3:16382"), (5000.0, "1:10000")]
)
def test_an_entry_is_as_fine_as_fourteen_bits_allow(wait: float, entry: str) -> None:
    assert table_entry(wait) == entry


def test_a_line_of_the_table_is_one_that_opensm_reads_whole() -> None:
    # OpenSM 3.3.23 keeps 128 entries, and reads lines of up to 1023 characters.
    (line,) = (one for one in opensm_lines({0}, 200.0) if one.startswith("cc_cct"))
    assert len(TABLE) == 128 == len(settings(200.0)["table"])
    assert len(line) < 1023


def test_one_lane_is_written_too_because_other_lines_may_be_there() -> None:
    asked = tenancy(1.1, None, a=3)
    lines = options_conf(asked, arrangements(asked)[0]).splitlines()
    assert "qos_vlarb_low 0:64" in lines
    assert "qos_vlarb_high 0:0" in lines
    assert "qos_sl2vl " + ",".join(["0"] * 16) in lines


def test_a_level_beyond_the_lanes_leaves_its_lane_to_nobody_else() -> None:
    assert levels_of(tenancy(1.5, 1.2, a=9)) == {"a": 9, "b": 2}


def test_lanes_with_gaps_are_numbered_without_for_the_twin() -> None:
    one = arrangements(tenancy(1.1, None, 1.2, a=4, c=6))[1]
    assert one.lanes[4] == 4
    scenario = one.to_scenario()["lanes"]
    assert scenario["count"] == 3
    assert (scenario["sl2vl"][0], scenario["sl2vl"][4], scenario["sl2vl"][6]) == (0, 1, 2)
    assert [entry["vl"] for entry in scenario["low"]] == [0, 1, 2]


def test_the_timer_is_for_the_rate_of_hosts() -> None:
    # In the time of as many packets: 18 us at 200 Gb/s, in units of 1.024 us.
    assert (timer(200.0), timer(100.0), timer(400.0)) == (18, 35, 9)
    lines = opensm_lines({1}, 100.0)
    assert "cc_ca_cong_setting_ccti_timer 1 35" in lines
    assert settings(100.0)["timer_ns"] == 35 * 1024


def test_control_by_round_trips_is_switched_on_by_another_subnet_manager() -> None:
    asked = tenancy(1.1, None, law="rtt")
    one = arrangements(asked)[-1]
    assert "mlnx_congestion_control 2" in options_conf(asked, one).splitlines()
    assert one.to_scenario()["congestion_control"] == {"rtt": {}}
