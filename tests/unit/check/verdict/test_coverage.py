"""What was filled is told from what was merely crossed, and from what nothing crossed."""

from dataclasses import replace
from typing import Any

import pytest

from weft.check.schedule.rounds.matchings import reflections
from weft.check.suspects.follow_up import follow_up
from weft.check.suspects.survey import survey_of
from weft.check.thresholds import thresholds
from weft.check.verdict.verdict import Verdict, judge_check


def rounds_that_fill(tree: Any) -> list[int]:
    """By cable: rounds of all pairs in which a message crosses it, in the direction of fewer."""
    crossing: dict[str, set[int]] = {port: set() for link in tree.links for port in link}
    for number, pairs in enumerate(reflections(len(tree.nodes))):
        named = [(tree.nodes[a], tree.nodes[b]) for a, b in pairs.tolist()]
        for path in tree.paths([*named, *((b, a) for a, b in named)]):
            for port in path:
                crossing[port].add(number)
    return [min(len(crossing[port]) for port in link) for link in tree.links]


def with_fast_spines(tree: Any) -> Any:
    """Cables between switches bear two hosts, and never two messages at once go over them."""
    for link in tree.document["links"]:
        link["bits_per_s"] *= 2 if "spine" in link["b"] else 1
    return tree


def check(fabric: Any, tree: Any) -> Verdict:
    samples = fabric.all_pairs()
    plan = follow_up(survey_of(samples, tree, thresholds()), seed=1)
    return judge_check([*samples, *fabric.follow_up(plan)], tree)


def test_cables_as_fast_as_hosts_are_filled_by_every_message(make_tree, make_fabric):
    tree = make_tree(4, 4, 4)
    coverage = judge_check(make_fabric(tree).all_pairs(), tree).coverage
    least = min(rounds_that_fill(tree))
    assert coverage.least_fillings == least
    assert coverage.cables_never_filled == ()
    assert coverage.cables_text == f"every cable filled >= {least} times"


def test_a_cable_with_room_is_crossed_and_not_filled(make_tree, make_fabric):
    tree = with_fast_spines(make_tree(4, 4, 4))
    verdict = judge_check(make_fabric(tree).all_pairs(), tree)
    assert {cable[0][:4] for cable in verdict.coverage.cables_never_filled} == {"leaf"}
    assert len(verdict.coverage.cables_never_filled) == 16
    # A host meets each of fifteen others once.
    assert verdict.coverage.cables_text == (
        "16 of 32 cables filled >= 15 times, 16 crossed and never filled"
    )
    assert any(
        "16 of 32 cables were crossed and never filled" in caveat for caveat in verdict.caveats
    )


def test_a_dead_cable_is_not_counted_among_those_that_were_filled(make_tree, make_fabric):
    planned = make_tree(4, 4, 4, routed=True)
    fabric = make_fabric(make_tree(4, 4, 4, down=[(2, 2)]), collide=True)
    coverage = check(fabric, planned).coverage
    assert coverage.out_of_use == {("cable", ("leaf-02[6]", "spine-02[2]"))}
    assert coverage.cables_text.startswith("31 of 32 cables filled >= ")
    assert coverage.cables_text.endswith(", 1 out of use")
    assert coverage.to_record()["cables_out_of_use"] == 1


@pytest.mark.parametrize("was", ["cables_never_filled", "cables_never_crossed"])
def test_a_dead_cable_that_nothing_filled_is_counted_once(make_tree, make_fabric, was):
    tree = make_tree(4, 4, 4)
    coverage = judge_check(make_fabric(tree).all_pairs(), tree).coverage
    dead = ("cable", ("leaf-02[6]", "spine-02[2]"))
    of_it = replace(coverage, out_of_use=frozenset({dead}), **{was: (dead[1][::-1],)})
    assert of_it.cables_text.startswith("31 of 32 cables filled >= ")
    assert of_it.cables_text.endswith(" times, 1 out of use")


def test_without_a_fabric_nothing_is_said_of_cables(make_tree, make_fabric):
    verdict = judge_check(make_fabric(make_tree(4, 4, 4)).all_pairs(), None)
    assert verdict.coverage.cables_text == "cables unknown (--fabric names them)"
