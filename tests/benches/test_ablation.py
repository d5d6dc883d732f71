"""What each rule earns: it is left out, the same case is judged again, and the changes counted."""
# mypy: disable-error-code="no-untyped-def"

import pytest
from benches.ablation import COUNTS, WHOLE, counts, outcomes, table
from benches.ablation_rules import RULES, left_out, noted
from benches.check import Job

from weft.check.suspects import stall
from weft.core.errors import ExitCode

DEAD = "cables out of use (all of it)"


@pytest.mark.parametrize("title", RULES)
def test_a_rule_is_left_out_wherever_it_is_called_by_and_comes_back(title):
    places = [(rule, place) for rule in RULES[title] for place in rule.places]
    real = [getattr(*place) for _, place in places]
    assert all(before is not rule.instead for before, (rule, _) in zip(real, places, strict=True))
    with left_out(title):
        assert all(getattr(*place) is rule.instead for rule, place in places)
    assert [getattr(*place) for _, place in places] == real


def test_a_rule_is_used_once_it_answers_other_than_what_stands_in_its_place(monkeypatch):
    used: set[str] = set()
    for found, is_used in (((), False), (("a stall",), True)):
        monkeypatch.setattr(stall, "stalls", lambda _, found=found: found)
        with noted(used, ["stalls"]):
            assert stall.stalls("survey") == found
        assert ("stalls" in used) == is_used


@pytest.mark.parametrize(("kind", "is_used"), [("uplink-down", True), ("nic-half", False)])
def test_without_the_rule_for_dead_cables_none_is_named(kind, is_used):
    found = outcomes(Job("tree-16", "static", False, 0, 1, kind), [DEAD])
    whole, without = found[WHOLE], found[DEAD]
    assert whole is not None
    assert whole.n_named == whole.n_shown > 0
    assert (without is not None) == is_used
    if without is not None:
        assert without.n_named == 0


def line(whole, without=None, *, healthy=False):
    return {"healthy": healthy, "of": {WHOLE: whole, DEAD: without}}


GOOD, BAD, UNKNOWN = ExitCode.GOOD, ExitCode.VERDICT_BAD, ExitCode.NO_VERDICT


def test_a_table_counts_what_changes_without_a_rule():
    lines = [
        line([2, 2, False, False, BAD], [2, 1, True, False, BAD]),
        line([1, 1, False, False, BAD], [1, 0, False, True, GOOD]),
        line([1, 1, False, False, BAD]),
        line([0, 0, False, False, GOOD], [0, 0, True, False, BAD], healthy=True),
        line([0, 0, False, True, UNKNOWN], [0, 0, False, False, GOOD], healthy=True),
    ]
    assert dict(zip(COUNTS, counts(lines, WHOLE), strict=True)) == {
        **dict.fromkeys(COUNTS, 0),
        **{"named": 4, "doubted": 1, "UNKNOWN": 1},
    }
    text = table(lines)
    assert "Not used in any: none." in text
    assert "3 cases with 4 faults that show, 2 healthy runs." in text
    assert "| nothing | 5 | 4 | 0 | 0 | 1 | 1 | 0 |" in text
    assert f"| {DEAD} | 4 of 5 | -2 | +1 | +1 | 0 | -1 | +1 |" in text
