"""What is measured again, and why."""
# mypy: disable-error-code="no-untyped-def"

from dataclasses import replace
from itertools import combinations
from random import Random

import numpy as np

from weft.bench.model import Pair, Sample
from weft.check.readings.readings import Metric
from weft.check.suspects.crowding.partner_test import round_of
from weft.check.suspects.follow_up import follow_up
from weft.check.suspects.queueing import waiting
from weft.check.suspects.survey import survey_of
from weft.check.thresholds import thresholds

UP_LINK = ("leaf-02[6]", "spine-02[2]")


def plan(samples, tree, most_rounds=None, **limits):
    survey = survey_of(samples, tree, replace(thresholds(), **limits))
    return follow_up(survey, 1, most_rounds)


def crossed(tree, pair):
    there, back = tree.paths([pair, pair[::-1]])
    return set(there) | set(back)


def test_a_healthy_survey_asks_for_nothing(make_tree, make_fabric):
    tree = make_tree(4, 4, 4)
    asked = plan(make_fabric(tree).all_pairs(), tree)
    assert asked.alone == asked.together == ()


def test_tests_of_a_cable_cross_it_and_have_different_partners(make_tree, make_fabric, make_slow):
    tree = make_tree(4, 4, 4)
    slow = make_slow(0.5, ports=frozenset(UP_LINK), metrics=("bandwidth",))
    asked = plan(
        make_fabric(tree, [slow]).all_pairs(),
        tree,
        tests_a_suspect=3,
        times_again=1,
        path_repeats=0,
        control_pairs=2,
    )
    tests, controls = asked.alone[:3], asked.alone[3:]
    assert all(len(pairs) == 1 and set(UP_LINK) & crossed(tree, pairs[0]) for pairs in tests)
    assert not any(set(UP_LINK) & crossed(tree, pairs[0]) for pairs in controls)
    assert len({pairs[0] for pairs in tests}) == 3
    assert len({node for pairs in tests for node in pairs[0]}) > 3


def test_everything_is_measured_as_often_as_asked(make_tree, make_fabric, make_slow):
    tree = make_tree(4, 4, 4)
    samples = make_fabric(tree, [make_slow(0.5, node="n003")]).all_pairs()
    once, twice = plan(samples, tree, times_again=1), plan(samples, tree, times_again=2)
    assert twice.alone == once.alone * 2
    assert twice.together == once.together * 2


def test_a_round_of_the_survey_with_a_slow_reading_comes_again(make_tree, make_fabric, make_slow):
    tree = make_tree(4, 4, 4)
    asked = plan(make_fabric(tree, [make_slow(0.5, node="n003")]).all_pairs(), tree, times_again=1)
    (again,) = asked.together
    assert any("n003" in pair for pair in again)
    assert len(again) >= 7  # all pairs of 16 nodes that met in that round


def test_tests_of_two_suspects_keep_off_the_other(make_tree, make_fabric, make_slow):
    tree = make_tree(4, 4, 4)
    faults = [make_slow(0.5, node="n003"), make_slow(0.5, node="n012")]
    asked = plan(make_fabric(tree, faults).all_pairs(), tree, control_pairs=0, pairs_again=0)
    both = [p for pairs in asked.alone for p in pairs if set(p) == {"n003", "n012"}]
    assert asked.alone
    assert not both


def test_a_cable_faster_than_a_node_is_tested_by_as_many_flows_as_fill_it(
    make_tree, make_fabric, make_slow
):
    tree = make_tree(4, 4, 4)
    for link in tree.document["links"]:
        if "/" not in link["a"]:
            link["bits_per_s"] *= 2
    slow = make_slow(0.5, ports=frozenset(UP_LINK), metrics=("bandwidth",))
    asked = plan(
        make_fabric(tree, [slow]).all_pairs(),
        tree,
        tests_a_suspect=2,
        times_again=1,
        path_repeats=0,
        control_pairs=0,
    )
    for pairs in asked.alone:
        assert len(pairs) == 2
        assert len({node for pair in pairs for node in pair}) == 4
        assert all(set(UP_LINK) & crossed(tree, pair) for pair in pairs)


