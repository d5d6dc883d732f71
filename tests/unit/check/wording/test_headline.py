"""An accusation in columns, and what to do about it, by kind."""

from dataclasses import replace

import pytest
from tests.unit.check.accusations import facts_of, suspect

from weft.check.wording.headline import headline_of, things_of
from weft.check.wording.remedies import remedy_of
from weft.core.finding import Finding, FindingKind, Severity

CABLE = suspect("cable", "leaf-17[33]", "spine-04[12]")
HOST_CABLE = suspect("cable", "n007/hca0[1]", "leaf-02[3]", node="n007")
HCA = suspect("hca", "n007/hca0", node="n007")
NODE = suspect("node", "n007", node="n007")


def accusation(*suspects, **more):
    facts = facts_of(*suspects, **more)
    return Finding(FindingKind.SUSPECT_LINK, Severity.BAD, "Something is slow.", facts=facts)


def test_a_cable_has_both_ends_gigabits_and_counts():
    """12,000 MB/s are 96 Gb/s, 24,750 are 198; 96 / 198 = 48 %."""
    assert headline_of(accusation(CABLE)).columns == (
        "1 cable",
        "leaf-17[33] <-> spine-04[12]",
        "48 % of others (96.0 of 198 Gb/s)",
        "41 of 41 readings over it slow, 0 of 5,599 others",
    )


def test_latency_is_reported_in_microseconds_and_what_more_it_is():
    found = headline_of(accusation(NODE, metric="latency_us", measured=3.0, expected=2.0))
    assert found.figure == "latency +50 % (3.00 where others take 2.00 us)"
    lost = headline_of(accusation(NODE, metric="latency_us", measured=1e6, expected=2.0))
    assert lost.figure == "latency 500,000 times (1000000 where others take 2.00 us)"


@pytest.mark.parametrize(
    ("suspects", "what", "name"),
    [
        ([NODE], "1 node", "n007"),
        ([suspect("node sending", "n007", node="n007")], "1 node", "n007 (sending)"),
        (
            [suspect("direction", "leaf-17[33]", "spine-04[12]")],
            "1 cable",
            "leaf-17[33] -> spine-04[12]",
        ),
        ([HCA, HOST_CABLE], "1 HCA", "n007/hca0 or its cable n007/hca0[1] <-> leaf-02[3]"),
        ([NODE, HOST_CABLE], "1 node", "n007, its HCA or its cable n007/hca0[1] <-> leaf-02[3]"),
        (
            [CABLE, suspect("node", "n1", node="n1")],
            "1 of 2",
            "cable leaf-17[33] - spine-04[12] or node n1",
        ),
    ],
)
def test_who_is_accused_is_reported_by_kind_and_name(suspects, what, name):
    found = headline_of(accusation(*suspects))
    assert (found.what, found.name) == (what, name)


def test_what_only_met_other_traffic_is_accused_of_nothing():
    for standing in ("met other traffic", "passing"):
        assert headline_of(accusation(CABLE, standing=standing)) is None
        assert remedy_of(accusation(CABLE, standing=standing)) is None


@pytest.mark.parametrize(
    ("suspects", "standing", "does"),
    [
        ([CABLE], "confirmed", "reseat or replace the cable"),
        ([HOST_CABLE], "confirmed", "drain the node, read its port's error counters"),
        ([HCA, HOST_CABLE], "confirmed", "the adapter's link width"),
        ([NODE], "confirmed", "drain the node; look at its adapter"),
        ([suspect("switch", "spine-1")], "confirmed", "at the switch"),
        ([suspect("rail", "3")], "confirmed", "all HCAs of this rail"),
        ([CABLE], "out of use", "the state of both ports"),
        ([CABLE, suspect("cable", "a[1]", "b[1]")], "confirmed", "one of them is at fault"),
    ],
)
def test_the_remedy_fits_the_kind(suspects, standing, does):
    assert does in remedy_of(accusation(*suspects, standing=standing)).do


def test_what_is_not_sure_drains_nothing():
    unsure = replace(accusation(NODE), severity=Severity.WARNING)
    assert "not certain yet" in remedy_of(unsure).do
    assert "drain" not in remedy_of(unsure).do


def test_a_direction_and_its_cable_are_one_thing():
    ahead = accusation(suspect("direction", "leaf-17[33]", "spine-04[12]"))
    back = accusation(suspect("direction", "spine-04[12]", "leaf-17[33]"))
    assert things_of(ahead) == things_of(back) == things_of(accusation(CABLE))
