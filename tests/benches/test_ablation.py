"""Rules of the diagnosis that can be left out, and the cells of their table."""

from random import Random

import pytest
from benches.ablation import table, without_cables
from benches.ablation_rules import RULES, Rule, left_out, noted

from weft.check.suspects.out_of_use.reroute import Rerouted
from weft.check.thresholds import thresholds


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_is_left_out_and_comes_back(rule: Rule) -> None:
    before, crossed_cables = thresholds().peer_sigma, vars(Rerouted)["crossed_cables"]
    with left_out(rule):
        assert (thresholds().peer_sigma != before) == ("peer_sigma" in rule.changes)
        assert (vars(Rerouted)["crossed_cables"] is not crossed_cables) == (
            rule.name == "crossed_cables"
        )
    assert thresholds().peer_sigma == before
    assert vars(Rerouted)["crossed_cables"] is crossed_cables


def test_figures_that_are_read_are_noted() -> None:
    with noted() as asked:
        assert thresholds().one_story > 0
    assert thresholds().left_open > 0
    assert asked & {"one_story", "left_open"} == {"one_story"}


def test_a_cell_holds_the_change_and_how_many_runs_ask() -> None:
    right = {"named": [True], "wrong": [], "failure": None}
    wrong = {"named": [False], "wrong": ["cable"], "failure": None}
    rule, other = RULES[:2]
    line = {"healthy": False, "base": right, "asked": [rule.name], "changed": {rule.name: wrong}}
    text = table({"board": [line]}, [rule, other])
    assert f"| {rule.name} | {rule.instead} | -1, +1, +0 (1) |" in text
    assert f"| {other.name} | {other.instead} | - |" in text


def test_entries_over_a_dead_cable_alone_move() -> None:
    links = [("n1[1]", "leaf-1[1]"), ("n2[1]", "leaf-2[1]")]
    links += [(f"leaf-{leaf}[{1 + s}]", f"spine-{s}[{leaf}]") for leaf in (1, 2) for s in (1, 2)]
    document = {
        "nodes": [{"name": "n1", "hcas": ["n1"]}, {"name": "n2", "hcas": ["n2"]}],
        "links": [{"a": a, "b": b} for a, b in links],
        "lfts": {"leaf-1": [1, 2], "leaf-2": [2, 1], "spine-1": [1, 2], "spine-2": [1, 2]},
    }
    moved = without_cables(document, ["leaf-1[2]"], Random(1))
    # To n2 by spine 2; from leaf 2 to n1 as well, since spine 1 has lost leaf 1.
    assert moved["lfts"]["leaf-1"] == [1, 3]
    assert moved["lfts"]["leaf-2"] == [3, 1]
    assert moved["lfts"]["spine-2"] == [1, 2]
    assert document["lfts"]["leaf-1"] == [1, 2]
