"""What a plan says it fills is what its rounds fill: by counting who sends at once."""

from dataclasses import replace

import numpy as np
import pytest
from tests.unit.check.schedule.fields import cost_of, field_of, generated

from weft.check.schedule.node_group import group_of
from weft.check.schedule.plan import CheckPlan, plan_check
from weft.check.schedule.schedule import schedule_of
from weft.check.schedule.scheme import parse_scheme


def rounds_that_fill(field, rounds, n):
    """By leaf: rounds in which so many of its ranks send to other leaves at once, or receive."""
    filled = np.zeros(field.paths.leaves.size, np.int64)
    for pairs in rounds:
        first, second = (field.paths.leaf_of(field.ranks.hca[end]) for end in pairs.T)
        apart = first != second
        ends = (np.bincount(end[apart], minlength=filled.size) for end in (first, second))
        filled += np.maximum(*ends) >= n
    return filled


@pytest.mark.parametrize(
    "scheme", ["full", "cover:2", "random:3", "reflections:5", "leaf", "rails"]
)
@pytest.mark.parametrize(("spines", "n"), [(4, 4), (2, 2), (8, 4)])
def test_paths_count_as_filled_while_as_many_ranks_send_as_they_bear(scheme, spines, n):
    """By eight spines four hosts fill half of their leaf's ways: more they never can."""
    field = field_of(generated(nodes=24, per_leaf=4, spines=spines), adaptive=True)
    plan = CheckPlan(field, schedule_of(parse_scheme(scheme), field), cost_of(field))
    filled = rounds_that_fill(field, plan.schedule.rounds, n)
    record = plan.to_record()
    assert record["cables_filled_at_least"] == filled.min()
    assert record["cables_not_filled"] == spines * (filled == 0).sum()
    told = f"the cables of {(filled == 0).sum()} of 6 leaves are not filled"
    assert all(told in caveat for caveat in record["caveats"])
    assert bool(record["caveats"]) == bool((filled == 0).any())


@pytest.mark.parametrize(
    ("scheme", "leaves", "budget_s", "why"),
    [
        ("random:3", 6, None, "--schedule cover or full fills them"),
        ("full", 2, None, "a comparison needs more leaves"),
        ("full", 6, 0.05, "a larger --budget has room for more rounds"),
    ],
)
def test_a_plan_that_fills_no_leaf_s_paths_says_so_and_why(scheme, leaves, budget_s, why):
    field = field_of(generated(nodes=4 * leaves, per_leaf=4, spines=4), adaptive=True)
    plan = plan_check(field, cost_of(field), parse_scheme(scheme), budget_s)
    assert f"are not filled: a slow or missing cable among them may not show ({why})" in plan.text


def test_of_a_group_only_the_leaves_that_hold_it_need_be_filled():
    whole = field_of(generated(nodes=24, per_leaf=4, spines=4), adaptive=True)
    for group, said in (("leaf-02", ()), ("n[001-002]", ("1 of 1 leaves",))):
        field = replace(whole, only=group_of(group, whole.ranks, whole.paths))
        plan = plan_check(field, cost_of(field), parse_scheme("full"))
        assert [words in plan.text for words in said] == [True] * len(said)
        assert len(plan.caveats) == len(said)
