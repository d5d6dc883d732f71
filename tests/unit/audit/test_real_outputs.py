"""The audit over what real tools printed about a net of ibsim, healthy and with faults.

The net: leaf000 to leaf003 with four hosts each and two cables to each of spine00 and spine01; the
faults are those that the folder's README tells: a cable unlinked, a switch cleared.
"""

from pathlib import Path

import pytest

from weft.audit.audit import Audit, audit
from weft.audit.case import AuditCase
from weft.core.finding import Finding, Severity
from weft.topology.subnet.subnet import Subnet

FABRIC = Path(__file__).resolve().parents[2] / "fixtures" / "fabric"
TABLES = "opensm/opensm-lfts.dump"


def read(*names: str) -> Subnet:
    return Subnet.read([str(FABRIC / name) for name in names])


def audited(*names: str, before: tuple[str, ...] = ()) -> Audit:
    return audit(AuditCase(read(*names), before=read(*before) if before else None))


def of_rule(found: Audit, rule: str) -> list[Finding]:
    return [finding for finding in found.findings if finding.facts.rule == rule]


@pytest.mark.parametrize(
    "names",
    [
        ("small/ibnetdiscover.out",),
        ("small/ibnetdiscover.out", TABLES),
        ("small/ibnetdiscover-f.out", "opensm/opensm.fdbs"),
        ("small/ibnetdiscover-p.out", TABLES),
        ("small/iblinkinfo.out",),
        ("small/iblinkinfo.out", "small/opensm-subnet.lst", TABLES),
        ("small/opensm-subnet.lst", "opensm/guid2lid", TABLES),
        ("small/ibnetdiscover.out", "diags/dump_lfts.out"),
        ("small/ibnetdiscover.out", "diags/ibroute.out"),
        ("small/ibnodes.out",),
    ],
)
def test_the_healthy_net_raises_no_alarm(names: tuple[str, ...]) -> None:
    assert audited(*names).findings == ()


@pytest.mark.parametrize("name", ["nd_after_unlink.out", "iblinkinfo_after_unlink.out"])
def test_an_unlinked_cable_is_named_by_both_ends(name: str) -> None:
    # fault.sh: Unlink "S-506b4b0300000110"[5], the first cable of leaf000 to spine00.
    found = audited(f"fault/{name}")
    (missing,) = found.findings
    assert missing.severity is Severity.BAD
    assert missing.sentence == "leaf000 lacks 1 of 4 up-links: port 5 to spine00 port 1"
    (cable,) = missing.facts.cables
    assert (cable.a.guid, cable.a.port) == ("0x506b4b0300000110", 5)
    assert (cable.b.guid, cable.b.port) == ("0x506b4b0300000150", 1)


def test_down_ports_that_iblinkinfo_shows_are_reported_with_their_state() -> None:
    (missing,) = audited("fault/iblinkinfo_after_unlink.out").findings
    assert missing.evidence[0].count("[polling]") == 2


def test_tables_from_before_the_cut_lead_over_the_missing_cable() -> None:
    found = audited("fault/nd_after_unlink.out", TABLES)
    (stale,) = of_rule(found, "unreachable")
    assert stale.sentence.endswith("tables lead over missing cables at leaf000, spine00")
    ends = {(end.node, end.port) for end in stale.facts.switches}
    assert ends == {("MF0;leaf000:MQM8700/U1", 5), ("MF0;spine00:MQM8700/U1", 1)}


def test_a_dead_spine_shows_against_the_net_before() -> None:
    # fault.sh: Clear "S-506b4b0300000160". Every leaf lost as much: no sibling knows better.
    alone = audited("fault/nd_after_clear.out")
    assert alone.findings == ()
    found = audited("fault/nd_after_clear.out", before=("small/ibnetdiscover.out",))
    (gone,) = found.findings
    assert gone.severity is Severity.BAD
    assert gone.sentence == "1 switch missing since the earlier files: spine01"
    assert "0x506b4b0300000160" in gone.evidence[0]


