"""All rules together: order, verdict, record, and what is no fabric at all."""

import json

import pytest
from tests.unit.audit.subnet_faults import FaultySubnet

from weft.audit.audit import audit
from weft.audit.case import AuditCase
from weft.audit.rules import RULES
from weft.core.errors import InputError
from weft.core.finding import Severity


def test_faults_come_first_whatever_rule_speaks_first() -> None:
    subnet = FaultySubnet()
    # A note of the up-links, a warning of the counters, a fault of the cables.
    subnet.cut("leaf-06", 7)
    subnet.cut("leaf-06", 8)
    subnet.read_counters("leaf-03", 6, SymbolErrorCounter=42)
    for end in subnet.cable("leaf-03", 5):
        end["logical"] = "init"
    subnet.set_rate("leaf-02", 5, "4xEDR", 100.0)
    found = audit(AuditCase(subnet))
    assert [finding.severity for finding in found.findings] == [
        Severity.BAD,
        Severity.BAD,
        Severity.WARNING,
        Severity.NOTE,
    ]
    rules = [finding.facts.rule for finding in found.findings]
    assert rules == ["slow-cables", "stuck-ports", "error-totals", "missing-up-links"]
    assert found.is_bad
    assert found.verdict.startswith("2 faults, 1 warning, 1 note; ")


def test_a_record_is_plain_json() -> None:
    record = audit(AuditCase(FaultySubnet())).to_record()
    assert json.loads(json.dumps(record, allow_nan=False)) == record
    assert [rule["rule"] for rule in record["rules"]] == [rule.name for rule in RULES]


def test_every_rule_says_what_it_looked_at_or_what_it_lacks() -> None:
    for rule, ruling in audit(AuditCase(FaultySubnet())).rulings:
        assert bool(ruling.judged) != bool(ruling.missing), rule.name


def test_rules_have_one_name_each() -> None:
    names = [rule.name for rule in RULES]
    assert len(set(names)) == len(names)


def test_files_without_anything_are_no_healthy_fabric() -> None:
    subnet = FaultySubnet()
    subnet.record |= {"nodes": [], "cables": [], "endports": []}
    with pytest.raises(InputError, match="no nodes, cables, counters or logs to audit"):
        audit(AuditCase(subnet))
    subnet.log(engines_used=["updn"])
    assert not audit(AuditCase(subnet)).is_bad