def test_a_slow_pair_that_nothing_explains_is_measured_once_more_than_all_else(
    make_tree, make_fabric
):
    """Two disturbed readings of one of many pairs are no wonder."""
    from dataclasses import replace

    tree = make_tree(4, 4, 4)
    samples = make_fabric(tree, noise=0.01).all_pairs()
    place = next(i for i, s in enumerate(samples) if "latency_us" in s.metrics)
    samples[place] = replace(samples[place], metrics={"latency_us": 30.0})
    pair = samples[place].pair
    asked = plan(samples, tree, times_again=1, control_pairs=1)
    assert asked.alone.count(((pair.a, pair.b),)) == 2
    assert len(asked.alone) == 3
    limited = plan(samples, tree, times_again=1, control_pairs=1, most_rounds=2)
    assert len(limited.alone) == 2


def test_a_slow_pair_that_there_is_no_room_for_is_not_measured_once_alone(
    make_tree, make_fabric, make_slow
):
    """One reading alone tells nothing of a pair, and takes the round of another."""
    from dataclasses import replace

    tree = make_tree(4, 4, 4)
    samples = make_fabric(tree, [make_slow(0.5, node="n003")], noise=0.01).all_pairs()
    place = next(
        i
        for i, s in enumerate(samples)
        if "latency_us" in s.metrics and "n003" not in (s.pair.a, s.pair.b)
    )
    samples[place] = replace(samples[place], metrics={"latency_us": 30.0})
    pair = ((samples[place].pair.a, samples[place].pair.b),)
    assert plan(samples, tree, times_again=2).alone.count(pair) == 3
    limited = plan(samples, tree, times_again=2, most_rounds=5)
    assert limited.alone == limited.alone[:2] * 2


def test_a_limit_on_rounds_is_kept(make_tree, make_fabric, make_slow):
    """Alone it is kept by less of everything, twice; of the rounds of the survey the first stay."""
    tree = make_tree(4, 4, 4)
    faults = [make_slow(0.5, node="n003"), make_slow(0.5, node="n012")]
    samples = make_fabric(tree, faults).all_pairs()
    whole, limited = (
        plan(samples, tree, times_again=2),
        plan(samples, tree, times_again=2, most_rounds=4),
    )
    assert limited.alone == whole.alone[:2] * 2
    least = plan(samples, tree, times_again=2, most_rounds=1)
    assert least.alone == whole.alone[:1] * 2
    assert len(whole.together) > 1
    assert least.together == whole.together[:1]


def test_messages_of_a_cable_out_of_use_come_again_where_nothing_slow_is_before_them(
    make_tree, make_fabric, make_slow
):
    """A slow node and a dead cable: rounds in which both are slow would do for both, and tell
    nothing of the cable."""
    planned = make_tree(4, 4, 2, routed=True)
    fabric = make_fabric(
        make_tree(4, 4, 2, down=[(3, 2)]), [make_slow(0.6, node="n011")], noise=0.02, collide=True
    )
    survey = survey_of(fabric.all_pairs(), planned, thresholds())
    *_, out_of_use = survey.slow_or_out_of_use
    assert out_of_use not in survey.explanation.suspects
    asked = follow_up(survey, seed=1)
    nodes = [s for s in survey.explanation.suspects if not survey.crossings.is_path(s.best)]
    behind = waiting(survey.crossings, np.flatnonzero(survey.explainer.predicted(nodes) > 0))
    free = np.setdiff1d(survey.candidates.rows(out_of_use.best), behind)
    free = free[survey.normed.slower[free] > out_of_use.slower[Metric.BANDWIDTH] / 2]
    telling = {round_of(survey, number) for number in survey.readings.round[free].tolist()}
    assert telling & set(asked.together)


