"""What would tell more is said for each thing that a check leaves open, and for nothing else."""

from pathlib import Path
from typing import Any

import pytest

from weft.bench.twin.fault import FAULT_KINDS
from weft.catalog.load import platform
from weft.check.external_evidence.fabric_marks import Mark, Marks
from weft.check.external_evidence.platform_choice import ExpectedPlatform
from weft.check.suspects.accusation import Standing
from weft.check.suspects.follow_up import follow_up
from weft.check.suspects.survey import survey_of
from weft.check.thresholds import thresholds
from weft.check.verdict.missing_inputs import inputs
from weft.check.verdict.verdict import judge_check

PAGE = Path("docs/reference/check.md")
HDR = ExpectedPlatform(platform("fat-tree"), "of a test")


def names(fabric: Any, wiring: Any = "tree", machine: Any = HDR, **more: Any) -> tuple[str, ...]:
    known = fabric.tree if wiring == "tree" else wiring
    routing = {"adaptive": more.get("adaptive", False)}
    samples = fabric.all_pairs()
    survey = survey_of(samples, known, thresholds(), **routing)
    again = fabric.follow_up(follow_up(survey, seed=1))
    verdict = judge_check([*samples, *again], known, machine=machine, **more)
    assert [one["for"] for one in verdict.to_record()["inputs"]] == list(verdict.inputs)
    return verdict.inputs


def slow(make_slow: Any, tree: Any, *ports: str, factor: float = 0.5) -> Any:
    crossed = frozenset(end for port in ports for end in tree.cable_of(port))
    return make_slow(factor, ports=crossed, metrics=("bandwidth",))


def test_a_healthy_run_with_everything_lacks_nothing(make_tree, make_fabric):
    assert names(make_fabric(make_tree(4, 4, 4))) == ()


def test_what_was_not_given_is_asked_for(make_tree, make_fabric):
    fabric = make_fabric(make_tree(4, 4, 4))
    assert names(fabric, machine=None) == ("platform",)
    assert names(fabric, wiring=None) == ("fabric",)


def test_cables_that_no_pair_crosses_need_other_nodes_or_files(make_tree, make_fabric):
    assert names(make_fabric(make_tree(8, 1, 9))) == ("never_crossed",)


def test_few_nodes_are_too_few(make_tree, make_fabric):
    assert "few_nodes" in names(make_fabric(make_tree(1, 3, 1)))


def test_a_cable_is_distinguished_by_counters_once(make_tree, make_slow, make_fabric):
    tree = make_tree(4, 4, 4)
    fabric = make_fabric(tree, [slow(make_slow, tree, "leaf-02[6]")])
    thing = ("cable", tuple(sorted(tree.cable_of("leaf-02[6]"))))
    assert names(fabric) == ("cable",)
    assert names(fabric, marks=Marks(counted=frozenset({thing}))) == ()
    mark = Mark(thing, "error-totals", "warning", "42 errors", "")
    assert names(fabric, marks=Marks((mark,))) == ()


def test_a_node_and_its_cable_need_a_swap(make_tree, make_slow, make_fabric):
    tree = make_tree(4, 4, 4)
    assert names(make_fabric(tree, [make_slow(0.5, node="n007")])) == ("host_tie",)


def test_without_a_fabric_a_node_is_looked_at_and_a_fabric_asked_for(
    make_tree, make_slow, make_fabric
):
    fabric = make_fabric(make_tree(4, 4, 4), [make_slow(0.5, node="n007")])
    assert names(fabric, wiring=None) == ("node", "fabric")


def test_cables_among_which_routing_chooses_need_counters(make_tree, make_slow, make_fabric):
    tree = make_tree(4, 4, 4)
    ports = [f"leaf-02[{port}]" for port in (5, 6, 7, 8)]
    fabric = make_fabric(tree, [slow(make_slow, tree, *ports, factor=0.7)])
    assert names(fabric, adaptive=True) == ("adaptive_tie",)


def test_things_in_a_row_need_counters_or_other_pairs(make_tree, make_slow, make_fabric):
    tree = make_tree(8, 1, 1)
    found = names(make_fabric(tree, [slow(make_slow, tree, "leaf-02[2]")]))
    assert found == ("cable_tie",)


def test_a_cable_that_carries_nothing_needs_its_state(make_tree, make_fabric):
    fabric = make_fabric(make_tree(4, 4, 4, down=[(2, 3)]), collide=True)
    fabric_as_cabled = make_tree(4, 4, 4, routed=True)
    found = names(fabric, wiring=fabric_as_cabled)
    assert found[0] == "out_of_use"


def test_all_of_it_slow_needs_rates_and_transport(make_tree, make_slow, make_fabric):
    tree = make_tree(4, 4, 4)
    ports = frozenset(port for cable in tree.links for port in cable)
    fabric = make_fabric(tree, [make_slow(0.5, ports=ports, metrics=("bandwidth",))])
    assert names(fabric) == ("whole_class",)


@pytest.mark.parametrize("standing", [Standing.MET, Standing.PASSING, Standing.OUT_OF_USE])
def test_every_standing_that_accuses_nothing_has_an_input(standing):
    from weft.check.verdict.missing_inputs import _BY_STANDING

    assert _BY_STANDING[standing] in inputs()


def test_the_page_lists_every_input_as_the_program_says_it():
    page = PAGE.read_text()
    for name, one in inputs().items():
        assert f"| `{name}` | {one.open} | {one.give} | {one.tells} |" in page


def test_the_page_says_of_every_fault_what_shows_it():
    table = PAGE.read_text().partition("## What shows which fault")[2].partition("\n## ")[0]
    for word in FAULT_KINDS:
        assert f"`{word}=`" in table or f"`{word}`" in table, word
