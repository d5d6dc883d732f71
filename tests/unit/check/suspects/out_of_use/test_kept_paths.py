"""Cables that carry nothing on a fabric whose tables a subnet manager filled."""
# mypy: disable-error-code="no-untyped-def"

import random
from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest
from tests.seeds import drawn
from tests.unit.check.conftest import Fabric, Tree

from weft.check.suspects.follow_up import follow_up
from weft.check.suspects.out_of_use.kept_paths import Kept
from weft.check.suspects.survey import survey_of
from weft.check.thresholds import thresholds
from weft.check.verdict.verdict import judge_check
from weft.core.finding import Severity

SHAPE = (4, 4, 4)
PLACES = list(product(range(1, 5), repeat=2))
NOBODY = np.zeros(0, np.int64)


class Managed(Tree):
    """A tree with the tables that its paths follow."""

    def __init__(self, *shape, **options):
        super().__init__(*shape, **options)
        n = len(self.nodes)
        leaf_of = [node // self.per_leaf + 1 for node in range(n)]
        tables = {f"spine-{spine:02d}": leaf_of for spine in range(1, self.spines + 1)}
        for leaf in range(1, self.leaves + 1):
            down = [node % self.per_leaf + 1 for node in range(n)]
            up = [self.per_leaf + node % self.spines + 1 for node in range(n)]
            here = [leaf_of[node] == leaf for node in range(n)]
            tables[f"leaf-{leaf:02d}"] = np.where(here, down, up).tolist()
        self.document["lfts"] = tables


class Anew(Tree):
    """A tree in which all messages take another spine than the tables say, some of them one."""

    def _path(self, a, b):
        first, *way = super()._path(a, b)
        if len(way) == 1:
            return (first, *way)
        spine = (3 * b + b // 4) % 2 + 1
        leaf_a, leaf_b = a // self.per_leaf + 1, b // self.per_leaf + 1
        return (
            first,
            f"leaf-{leaf_a:02d}[{self.per_leaf + spine}]",
            f"spine-{spine:02d}[{leaf_b}]",
            way[-1],
        )


class OneMoved(Tree):
    """A tree in which messages take the next spine than the tables say: to one node, or from one
    leaf by one spine."""

    def __init__(self, *shape, node=None, leaf=None):
        super().__init__(*shape)
        self.node, self.leaf = node, leaf

    def _path(self, a, b):
        way = super()._path(a, b)
        leaf_a, leaf_b = a // self.per_leaf + 1, b // self.per_leaf + 1
        moved = b == self.node or (leaf_a == self.leaf and b % self.spines == 1)
        if len(way) == 2 or not moved:
            return way
        spine = (b + 1) % self.spines + 1
        up = f"leaf-{leaf_a:02d}[{self.per_leaf + spine}]"
        return (way[0], up, f"spine-{spine:02d}[{leaf_b}]", way[-1])


def named(tree, seed=1):
    """The cables, by the end at the leaf, that are called out of use; in sets where they tie."""
    made = Fabric(tree, collide=True, noise=0.02, disturbed=0.01, seed=seed)
    samples, planned = made.all_pairs(), Managed(*SHAPE)
    plan = follow_up(survey_of(samples, planned, thresholds()), seed=1)
    verdict = judge_check([*samples, *made.follow_up(plan)], planned)
    bad = [f for f in verdict.findings if f.severity is Severity.BAD]
    assert all("carries nothing" in finding.sentence for finding in bad)
    return [{min(s.component.ends) for s in finding.facts.suspects} for finding in bad]


@pytest.mark.parametrize("seed", drawn(range(6), 3))
def test_a_dead_cable_is_named_though_no_one_knows_where_its_messages_go(seed):
    draw = random.Random(seed)
    leaf, spine = draw.randint(1, 4), draw.randint(1, 4)
    (cables,) = named(Tree(*SHAPE, down=[(leaf, spine)]), seed)
    dead, around = (f"leaf-{leaf:02d}[{5 + at % 4}]" for at in (spine - 1, spine))
    # All of its messages go over one other cable: which of the two is dead may stay open.
    assert {dead} <= cables <= {dead, around}


@pytest.mark.parametrize("cables", drawn(list(combinations(PLACES, 2)), 6))
def test_of_two_dead_cables_no_other_is_named(cables):
    found = named(Tree(*SHAPE, down=cables))
    dead = {f"leaf-{leaf:02d}[{4 + spine}]" for leaf, spine in cables}
    assert all(dead & tied for tied in found)


def test_of_two_dead_cables_most_are_named():
    pairs = random.Random(5).sample(list(combinations(PLACES, 2)), 8)
    found = [named(Tree(*SHAPE, down=cables)) for cables in pairs]
    assert sum(bool(one) for one in found) > len(pairs) / 2


def test_two_dead_cables_that_lead_to_one_another_are_both_named():
    # The entries of spine 2 for leaf 1 led on over its dead cable, too.
    found = named(Tree(*SHAPE, down=[(2, 1), (1, 2)]))
    assert [len(tied) for tied in found] == [1, 1]
    assert set.union(*found) == {"leaf-02[5]", "leaf-01[6]"}


def test_where_all_messages_take_other_paths_no_cable_is_named():
    assert named(Anew(*SHAPE)) == []


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("moved", [{"node": 6}, {"node": 13}, {"leaf": 1}, {"leaf": 3}], ids=str)
def test_where_messages_moved_in_one_direction_of_a_cable_it_is_not_named(moved, seed):
    assert named(OneMoved(*SHAPE, **moved), seed) == []


@pytest.mark.parametrize("seed", range(3))
def test_where_messages_go_as_the_tables_say_no_cable_is_named(seed):
    assert named(Tree(*SHAPE), seed) == []


@pytest.fixture
def survey():
    made = Fabric(Tree(*SHAPE, down=[(3, 2)]), collide=True, noise=0.01)
    return survey_of(made.all_pairs(), Managed(*SHAPE), thresholds())


def test_the_paths_that_the_readings_tell_are_those_that_were_taken(survey):
    network = survey.crossings.network
    dead = network.port_id["leaf-03[6]"] // 2
    kept = Kept(survey.crossings, survey.normed, NOBODY)
    assert kept.evidence(dead, []) > 20
    taken = kept._changes([dead]).tocoo()
    moved = sorted({network.ports[port] for port in taken.col[taken.data > 0]})
    # The next spine, from leaf 3 and to it.
    leaves = range(1, 5)
    assert moved == [f"leaf-0{i}[7]" for i in leaves] + [f"spine-03[{i}]" for i in leaves]


def test_paths_that_would_take_too_long_to_try_are_not_looked_for(survey):
    survey.crossings.limits = replace(survey.crossings.limits, most_placed=1)
    kept = Kept(survey.crossings, survey.normed, NOBODY)
    assert kept.evidence(survey.crossings.network.port_id["leaf-03[6]"] // 2, []) == 0
