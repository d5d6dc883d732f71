"""What files say of cables and adapters, on the things that a check names."""

import json
from typing import Any

import pytest
from tests.unit.audit.subnet_faults import TREE, FaultySubnet

from weft.audit.case import AuditCase, Interval
from weft.check.external_evidence import fabric_marks as kept
from weft.check.external_evidence.fabric_marks import (
    NO_MARKS,
    Marks,
    PortNames,
    as_meant,
    marks_of,
    related,
)
from weft.core.errors import InputError
from weft.core.finding import Severity
from weft.topology.fabric import Fabric
from weft.topology.subnet.subnet import Subnet
from weft.topology.subnet_document import own_fabric

UP = ("cable", ("leaf-03[5]", "spine-01[5]"))
HOST = ("cable", ("leaf-03[2]", "n010/hca0[1]"))


def names_in(subnet: Subnet) -> PortNames:
    return PortNames(subnet, Fabric.from_document(TREE).document)


def said(subnet: FaultySubnet, **more: Any) -> Marks:
    return marks_of(AuditCase(subnet, **more), names_in(subnet))


def test_every_cable_of_a_generated_fabric_has_its_name() -> None:
    subnet = FaultySubnet()
    names = names_in(subnet)
    found = {names.cable(cable) for cable in subnet.cables}
    links = Fabric.from_document(TREE).document["links"]
    assert found == {("cable", tuple(sorted((link["a"], link["b"])))) for link in links}


def test_every_cable_of_a_real_fabric_has_the_name_that_twins_give_it() -> None:
    files = "tests/fixtures/fabric/quirks/ibnetdiscover.out"
    subnet = Subnet.read([files])
    document, _ = own_fabric(subnet, "quirks")
    names = PortNames(subnet, document)
    found = [names.cable(cable) for cable in subnet.cables]
    links = {("cable", tuple(sorted((link["a"], link["b"])))) for link in document["links"]}
    # Adapters with two ports, odd descriptions; what the document leaves out (a router) is None.
    assert {name for name in found if name is not None} == links
    assert len(found) - found.count(None) == len(links)


def test_a_slow_cable_is_marked_by_both_its_ports_as_printed() -> None:
    subnet = FaultySubnet()
    subnet.set_rate("leaf-03", 5, "2xHDR", 100.0)
    (mark,) = said(subnet).marks
    assert mark.thing == UP
    assert (mark.rule, mark.severity) == ("slow-cables", Severity.BAD)
    assert "2xHDR" in mark.says
    assert "reseat" in mark.fix


def test_several_slow_cables_are_several_marks_each_with_its_rate() -> None:
    subnet = FaultySubnet()
    subnet.set_rate("leaf-03", 5, "2xHDR", 100.0)
    subnet.set_rate("leaf-03", 6, "1xHDR", 50.0)
    marks = said(subnet).marks
    by_thing = {mark.thing: mark.says for mark in marks}
    assert set(by_thing) == {UP, ("cable", ("leaf-03[6]", "spine-02[5]"))}
    assert "2xHDR" in by_thing[UP]
    assert "instead of 4xHDR" in by_thing[UP]
    assert "1xHDR" not in by_thing[UP]


def test_a_cable_that_is_not_there_is_a_mark_on_the_switch_that_lacks_it() -> None:
    subnet = FaultySubnet()
    subnet.cut("leaf-03", 5)
    (mark,) = said(subnet).marks
    assert mark.thing == ("switch", ("leaf-03",))
    assert (mark.rule, mark.severity) == ("missing-up-links", Severity.BAD)
    assert "leaf-03 lacks 1 of 4 up-links" in mark.says
    assert "spine-01" in mark.says
    assert "plug in" in mark.fix


def test_counters_are_on_the_cable_of_the_port_that_counted() -> None:
    subnet = FaultySubnet()
    subnet.read_counters("leaf-03", 5, SymbolErrorCounter=42)
    subnet.read_counters("spine-01", 5, SymbolErrorCounter=0)
    subnet.read_counters("leaf-03", 2, PortRcvErrors=500)
    found = said(subnet)
    assert {(mark.thing, mark.rule) for mark in found.marks} == {
        (UP, "error-totals"),
        (HOST, "error-totals"),
    }
    assert all(mark.severity is Severity.WARNING and mark.is_fault for mark in found.marks)
    assert found.counted == {UP}


