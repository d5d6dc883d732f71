"""JUnit XML as servers read it: the structure of Jenkins' junit-10.xsd, whatever names hold."""

import pytest
from tests.junit_documents import read
from tests.unit.check.accusations import facts_of, suspect

from weft.check.verdict.verdict import judge_check
from weft.check.wording.junit import junit_text
from weft.core.finding import Finding, FindingKind, Severity


@pytest.fixture
def answer(make_tree, make_slow, make_fabric):
    def made(*slow, findings=None, refused=False):
        from dataclasses import replace

        tree = make_tree(4, 4, 4)
        verdict = judge_check(make_fabric(tree, [make_slow(*s) for s in slow]).all_pairs(), tree)
        if findings is not None:
            verdict = replace(verdict, findings=findings, refused=refused)
        return verdict

    return made


def test_every_node_is_a_case_and_a_bad_one_fails_with_its_sentence(answer):
    found = answer((0.5, frozenset(), "n007"))
    cases = read(junit_text(found, 1.5))
    assert len(cases) == 16
    assert list(cases)[:2] == [("weft check.node", "n001"), ("weft check.node", "n002")]
    failed = {name for (_, name), case in cases.items() if case.find("failure") is not None}
    assert failed == {"n007"}
    failure = cases["weft check.node", "n007"].find("failure")
    sentence = found.findings[0].sentence
    assert failure.get("message") == sentence
    assert failure.text.splitlines()[0] == sentence
    assert len(failure.text.splitlines()) > 1


def test_a_cable_between_switches_is_a_case_of_its_own(answer):
    cases = read(junit_text(answer((0.5, frozenset({"leaf-02[6]", "spine-02[2]"}))), 1.5))
    failed = [key for key, case in cases.items() if case.find("failure") is not None]
    assert failed == [("weft check.cable", "leaf-02[6] <-> spine-02[2]")]
    assert len(cases) == 17


def test_a_healthy_fabric_fails_nothing(answer):
    assert not [case for case in read(junit_text(answer(), 1.5)).values() if len(case)]


def test_a_run_that_proves_nothing_is_an_error_and_its_nodes_are_skipped(answer):
    refusal = Finding(FindingKind.NOT_ENOUGH_DATA, Severity.WARNING, "It proves nothing.")
    cases = read(junit_text(answer(findings=(refusal,), refused=True), 1.5))
    assert cases.pop(("weft check.run", "validity")).find("error").get("message") == (
        "It proves nothing."
    )
    assert len(cases) == 16
    assert all(case.find("skipped") is not None for case in cases.values())


@pytest.mark.parametrize("name", ["<&\"'>]]>", "a\x00b\x1b[31m\x0bc", "\ud800", "ü漢\ufffe", "-->"])
def test_hostile_names_make_no_broken_document(answer, name):
    facts = facts_of(suspect("switch", name), metric="latency_us", measured=2.0, expected=1.0)
    bad = Finding(FindingKind.SUSPECT_SWITCH, Severity.BAD, f"Switch {name} is slow.", (name,),
                  facts=facts)  # fmt: skip
    cases = read(junit_text(answer(findings=(bad,)), 1.5))
    assert [key[0] for key, case in cases.items() if len(case)] == ["weft check.switch"]
