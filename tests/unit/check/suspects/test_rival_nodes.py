"""Few nodes: two slow nodes look like a slow path, and a slow path like a slow node."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.unit.check.verdict.test_verdict import bad, check

from weft.check.readings.components import Component, Part, vertex_of
from weft.check.suspects.accusation import Accusation, accuse_all
from weft.check.suspects.rival_nodes import with_rivals
from weft.check.suspects.survey import Survey, survey_of
from weft.check.thresholds import thresholds
from weft.core.errors import ExitCode

ONE_LEAF = [(1, n, 1) for n in (2, 4, 6)]
TWO_LEAVES = [(2, per_leaf, spines) for per_leaf in (2, 3) for spines in (1, 2)]
MORE = [(1, n, 1) for n in (3, 5, 7, 8)] + [(2, 1, 1), (2, 1, 2), (2, 4, 1), (2, 4, 2)]
SHAPES = [
    *ONE_LEAF,
    *TWO_LEAVES,
    *(pytest.param(*shape, marks=pytest.mark.slow) for shape in MORE),
]
each_shape = pytest.mark.parametrize(("leaves", "per_leaf", "spines"), SHAPES)


def directions(tree: Any) -> Iterator[tuple[str, str]]:
    """Both ends of each cable that messages cross, sender first."""
    pairs = [(a, b) for a in tree.nodes for b in tree.nodes if a != b]
    for port in sorted({port for path in tree.paths(pairs) for port in path}):
        yield tree.cable_of(port)


def may_be(component: Any, node: str | None, ends: tuple[str, str]) -> bool:
    """Whether a component is the cable, or holds an end of it."""
    holders = {vertex_of(end) for end in ends}
    owners = {holder.partition("/")[0] for holder in holders if "/" in holder}
    return bool(node in owners or set(ends) & set(component.ends) or component.ends[0] in holders)


@each_shape
@pytest.mark.parametrize("wiring", ["tree", "none"])
def test_a_slow_direction_accuses_nothing_else_and_is_not_good(
    make_tree, make_fabric, make_slow, leaves, per_leaf, spines, wiring
):
    """Without a fabric its cable cannot be named; 1.2 is a warning there, and no fault."""
    tree = make_tree(leaves, per_leaf, spines)
    for ends in directions(tree):
        for factor in (1.05, 1.2, 2, 10):
            slow = make_slow(1 / factor, ports=frozenset(ends[:1]))
            verdict = check(make_fabric(tree, [slow], noise=0.01), wiring)
            for finding in bad(verdict):
                named = getattr(finding.facts, "suspects", ())
                found = [may_be(one.component, one.node, ends) for one in named]
                assert any(found) or not named, (ends, factor, finding.sentence)
            if factor >= 2 or (factor > 1.1 and wiring == "tree"):
                assert verdict.exit_code is not ExitCode.GOOD, (ends, factor)


@each_shape
def test_of_two_slow_nodes_no_path_is_accused_alone(
    make_tree, make_fabric, make_slow, leaves, per_leaf, spines
):
    tree = make_tree(leaves, per_leaf, spines)
    for i, a in enumerate(tree.nodes):
        for b in tree.nodes[i + 1 :]:
            slow = [make_slow(0.4, node=a), make_slow(0.4, node=b)]
            verdict = check(make_fabric(tree, slow, noise=0.01))
            assert verdict.exit_code is not ExitCode.GOOD
            for finding in bad(verdict):
                named = {one.node for one in getattr(finding.facts, "suspects", ())}
                assert named & {a, b} or not named, (a, b, finding.sentence)


@pytest.fixture
def slow_leaf(make_tree: Any, make_fabric: Any, make_slow: Any) -> tuple[Survey, Accusation]:
    """Four leaves, every message over the second half as fast: its readings alone, accused."""
    tree = make_tree(4, 4, 2)
    ports = frozenset(end for link in tree.links for end in link if vertex_of(end) == "leaf-02")
    slow = make_slow(0.5, ports=ports | {tree.cable_of(port)[0] for port in ports})
    survey = survey_of(make_fabric(tree, [slow], noise=0.01).all_pairs(), tree, thresholds())
    (accused,) = accuse_all(survey)
    assert accused.components == (Component(Part.SWITCH, ("leaf-02",)),)
    return survey, accused


def strongest(survey: Survey, accused: Accusation, monkeypatch: Any) -> set[str]:
    """The switches and cables that are named beside an accused switch, were everything else to
    have more evidence than that."""
    evidence = np.full(len(survey.candidates), 1e3)
    evidence[accused.candidate] = 0.0
    monkeypatch.setattr(survey.explainer, "scores", lambda *_: (evidence, {}))
    (found,) = with_rivals(survey, [accused])
    return {one.name for one in found.components} - {one.name for one in accused.components}


def test_only_paths_whose_every_message_is_slow_are_named_beside_a_switch(
    slow_leaf: tuple[Survey, Accusation], monkeypatch: Any
) -> None:
    """Messages from elsewhere to the spines are as fast as any."""
    others = [sorted(("leaf-02", other)) for other in ("leaf-01", "leaf-03", "leaf-04")]
    assert strongest(*slow_leaf, monkeypatch) == {
        "cable leaf-02[5] - spine-01[2]",
        "cable leaf-02[6] - spine-02[2]",
        *(f"the path between switches {a} and {b}" for a, b in others),
    }


def test_no_path_is_named_beside_something_that_is_no_switch(
    slow_leaf: tuple[Survey, Accusation], monkeypatch: Any
) -> None:
    survey, accused = slow_leaf
    cable = replace(accused, components=(Component(Part.CABLE, ("leaf-02[5]", "spine-01[2]")),))
    assert strongest(survey, cable, monkeypatch) == set()
