"""Every rule of topology files finds what it is for, and is silent where nothing is wrong."""

import pytest
from tests.unit.doctor.topo.cases import CASES, RIGHT, Wrong
from tests.unit.doctor.topo.test_machine_comparison import DIFFERENCES

from weft.catalog.libraries.setting_rules import setting_rules, topology_rules
from weft.doctor.lint import Complaint
from weft.doctor.topo.judge import complaints_of, distances_of, known_of
from weft.doctor.topo.xml import read_topology


def complaints(text: str) -> list[Complaint]:
    file = read_topology("topo.xml", text)
    distances = distances_of(file, known_of(None))
    return complaints_of(file, distances)


def _id(wrong: Wrong) -> str:
    return f"{wrong.rule}-{CASES.index(wrong)}"


@pytest.mark.parametrize("wrong", CASES, ids=_id)
def test_the_mistake_is_found_and_its_sentence_is_whole(wrong: Wrong) -> None:
    found = [one for one in complaints(wrong.text) if one.rule.id == wrong.rule]
    assert found, [one.rule.id for one in complaints(wrong.text)]
    for one in found:
        for sentence in (one.happens, one.fix, one.source):
            assert "{" not in sentence
        at = one.found.at
        assert 0 <= at.start <= at.end <= len(wrong.text)
        assert wrong.text[: at.start].count("\n") + 1 == at.line
        assert at.start - wrong.text.rfind("\n", 0, at.start) == at.column


@pytest.mark.parametrize("wrong", CASES, ids=_id)
def test_what_nccl_gives_up_on_is_distinguished_from_what_it_takes(wrong: Wrong) -> None:
    assert read_topology("topo.xml", wrong.text).is_refused == wrong.is_refused
    assert not read_topology("topo.xml", wrong.right).is_refused


@pytest.mark.parametrize("wrong", CASES, ids=_id)
def test_what_is_right_is_not_blamed(wrong: Wrong) -> None:
    assert wrong.rule not in [one.rule.id for one in complaints(wrong.right)]


def test_nothing_is_found_in_a_plain_file() -> None:
    assert complaints(RIGHT) == []


def test_every_rule_has_a_case_and_no_name_is_taken_twice() -> None:
    assert {one.rule for one in CASES} | {rule for rule, _, _ in DIFFERENCES} == set(
        topology_rules()
    )
    assert not set(topology_rules()) & set(setting_rules())