def test_a_dead_spine_shows_against_the_tables_before() -> None:
    found = audited("fault/nd_after_clear.out", TABLES)
    (stale,) = of_rule(found, "unreachable")
    # Its cables were in ports 7 and 8 of every leaf.
    assert {end.port for end in stale.facts.switches} == {7, 8}
    (alone,) = of_rule(found, "isolated")
    assert alone.severity is Severity.BAD
    assert alone.sentence == "1 switch without any cable: spine01"


def test_odd_descriptions_and_mixed_rates_accuse_nothing() -> None:
    for name in ("ibnetdiscover.out", "opensm-subnet.lst", "ibnetdiscover-p.out"):
        found = audited(f"quirks/{name}")
        assert [finding.sentence for finding in found.findings if not is_mild(finding)] == []


def is_mild(finding: Finding) -> bool:
    return finding.severity is not Severity.BAD


def test_the_log_of_a_manager_that_fell_back() -> None:
    # opensm -R ftree on an irregular tree: errors AB0A and AB0D, then minhop, and exit code 0.
    found = audited("small/ibnetdiscover.out", "opensm_logs/ftree_falls_back.log")
    (fell,) = found.findings
    assert fell.severity is Severity.BAD
    assert fell.sentence == (
        "the subnet manager routes with minhop instead of ftree; only its log shows it"
    )
    assert any(line.startswith("AB0D: ") for line in fell.evidence)


def test_the_log_of_the_dead_spine() -> None:
    found = audited("fault/nd_after_clear.out", "opensm_logs/minhop.log")
    (left,) = of_rule(found, "left")
    assert left.severity is Severity.BAD
    assert left.sentence == "spine01 left the subnet and did not come back"
    assert of_rule(found, "engine-fell-back") == []


def test_counters_that_the_console_of_ibsim_set() -> None:
    # SymbolErrorCounter 42 and LinkDownedCounter 3 at port 5, PortXmitDiscards 7 at port 6.
    for name in ("ibqueryerrors.out", "perfquery.out"):
        found = audited("small/ibnetdiscover.out", f"counters/{name}")
        (symbols,) = found.findings
        assert symbols.severity is Severity.WARNING
        assert symbols.sentence == "SymbolErrorCounter of leaf000 port 5 is at 42"
        assert "spine00 port 1" in symbols.evidence[0]


def test_lanes_that_an_engine_parts() -> None:
    found = audited("small/ibnetdiscover.out", TABLES, "opensm_dfsssp/opensm-sl2vl.dump")
    assert found.findings == ()
    judged = {rule.name: ruling.judged for rule, ruling in found.rulings}
    assert judged["credit-loops"] == "service levels 0 to 7, all to all"


DIAGNET = ("db_csv", "net_dump", "net_dump_ext", "far")


def test_what_ibdiagnet_leaves_behind() -> None:
    # The folder's README: errors at ports 5 and 6 of leaf000; not checked against the tool itself.
    names = [f"ibdiagnet/ibdiagnet2.{ending}" for ending in DIAGNET]
    found = audited(*names, TABLES)
    (rates,) = of_rule(found, "bit-errors")
    assert rates.sentence == "Effective BER of leaf000 port 6 is 3.0e-11"
    # What is printed beside the port, and the cable's serial number.
    assert "leaf000 port 6 (labelled 1/6, MQM8700, chip U1, GUID 0x" in rates.evidence[0]
    totals = {finding.facts.counter: finding for finding in of_rule(found, "error-totals")}
    assert totals["SymbolErrorCounter"].sentence.endswith("is at 70,000")
    assert "full" not in totals["SymbolErrorCounter"].evidence[0]
    assert "cable MT2152VS00001" in totals["LinkDownedCounter"].evidence[0]
    # Two lanes of four on every host: said once, and no fault.
    (split,) = of_rule(found, "slow-cables")
    assert split.severity is Severity.NOTE
    judged = {rule.name for rule, ruling in found.rulings if ruling.judged}
    assert {"odd-fec", "stuck-ports", "unreachable", "credit-loops"} <= judged
