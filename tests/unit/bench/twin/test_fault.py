"""Faults in the words of a person, and drawn at random."""

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.bench.twin.refusals import engine_refusal

from weft.bench.twin.fault import (
    FAULT_KINDS,
    GRAMMAR,
    Fault,
    check_fault,
    parse_fault,
    random_fault,
)
from weft.core.errors import InputError

FABRIC: dict[str, Any] = {
    "nodes": [{"name": "n001", "hcas": ["n001/hca0"]}, {"name": "n002", "hcas": ["n002/hca0"]}],
    "switches": [{"name": "leaf-01", "ports": 2}, {"name": "spine-01", "ports": 1}],
    "links": [
        {"a": "n001/hca0[1]", "b": "leaf-01[1]"},
        {"a": "n002/hca0[1]", "b": "leaf-01[2]"},
        {"a": "leaf-01[3]", "b": "spine-01[1]"},
    ],
}


@pytest.mark.parametrize(
    ("text", "fault", "document"),
    [
        (
            "leaf-02[6] rate=0.25",
            Fault("leaf-02[6]", "rate", (0.25,)),
            {"link": "leaf-02[6]", "rate_factor": 0.25},
        ),
        (
            "n001/hca0[1] down",
            Fault("n001/hca0[1]", "down"),
            {"link": "n001/hca0[1]", "down": True},
        ),
        ("n007 slow=3", Fault("n007", "slow", (3.0,)), {"node": "n007", "slow_factor": 3.0}),
        (
            "leaf-02[6] lanes=1/4",
            Fault("leaf-02[6]", "lanes", (1, 4)),
            {"link": "leaf-02[6]", "lanes": [1, 4]},
        ),
        (
            "leaf-02[6] corrected=0.01,300",
            Fault("leaf-02[6]", "corrected", (0.01, 300.0)),
            {"link": "leaf-02[6]", "corrected": {"probability": 0.01, "cost_ns": 300.0}},
        ),
        (
            "leaf-02[6] lost=0.001",
            Fault("leaf-02[6]", "lost", (0.001,)),
            {"link": "leaf-02[6]", "lost": 0.001},
        ),
        (
            "n007 noise=0.1,500",
            Fault("n007", "noise", (0.1, 500.0)),
            {"node": "n007", "noise": {"probability": 0.1, "mean_ns": 500.0}},
        ),
    ],
)
def test_a_fault_reads_as_written(text: str, fault: Fault, document: dict[str, Any]) -> None:
    assert parse_fault(text) == fault
    assert fault.to_document() == document
    assert fault.describe() == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "'' is not a fault"),
        ("leaf-02[6]", "a place and what is wrong there"),
        ("leaf-02[6] rate=0", "a rate factor above 0 and up to 1"),
        ("leaf-02[6] rate=1.5", "a rate factor above 0 and up to 1"),
        ("leaf-02[6] rate=nan", "a rate factor above 0 and up to 1"),
        ("leaf-02[6] rate=fast", "a number after '='"),
        ("leaf-02 rate=0.5", r"a port such as leaf-02\[6\]"),
        ("leaf-02[0] down", r"a port such as leaf-02\[6\]"),
        ("n007 slow=0.5", "a slow factor from 1 to 1000"),
        ("n007 slow=nan", "a slow factor from 1 to 1000"),
        ("n007 slow=1001", "a slow factor from 1 to 1000"),
        ("leaf-02[6] slow=2", "a node's name before 'slow='"),
        ("leaf-02[6] rat=0.5", "did you mean 'rate'"),
        ("n007 broken", "rate=, lanes=, down, corrected=, lost=, slow=, noise="),
        ("leaf-02[6] lanes=0/4", "lanes left / of how many, from 1 to 12"),
        ("leaf-02[6] lanes=5/4", "lanes left / of how many"),
        ("leaf-02[6] lanes=1/13", "lanes left / of how many"),
        ("leaf-02[6] lanes=half", "lanes left / of how many"),
        ("leaf-02 lanes=1/4", r"a port such as leaf-02\[6\]"),
        ("leaf-02[6] corrected=0.1", "a probability and nanoseconds, as in 0.01,300"),
        ("leaf-02[6] corrected=2,300", "a probability from 0 to 1"),
        ("leaf-02[6] corrected=0.1,-1", "nanoseconds from 0 to 1e12"),
        ("leaf-02[6] corrected=0.1,0.0001", "at most 3 decimals"),
        ("leaf-02[6] lost=1.5", "a probability from 0 to 1"),
        ("leaf-02[6] lost=nan", "a probability from 0 to 1"),
        ("leaf-02[6] noise=0.1,500", "a node's name before 'noise='"),
    ],
)
def test_anything_else_says_what_was_expected(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_fault(text)


@given(st.text(max_size=40))
def test_no_text_crashes_the_parser(text: str) -> None:
    try:
        fault = parse_fault(text)
    except InputError:
        return
    assert parse_fault(fault.describe()).place == fault.place


@given(st.integers(0, 10**6))
def test_a_random_fault_lies_in_the_fabric_and_comes_back_by_seed(seed: int) -> None:
    fault = random_fault(FABRIC, seed)
    check_fault(fault, FABRIC)
    assert random_fault(FABRIC, seed) == fault
    assert parse_fault(fault.describe()) == fault


def test_random_faults_are_of_every_kind() -> None:
    places = {random_fault(FABRIC, seed).place for seed in range(200)}
    assert {"leaf-01[3]", "leaf-01[1]", "leaf-01[2]", "n001", "n002"} == places


def test_a_fault_nowhere_in_the_fabric_is_refused() -> None:
    with pytest.raises(InputError, match=r"no cable at 'leaf-01\[9\]' to plant a fault in"):
        check_fault(parse_fault("leaf-01[9] down"), FABRIC)
    with pytest.raises(InputError, match=r"no node 'n003'(.|\n)*such as n002"):
        check_fault(parse_fault("n003 slow=2"), FABRIC)


def test_a_fabric_without_cables_has_nothing_to_break() -> None:
    with pytest.raises(InputError, match="no cable to break"):
        random_fault({"nodes": [], "switches": [], "links": []}, 1)


def test_the_grammar_has_one_form_of_each_kind_and_all_are_read() -> None:
    forms = re.findall(r"'([^']+)'", GRAMMAR)
    assert [parse_fault(form).kind for form in forms] == list(FAULT_KINDS)


def test_the_kinds_are_those_that_the_engine_knows() -> None:
    """Wrong routes and swapped cables are none of a twin's: `switch` and `swapped`."""
    fault = {"node": "n001", "no_such_key": 1}
    refusal = engine_refusal(lambda twin: {**twin, "faults": [fault]})
    keys = set(re.findall(r"`(\w+)`", refusal)) - {"no_such_key"}
    others = {"link", "node", "switch", "dst", "port", "swapped"}
    times = {"from_ns", "until_ns", "every_ns"}
    assert keys - others - times == {kind.key for kind in FAULT_KINDS.values()}


def test_the_page_of_the_scenario_has_every_kind() -> None:
    page = (Path(__file__).parents[4] / "docs" / "reference" / "scenario.md").read_text()
    assert [kind.key for kind in FAULT_KINDS.values() if f"`{kind.key}" not in page] == []