def test_errors_that_grow_are_worse_than_totals() -> None:
    subnet = FaultySubnet()
    subnet.read_counters("leaf-03", 5, source=0, SymbolErrorCounter=100)
    subnet.read_counters("leaf-03", 5, source=1, SymbolErrorCounter=900)
    (mark,) = said(subnet, interval=Interval(3600, "--seconds")).marks
    assert (mark.thing, mark.rule, mark.severity) == (UP, "error-rates", Severity.BAD)
    assert "grew by 800" in mark.says


@pytest.mark.parametrize(
    ("counter", "more", "growing"),
    [
        ("SymbolErrorCounter", 2, False),
        ("SymbolErrorCounter", 3, True),
        ("PortRcvErrors", 3, True),
        ("LinkDownedCounter", 30, False),
        ("LinkErrorRecoveryCounter", 30, False),
        ("PortXmitDiscards", 3000, False),
    ],
)
def test_only_damage_that_goes_on_is_growing(counter: str, more: int, growing: bool) -> None:
    """One or two events are no rate, and a reboot takes the link down, too."""
    subnet = FaultySubnet()
    for port, grew_by in ((5, more), (6, 1)):
        subnet.read_counters("leaf-03", port, source=0, **{counter: 7})
        subnet.read_counters("leaf-03", port, source=1, **{counter: 7 + grew_by})
    found = said(subnet, interval=Interval(3600, "--seconds")).marks
    assert {mark.thing: mark.growing for mark in found}[UP] is growing
    assert [mark.growing for mark in found if mark.thing != UP] == [False]


def test_waiting_for_credits_is_reported_and_is_no_fault() -> None:
    subnet = FaultySubnet()
    subnet.read_counters("leaf-03", 5, source=0, PortXmitWait=0)
    # 4 bytes a tick at 200 Gb/s: 6.25e9 ticks a second; half of 60 s.
    subnet.read_counters("leaf-03", 5, source=1, PortXmitWait=int(0.5 * 60 * 200e9 / 32))
    (mark,) = said(subnet, interval=Interval(60, "--seconds")).marks
    assert mark.thing == UP
    assert "50 %" in mark.says
    assert not mark.is_fault


def test_a_cable_that_is_slower_than_its_siblings_is_meant_to_be_as_fast() -> None:
    subnet = FaultySubnet()
    subnet.set_rate("leaf-03", 5, "2xHDR", 100.0)
    document = Fabric.from_document(TREE).document
    slow = [dict(link) for link in document["links"]]
    (place,) = [i for i, link in enumerate(slow) if {link["a"], link["b"]} == set(UP[1])]
    slow[place]["bits_per_s"] = 100_000_000_000
    read = {**document, "links": slow}
    case, names = AuditCase(subnet), names_in(subnet)
    meant = as_meant(read, case, names, marks_of(case, names))
    assert meant["links"] == document["links"]
    assert any("leaf-03[5]" in text and "not 100" in text for text in meant["assumed"])
    assert as_meant(read, case, names, NO_MARKS)["links"] == slow


def test_the_cable_of_a_host_is_its_adapters_and_its_nodes() -> None:
    owners = {"n010/hca0": "n010"}
    assert related(HOST, owners) == (HOST, ("hca", ("n010/hca0",)), ("node", ("n010",)))
    assert related(UP, owners) == (UP,)


def test_marks_are_kept_in_a_run_directory(tmp_path) -> None:
    subnet = FaultySubnet()
    subnet.read_counters("leaf-03", 5, SymbolErrorCounter=42)
    subnet.read_counters("spine-01", 5, SymbolErrorCounter=0)
    found = said(subnet)
    kept.keep(found, tmp_path)
    assert kept.of_run(tmp_path) == found
    record = json.loads((tmp_path / kept.MARKS_FILE).read_text())
    for wrong in ("{", json.dumps({**record, "schema": "weft.check_marks/9"}), '{"schema": 1}'):
        (tmp_path / kept.MARKS_FILE).write_text(wrong)
        with pytest.raises(InputError, match="no statements of a check") as refused:
            kept.of_run(tmp_path)
        assert refused.value.hint.startswith("move marks.json away")
    (tmp_path / kept.MARKS_FILE).unlink()
    assert kept.of_run(tmp_path) == NO_MARKS


@pytest.mark.parametrize("port", [5, 2])
def test_a_mark_of_what_the_document_does_not_have_is_counted(port: int) -> None:
    subnet = FaultySubnet()
    subnet.read_counters("leaf-03", port, SymbolErrorCounter=42)
    document = Fabric.from_document(TREE).document
    names = PortNames(subnet, {**document, "links": []})
    found = marks_of(AuditCase(subnet), names)
    assert (found.marks, found.n_strange) == ((), 1)
