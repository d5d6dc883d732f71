"""FlowPaths that share a load under adaptive routing: uneven is not broken, and one less is."""
# mypy: disable-error-code="no-untyped-def"

import random
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from tests.seeds import drawn

from weft.check.readings.readings import Metric
from weft.check.suspects.crowding.crowded_paths import CrowdedPath, Look, SharedPaths
from weft.check.suspects.crowding.path_kinds import Delivered
from weft.check.suspects.explanation import Suspect
from weft.check.suspects.follow_up import FollowUpPlan, follow_up
from weft.check.suspects.survey import survey_of
from weft.check.thresholds import thresholds
from weft.check.verdict.verdict import judge_check
from weft.core.finding import Severity

N_LEAVES = 10


def leaving(leaf):
    """The ports by which messages leave a leaf of four nodes for its four spines."""
    return frozenset(f"leaf-{leaf:02d}[{port}]" for port in range(5, 9))


def judged(tree, full, alone):
    """The verdict, where `full` measures whole rounds and `alone` one test a round."""
    samples = full.all_pairs()
    plan = follow_up(survey_of(samples, tree, thresholds(), adaptive=True), seed=1)
    samples += alone.follow_up(FollowUpPlan(plan.alone, ())) + full.follow_up(
        FollowUpPlan((), plan.together)
    )
    return judge_check(samples, tree, adaptive=True)


def bad(verdict):
    return [finding for finding in verdict.findings if finding.severity is Severity.BAD]


@pytest.mark.parametrize("seed", drawn(range(6), 3))
def test_leaves_that_differ_by_a_few_percent_are_healthy(make_tree, make_fabric, make_slow, seed):
    tree = make_tree(N_LEAVES, 4, 4)
    draw = random.Random(seed)
    uneven = [
        make_slow(1 - draw.uniform(0, 0.05), ports=leaving(leaf), metrics=("bandwidth",))
        for leaf in range(1, N_LEAVES + 1)
    ]
    full, alone = make_fabric(tree, uneven, noise=0.01), make_fabric(tree, noise=0.01, seed=9)
    assert bad(judged(tree, full, alone)) == []


@pytest.mark.parametrize("disturbed", [0.05, 0.1, 0.15])
@pytest.mark.parametrize("seed", range(3))
def test_where_hosts_have_other_work_no_way_is_accused(make_tree, make_fabric, disturbed, seed):
    """One reading in seven is half as fast: of some ways more than that by chance."""
    tree = make_tree(7, 2, 2)
    busy = make_fabric(tree, noise=0.01, disturbed=disturbed, seed=seed)
    assert bad(judged(tree, busy, busy)) == []


@pytest.mark.parametrize("leaf", [2, 7])
def test_a_leaf_far_out_of_its_kind_is_named(make_tree, make_fabric, make_slow, leaf):
    tree = make_tree(N_LEAVES, 4, 4)
    slow = make_slow(0.75, ports=leaving(leaf), metrics=("bandwidth",))
    full, alone = make_fabric(tree, [slow], noise=0.01), make_fabric(tree, noise=0.01, seed=9)
    (finding,) = bad(judged(tree, full, alone))
    ends = {end for suspect in finding.facts.suspects for end in suspect.component.ends}
    assert leaving(leaf) <= ends


class SomeSlow:
    """A fabric some of whose messages out of a leaf are slow, drawn anew each time."""

    def __init__(self, fabric, leaf, share, seed):
        self.fabric, self.ports, self.share, self.tree = fabric, leaving(leaf), share, fabric.tree
        self.draws = random.Random(seed)

    def all_pairs(self):
        return [self._slowed(sample) for sample in self.fabric.all_pairs()]

    def follow_up(self, plan):
        return [self._slowed(sample) for sample in self.fabric.follow_up(plan)]

    def _slowed(self, sample):
        from dataclasses import replace

        metrics = dict(sample.metrics)
        pair = sample.pair
        for name, ends in (
            ("bandwidth_ab_mb_s", (pair.a, pair.b)),
            ("bandwidth_ba_mb_s", (pair.b, pair.a)),
        ):
            crosses = self.ports & set(self.tree.paths([ends])[0])
            if name in metrics and crosses and self.draws.random() < self.share:
                metrics[name] *= 0.6
        return replace(sample, metrics=metrics)


@pytest.mark.parametrize("seed", drawn(range(6), 3))
def test_two_thirds_of_a_leaf_s_messages_slow_is_enough_to_name_it(make_tree, make_fabric, seed):
    tree = make_tree(N_LEAVES, 4, 4)
    full = SomeSlow(make_fabric(tree, noise=0.01), leaf=3, share=0.7, seed=seed)
    (finding,) = bad(judged(tree, full, make_fabric(tree, noise=0.01, seed=9)))
    ends = {end for suspect in finding.facts.suspects for end in suspect.component.ends}
    assert leaving(3) <= ends


def told_against_their_kind(tree, fabric):
    """By the name of its first component: whether ways of a candidate are, where several share."""
    survey = survey_of(fabric.all_pairs(), tree, thresholds(), adaptive=True)
    component = survey.crossings.component
    return {
        component(survey.candidates.members[candidate][0]).name: survey.shared.can_tell(candidate)
        for candidate in survey.crossings.shared_paths.nonzero()[0].tolist()
    }


