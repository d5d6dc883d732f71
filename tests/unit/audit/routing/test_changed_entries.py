"""Table entries against those of earlier files: one wrong one is named with both its ports."""

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.unit.audit.subnet_faults import TREE

from weft.audit.audit import audit
from weft.audit.case import AuditCase, Ruling
from weft.audit.facts import facts_of
from weft.audit.rules import RULES
from weft.core.finding import Severity
from weft.topology.subnet.subnet import Subnet

RULE = "changed-entries"


Document = dict[str, Any]


@pytest.fixture(scope="module")
def document() -> Document:
    """A tree of six leaves with tables."""
    made, _ = Subnet.of_fabric(TREE).route("minhop").fabric_document("tree", 10**11, 5000)
    return made


@pytest.fixture
def read(tmp_path: Path) -> Callable[[Document], Subnet]:
    """The subnet of a document as its file is read."""
    numbers = itertools.count()

    def subnet(document: Document) -> Subnet:
        path = tmp_path / f"{next(numbers)}.json"
        path.write_text(json.dumps(document), encoding="utf-8")
        return Subnet.read([str(path)])

    return subnet


@pytest.fixture
def ruling(read: Callable[[Document], Subnet]) -> Callable[..., Ruling]:
    judge = {rule.name: rule.judge for rule in RULES}[RULE]

    def judged(now: Document, before: Document | None) -> Ruling:
        return judge(AuditCase(read(now), before=None if before is None else read(before)))

    return judged


def changed(document: Document, switch: str, to: int, port: int) -> Document:
    found: Document = json.loads(json.dumps(document))
    found["lfts"][switch][to] = port
    return found


def test_the_same_tables_have_no_finding(ruling: Any, document: Document) -> None:
    found = ruling(document, document)
    assert found.findings == ()
    n_switches, n_adapters = len(document["switches"]), len(document["nodes"])
    assert found.judged == f"{n_switches * n_adapters} table entries"


def test_one_entry_is_named_with_both_its_ports(ruling: Any, document: Document) -> None:
    was = document["lfts"]["leaf-01"][20]
    other = next(port for port in (5, 6, 7, 8) if port != was)
    (finding,) = ruling(changed(document, "leaf-01", 20, other), document).findings
    hca = document["nodes"][20]["hcas"][0]
    assert finding.severity is Severity.WARNING
    assert finding.sentence.startswith("the entry of leaf-01 for ")
    (line,) = finding.evidence
    assert f"by port {was} before, by port {other} now" in line
    record = facts_of(finding).to_record()
    assert (record["n_changed"], record["rule"]) == (1, "")
    assert [(one["node"], one["port"]) for one in record["ports"]] == [
        ("leaf-01", other),
        ("leaf-01", was),
    ]
    assert hca.partition("/")[0] in line


def test_many_entries_are_counted_and_the_first_listed(ruling: Any, document: Document) -> None:
    now: Document = json.loads(json.dumps(document))
    other = {5: 7, 7: 5, 6: 8, 8: 6}
    n = 0
    for switch, entries in now["lfts"].items():
        if switch.startswith("leaf"):
            moved = [other.get(port, port) for port in entries]
            n += sum(a != b for a, b in zip(moved, entries, strict=True))
            now["lfts"][switch] = moved
    (finding,) = ruling(now, document).findings
    assert n > 64
    assert f"{n} of " in finding.sentence
    assert finding.evidence[-1] == f"and {n - 64} entries more"


def test_where_cables_changed_the_manager_moved_entries_by_right(
    ruling: Any, document: Document
) -> None:
    was = document["lfts"]["leaf-01"][20]
    now = changed(document, "leaf-01", 20, next(port for port in (5, 6, 7, 8) if port != was))
    now["links"] = [link for link in now["links"] if "leaf-06[8]" not in link.values()]
    found = ruling(now, document)
    assert (found.judged, found.findings) == ("", ())
    assert "cables that changed" in found.missing


@pytest.mark.parametrize(("now", "before"), [(True, None), (True, False), (False, True)])
def test_without_both_tables_nothing_is_said(
    ruling: Any, document: Document, now: bool, before: bool | None
) -> None:
    without = {key: value for key, value in document.items() if key != "lfts"}
    of = {True: document, False: without, None: None}
    found = ruling(of[now], of[before])
    assert (found.judged, found.findings) == ("", ())
    assert "tables" in found.missing


def test_the_whole_audit_names_the_rule(read: Any, document: Document) -> None:
    was = document["lfts"]["leaf-01"][20]
    now = changed(document, "leaf-01", 20, next(port for port in (5, 6, 7, 8) if port != was))
    found = audit(AuditCase(read(now), before=read(document))).findings
    assert RULE in {facts_of(one).rule for one in found}


def test_without_the_table_of_one_switch_nothing_is_said(read: Any, document: Document) -> None:
    """A dump that broke off has fewer tables; a document has all or none."""
    judge = {rule.name: rule.judge for rule in RULES}[RULE]
    whole, cut = read(document), read(document)
    cut.__dict__["description"] = {**cut.description, "n_tables": 7}
    for now, before in ((whole, cut), (cut, whole)):
        found = judge(AuditCase(now, before=before))
        assert (found.judged, found.findings) == ("", ())
        assert "same switches" in found.missing


def test_without_earlier_cables_nothing_is_said_of_them(read: Any, document: Document) -> None:
    """Today's cables then stand in for the earlier ones, and prove nothing."""
    judge = {rule.name: rule.judge for rule in RULES}[RULE]
    was = document["lfts"]["leaf-01"][20]
    now = changed(document, "leaf-01", 20, next(port for port in (5, 6, 7, 8) if port != was))
    case = AuditCase(read(now), before=read(document), has_earlier_cables=False)
    found = judge(case)
    assert (found.judged, found.findings) == ("", ())
    assert "a cable may have moved" in found.missing