def ranks_of_one_host(n, slow, one_at_a_time):
    """Bandwidths of all pairs of n ranks of one host, with 2 % of noise; `slow` has half of it."""
    pairs = list(combinations(range(n), 2))
    draws = Random(1)
    return [
        Sample(
            trial="t001-survey",
            repeat=1,
            benchmark="pairs",
            size_bytes=2**20,
            metrics={"bandwidth_mb_s": draws.gauss(1000.0, 20.0) / (1 + (slow in pair))},
            iterations=20,
            started_unix_s=0.0,
            pair=Pair(
                *(f"host:{rank}" for rank in pair),
                round=place if one_at_a_time else pair[0] + pair[1],
                n_concurrent=1,
            ),
        )
        for place, pair in enumerate(pairs)
    ]


def test_a_rank_of_one_host_is_tested_with_other_ranks_of_it():
    samples = ranks_of_one_host(8, slow=3, one_at_a_time=True)
    asked = plan(samples, None, times_again=1, control_pairs=2, pairs_again=0)
    assert [len(pairs) for pairs in asked.alone] == [1] * 6
    tested = [set(pairs[0]) for pairs in asked.alone]
    assert [("host:3" in pair) for pair in tested] == [True] * 4 + [False] * 2
    assert len(set().union(*tested[:4])) == 5  # rank 3 and four partners
    assert asked.together == ()


def test_rounds_of_one_pair_are_no_tests_under_load():
    assert plan(ranks_of_one_host(8, slow=3, one_at_a_time=True), None).together == ()
    assert plan(ranks_of_one_host(8, slow=3, one_at_a_time=False), None).together != ()


def test_tests_of_a_path_come_again_more_often_than_those_of_a_node(
    make_tree, make_fabric, make_slow
):
    """Traffic of others is there in most moments, and shows by the moments without it."""
    tree = make_tree(4, 4, 4)
    limits = {"tests_a_suspect": 1, "times_again": 2, "path_repeats": 4, "control_pairs": 0}
    cable = make_slow(0.5, ports=frozenset(UP_LINK), metrics=("bandwidth",))
    for slow, times in ((cable, 6), (make_slow(0.5, node="n003"), 2)):
        asked = plan(make_fabric(tree, [slow]).all_pairs(), tree, **limits)
        assert len(asked.alone) == times
        assert len(set(asked.alone)) == 1


def test_a_node_slow_now_and_then_is_measured_alone_with_partners_under_adaptive_routing(
    make_tree, make_fabric
):
    tree, draws = make_tree(4, 4, 4), Random("now and then")
    samples = [
        replace(one, metrics={name: 2 * value for name, value in one.metrics.items()})
        if "latency_us" in one.metrics
        and "n006" in (one.pair.a, one.pair.b)
        and draws.random() < 0.3
        else one
        for one in make_fabric(tree, noise=0.01).all_pairs()
    ]
    survey = survey_of(samples, tree, thresholds(), adaptive=True)
    assert survey.explanation.suspects == ()
    alone = [pairs[0] for pairs in follow_up(survey, 1).alone if len(pairs) == 1]
    with_it = [pair for pair in alone if "n006" in pair]
    assert len({other for pair in with_it for other in pair} - {"n006"}) >= 8


def test_a_node_that_is_late_is_measured_with_one_at_its_switch(make_tree, make_fabric, make_slow):
    tree = make_tree(12, 4, 4)
    late = make_slow(0.8, node="n003", metrics=("latency",))
    slow = make_slow(0.8, node="n003", metrics=("bandwidth",))
    of_late, of_slow = (
        plan(make_fabric(tree, [one], noise=0.01).all_pairs(), tree).alone for one in (late, slow)
    )
    assert "n003" in of_late[0][0]
    assert len(tree.paths(of_late[0])[0]) == 2
    assert len(of_late) == len(of_slow)