def test_paths_are_held_against_their_kind_where_enough_are_alike(make_tree, make_fabric):
    """Four leaves have four ways up and four down, but only four sets of cables; six are enough."""
    told = {}
    for leaves in (4, 6):
        tree = make_tree(leaves, 4, 4)
        told[leaves] = told_against_their_kind(tree, make_fabric(tree, noise=0.01))
    one_direction = "cable leaf-01[5] - spine-01[1] (direction leaf-01 to spine-01)"
    both_directions = "cable leaf-01[5] - spine-01[1]"
    assert told[4][one_direction]
    assert not told[4][both_directions]
    assert told[6][both_directions]


def test_switches_among_which_messages_choose_are_never_reported_by_what_crosses_them(
    make_tree, make_fabric
):
    tree = make_tree(4, 4, 4)
    told = told_against_their_kind(tree, make_fabric(tree, noise=0.01))
    switches = {name: can for name, can in told.items() if name.startswith("switch")}
    assert {"switch leaf-01", "switch spine-01"} <= switches.keys()
    assert all(switches.values())


def test_a_path_is_judged_by_all_that_it_carried_not_by_what_filled_it(
    make_tree, make_fabric, make_slow
):
    """The same ways stand twice: crossed, and crossed where they were filled."""
    tree = make_tree(N_LEAVES, 4, 4)
    slow = make_slow(0.7, ports=leaving(3), metrics=("bandwidth",))
    fabric = make_fabric(tree, [slow], noise=0.01)
    samples = fabric.all_pairs() + fabric.measure([[(8, 30)], [(9, 31), (10, 25)]])
    survey = survey_of(samples, tree, thresholds(), adaptive=True)
    members = [set(of) for of in survey.candidates.members]
    (way,) = (w for w in survey.crowded if w.look is not Look.ALONE)
    n_rows = [
        survey.candidates.rows(c).size for c, of in enumerate(members) if of == members[way.number]
    ]
    assert len(set(n_rows)) > 1
    assert survey.candidates.rows(way.number).size == max(n_rows)


class Told(SharedPaths):
    """Way 0 again so slow; beside it others of its kind, and one that is not, far slower."""

    def __init__(self, slower, peers):
        self._limits = thresholds()
        values = np.array([slower, *peers, 0.9, 0.9])
        kind, climbs = np.ones(values.size), np.ones(values.size)
        kind[-1], climbs[-2] = 2, -1
        ways = np.arange(values.size)
        self.told = SimpleNamespace(paths=ways, kind=kind, climbs=climbs, slower=values)

    def _delivered(self, look, rows):
        return self.told


def found_by(look, number=0):
    """A way that was found 0.4 slower."""
    return CrowdedPath(Suspect((number,), {Metric.BANDWIDTH: 0.4}, 50.0), look, number)


@pytest.mark.parametrize("look", [Look.ALONE, Look.ALL])
@pytest.mark.parametrize(
    ("slower", "peers", "shows"),
    [
        (0.25, (0.0, 0.0, 0.15), True),
        (0.15, (0.0, 0.0, 0.0), False),
        (0.25, (0.1, 0.1, 0.1), False),
        (0.25, (-0.1, 0.0, 0.05, 0.15, 0.15), True),
        (0.25, (), False),
    ],
)
def test_a_path_shows_again_where_it_is_half_as_slow_next_to_the_middle_of_its_kind(
    look, slower, peers, shows
):
    way = found_by(look)
    assert Told(slower, peers).shows_again(way, (way,), np.ones(1, np.bool_)) is shows


def test_in_full_rounds_it_is_slower_than_any_that_was_not_found_as_well():
    """0.21 is less than a quarter below."""
    rows = np.ones(1, np.bool_)
    told = Told(0.25, (0.0, 0.0, 0.21))
    full, alone = found_by(Look.ALL), found_by(Look.ALONE)
    assert not told.shows_again(full, (full,), rows)
    assert told.shows_again(full, (full, found_by(Look.ALL, 3)), rows)
    assert not told.shows_again(full, (full, found_by(Look.ALONE, 3)), rows)
    assert told.shows_again(alone, (alone,), rows)


UPS, DOWNS = [(2 * i,) for i in range(8)], [(2 * i + 1,) for i in range(8)]


class FlowPaths(SharedPaths):
    """The ways up and down of eight leaves, each filled by itself, and how slow they are."""

    def __init__(self, up, down, n=40):
        self._limits = thresholds()
        self._in_series = dict(enumerate([*UPS, *DOWNS]))
        self.values, self.n = np.array([*up, *down]), n

    def _delivered(self, look, rows):
        if look is not Look.ALONE or not rows[0]:
            return None
        ways = np.flatnonzero(rows)
        climbs = np.where(ways < len(UPS), 1, -1)
        error = np.full(ways.size, 0.02 / np.sqrt(self.n))
        return Delivered(ways, np.ones(ways.size), climbs, self.values[ways], error)

    def _candidates(self, look, number):
        return (number,)

    def _in_cables(self, path):
        return path

    def rows_of(self, way):
        return np.array([way.number])

    def cables_of(self, way):
        return frozenset({way.number % len(UPS)})


