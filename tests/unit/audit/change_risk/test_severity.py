"""What a change is called where tables are known or guessed, and where the order stays open."""

from dataclasses import replace
from pathlib import Path

import pytest

from weft.audit.change_risk.change import read_changes
from weft.audit.change_risk.report import ChangeRisk, change_risk
from weft.audit.change_risk.work_order import WorkOrder
from weft.cli.fabric.files import open_subnet
from weft.cli.fabric.what_if_text import risk_text
from weft.core.finding import Severity

FIXTURES = Path(__file__).parents[3] / "fixtures" / "fabric"
FILES = ("small/opensm-subnet.lst", "opensm/opensm-lfts.dump")
LOOP = ("leaf000[5]", "spine00[1]")


@pytest.fixture(scope="module")
def risk() -> ChangeRisk:
    subnet = open_subnet(tuple(str(FIXTURES / name) for name in FILES))
    return change_risk(subnet, read_changes(subnet, (), ("leaf000[5]",), ()), jobs={})


def test_faults_of_guessed_tables_are_no_bad(risk: ChangeRisk) -> None:
    guessed = replace(risk.routing, engine=None)
    why = ("the engine is not known",)
    for fault in ({"loop": LOOP, "loop_before": ()}, {"without_path": 3}):
        known = replace(risk, **fault)
        assert known.severity is Severity.BAD
        unknown = replace(known, routing=guessed, unknown=why)
        assert unknown.severity is Severity.UNKNOWN
        assert "cannot tell: the engine is not known" in risk_text(unknown)
    # Cables alone tell that a host is cut off.
    cut = replace(risk, cut_off={"c1": ()}, routing=guessed, unknown=why)
    assert cut.severity is Severity.BAD


def test_an_order_that_no_state_makes_safe_is_bad(risk: ChangeRisk) -> None:
    order = WorkOrder(risk.order.steps, "every order of them has an unsafe step")
    assert replace(risk, order=order).severity is Severity.BAD


def test_a_search_that_gave_up_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weft.audit.change_risk.work_order.MOST_STATES", 0)
    subnet = open_subnet(tuple(str(FIXTURES / name) for name in FILES))
    found = change_risk(subnet, read_changes(subnet, (), ("leaf000[5]",), ()), jobs={})
    assert found.severity is Severity.UNKNOWN
    assert "the order of work" in found.unknown[0]