EVEN = np.array([-0.004, -0.003, -0.001, 0.0, 0.0, 0.001, 0.003, 0.004])


def named(ways):
    return [way.number for way in ways.crowded(np.ones(16, np.bool_), surely_slow=True)]


def test_paths_down_are_slower_than_paths_up_and_none_of_them_is_out_of_its_kind():
    assert named(FlowPaths(EVEN, 0.03 + EVEN)) == []


@pytest.mark.parametrize("leaf", [1, 6])
def test_a_path_up_is_out_of_its_kind_that_is_as_slow_as_every_path_down(leaf):
    up = EVEN.copy()
    up[leaf] += 0.04
    assert named(FlowPaths(up, 0.03 + EVEN)) == [leaf]


def test_a_cable_that_is_slow_in_both_directions_is_named_where_neither_alone_would_be():
    up, down = EVEN.copy(), 0.03 + EVEN
    up[3], down[3] = 0.02, 0.051
    assert named(FlowPaths(up, down)) == [8 + 3]
    down[3], down[4] = down[4], down[3]
    assert named(FlowPaths(up, down)) == []


OWN, OTHER = 0, 1


class TwoPaths(SharedPaths):
    """Twenty messages over one path, of which the last eight cross another one, too, and are 0.4
    slower. The others are `slower`, of scatter `sigma`."""

    def __init__(self, slower=0.0, sigma=0.01, n_judged=20, *, is_inner=True):
        self._limits = thresholds()
        crossed = np.ones((20, 2))
        crossed[:12, OTHER] = 0
        self._crossings = SimpleNamespace(stages=[(0,), (2,)], by_stage=csr_matrix(crossed))
        self._network = SimpleNamespace(between_switches=np.array([True, True, is_inner]))
        self._judged = np.arange(20) >= 20 - n_judged
        self._against = SimpleNamespace(sigma=np.full(20, sigma))
        self._slower = np.where(crossed[:, OTHER] > 0, 0.4, slower)


def slows_only_some(paths, rows=20):
    return paths.is_slow_for_some(np.arange(20 - rows, 20), 0.4)


def test_a_path_whose_messages_are_slow_by_another_path_only_is_not_slow_itself():
    assert slows_only_some(TwoPaths())
    assert slows_only_some(TwoPaths(0.02))


def test_a_path_whose_every_message_is_slow_is_slow():
    assert not slows_only_some(TwoPaths(0.4))
    assert not slows_only_some(TwoPaths(0.25)), "more than half of what it costs"
    assert not slows_only_some(TwoPaths(0.15)), "less than half, and far from normal"


def test_noise_that_hides_half_of_a_slowness_lets_no_path_off():
    """The standard error of a median of twelve is 1.25 sigma / 3.46; six of them at 0.05: 0.11."""
    assert slows_only_some(TwoPaths(0.05, sigma=0.05))
    assert not slows_only_some(TwoPaths(0.15, sigma=0.05))


def test_too_few_messages_apart_from_another_path_let_no_path_off():
    assert thresholds().crowded_readings == 12
    assert not slows_only_some(TwoPaths(), rows=19)
    assert not slows_only_some(TwoPaths(n_judged=19))


def test_a_slow_cable_of_a_host_is_no_other_path():
    assert not slows_only_some(TwoPaths(is_inner=False))


class OfKind(SharedPaths):
    """Paths up and down of some leaves, as slow as these; the first leaf is accused."""

    def __init__(self, up, down):
        self._limits = thresholds()
        values, n = np.array([*up, *down]), len(up)
        climbs = np.repeat([1, -1], n)
        ones = np.ones(2 * n)
        delivered = Delivered(np.arange(2 * n), ones, climbs, values, 0.003 * ones)
        mine = np.arange(2 * n) % n == 0
        self.told = delivered, mine, ones > 0

    def _kind_of(self, candidate, rows):
        return self.told


ANY_ROWS = np.ones(1, np.bool_)


@pytest.mark.parametrize(
    ("others", "mixed"),
    [
        ((0.0, 0.01, 0.02), False),  # 0.15 is out of its kind: that tells.
        ((0.0, 0.03, 0.25), True),
        ((0.12, 0.1, 0.25), False),  # 0.035 beyond the fastest quarter: nothing is sure.
    ],
)
def test_of_few_paths_the_fastest_quarter_tells_which_are_slow(others, mixed):
    paths = OfKind((0.15, *others), (0.15, *others))
    assert paths.is_mixed(0, 0.15, ANY_ROWS) is mixed


@pytest.mark.parametrize(("down", "usual"), [(0.03, True), (0.2, False)])
def test_a_path_as_slow_as_the_fastest_in_both_directions_is_usual(down, usual):
    paths = OfKind((0.03, 0.03, 0.2), (down, 0.02, 0.25))
    assert paths.is_usual(0, 0.04, ANY_ROWS) is usual
