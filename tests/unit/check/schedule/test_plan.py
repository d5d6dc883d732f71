"""What a check costs and covers, said before: against the twin's own clock, and by hand."""

from dataclasses import replace

import pytest
from tests.unit.check.schedule.fields import OPTIONS, cost_of, field_of, generated

from weft.check.schedule.cost import Cost, Effort, effort_of, figures
from weft.check.schedule.node_group import group_of
from weft.check.schedule.plan import plan_check, survey_share
from weft.check.schedule.ranks import ranks_of_nodes
from weft.check.schedule.schedule import Field, schedule_of
from weft.check.schedule.scheme import Scheme, SchemeKind


def unknown(n):
    ranks = ranks_of_nodes(tuple(f"n{i:03d}" for i in range(n)), 1, None)
    return Field(ranks, None, None, 1)


def test_a_round_takes_windows_each_direction_and_round_trips_and_what_is_around():
    """1 MiB messages, 8 a window, at 98 of 100 Gb/s: 684.8 us and a round trip of 4 us; 22 windows
    each way; 220 round trips. Around: contact 1 ms; 4 barriers of 3 steps of 2 us; 4 pairs, each
    3 series of 4.3 us and 33 + 20 + 20 times of 38 ns."""
    field = field_of(generated(nodes=8, per_leaf=4, spines=4))
    pairs = schedule_of(Scheme(SchemeKind.RANDOM, 1), replace_seed(field)).rounds[:1]
    cost = cost_of(field)
    window_s = 8 * 2**20 * 8 / 98e9 + 4e-6
    assert cost.sending_s(pairs[0]) == pytest.approx(44 * window_s + 220 * 4e-6)
    around_us = 1000 + 4 * 3 * 2 + len(pairs[0]) * (3 * 4.3 + 73 * 0.038)
    assert cost.around_s(pairs[0]) == pytest.approx(around_us * 1e-6)


def replace_seed(field):
    return replace(field, seed=3)


def test_both_directions_at_once_are_one_more_series():
    field = field_of(generated(nodes=8, per_leaf=4, spines=4))
    three = cost_of(field, phases=["latency", "bandwidth", "bidirectional"])
    assert three.effort.n_series == cost_of(field).effort.n_series + 1
    assert cost_of(field, phases=["latency"]).effort.n_large == 0


@pytest.mark.parametrize(
    ("platform", "n_nodes", "n_rails", "scheme"),
    [
        ("fat-tree", 16, 1, Scheme(SchemeKind.FULL)),
        ("azure-ndv4", 6, 8, Scheme(SchemeKind.COVER, 2)),
        ("frontera", 64, 1, Scheme(SchemeKind.COVER, 1)),
    ],
)
def test_the_estimate_is_near_the_twin_s_own_clock(platform, n_nodes, n_rails, scheme):
    """Within a fifth of the time that the simulated rounds take; a twin has ideal barriers, no
    first contact and no rank 0 to send times to, so what is around is left out."""
    pytest.importorskip("weft._engine", reason="the engine is not built")
    from weft.bench.model import Launch, Trial
    from weft.bench.twin.backend import TwinBackend, simulate
    from weft.catalog.load import platform as platform_of
    from weft.topology.fabric import Fabric

    twin = TwinBackend(platform_of(platform), n_nodes)
    field = field_of(Fabric.from_document(twin.fabric_document), n_rails)
    rounds = schedule_of(scheme, field).rounds[:6]
    options = {**OPTIONS, "rounds": [pairs.tolist() for pairs in rounds]}
    trial = Trial("t", "pairs", (8, 2**20), twin.nodes, n_rails, options=options)
    document = twin.scenario(Launch(trial, 1, 0))
    step = document["work"][0]
    taken_s = simulate(document)["end_ps"] * 1e-12
    effort = effort_of(
        {**OPTIONS, "iterations": step["iterations"], "warmup": step["warmup"]}, 2**20
    )
    cost = Cost(field.ranks, field.paths, effort)
    assert sum(cost.sending_s(pairs) for pairs in rounds) == pytest.approx(taken_s, rel=0.2)


def test_without_a_rate_the_time_limit_bounds_a_round():
    """A limit of 0.1 s: five windows at the limit, and five before them (three to find out, two to
    warm up), each way; 200 round trips, and 23 before them."""
    field = unknown(4)
    cost = cost_of(field, max_seconds_per_size=0.1)
    pairs = schedule_of(Scheme(SchemeKind.FULL), field).rounds[0]
    assert cost.is_bound
    assert cost.sending_s(pairs) == pytest.approx(2 * 0.2 + 0.1 * (1 + 23 / 200))


def test_a_small_fabric_is_measured_in_full():
    plan = plan_check(*small())
    assert plan.schedule.words == "all pairs"
    assert plan.most_follow_up_rounds is None
    assert (
        plan.text.splitlines()[0] == "plan     all pairs: 120 of 120 pairs of 16 nodes in 16 rounds"
    )
    assert plan.text.splitlines()[1].startswith("         16 cables between switches: each filled ")


def small():
    field = field_of(generated(nodes=16, per_leaf=4, spines=4))
    return field, cost_of(field)


@pytest.mark.parametrize("budget_s", [0.05, 0.1, 0.3, 1.0, 10.0])
def test_what_is_planned_fits_three_quarters_of_the_budget(budget_s):
    plan = plan_check(*small(), budget_s=budget_s)
    assert plan.seconds <= 0.75 * budget_s
    round_s = plan.seconds / len(plan.schedule)
    # Two follow-ups of one round each are the least.
    n = plan.most_follow_up_rounds
    assert n == 1 or plan.seconds + 2 * n * round_s <= budget_s
    assert plan.seconds + 2 * (n + 1) * round_s > budget_s, "one more would not fit"


def test_a_larger_budget_measures_no_less():
    pairs = [plan_check(*small(), budget_s=s).schedule.n_pairs for s in (0.05, 0.1, 0.3, 1.0)]
    assert pairs == sorted(pairs)
    assert pairs[-1] == 120


def test_a_budget_that_bears_a_cover_gets_one_with_fewer_iterations_if_need_be():
    field, cost = small()
    cover = schedule_of(Scheme(SchemeKind.COVER, 3), field)
    light = Cost(field.ranks, field.paths, cost.effort.lighter())
    plan = plan_check(field, cost, budget_s=light.seconds(cover.rounds) / 0.75 * 1.02)
    assert plan.coverage.by_cable.min() >= 3
    assert plan.options["iterations"] == 10


def test_a_budget_for_hardly_anything_measures_a_round_and_says_so():
    plan = plan_check(*small(), budget_s=1e-6)
    assert len(plan.schedule) == 1
    assert "the first of" in plan.text
    assert plan.to_record()["rounds_asked"] > 1


def test_a_named_schedule_is_cut_to_the_budget():
    field, cost = small()
    plan = plan_check(field, cost, Scheme(SchemeKind.FULL), budget_s=0.1)
    round_s = cost.seconds(schedule_of(Scheme(SchemeKind.FULL), field).rounds) / 16
    assert len(plan.schedule) == int(0.075 / round_s)
    assert "the first of 16 that fit the budget" in plan.text


def test_without_a_fabric_random_matchings_fit_the_budget():
    field = unknown(300)
    plan = plan_check(field, cost_of(field, max_seconds_per_size=0.1), budget_s=5.0)
    assert plan.schedule.words == "7 random matchings"
    assert plan.time_text.startswith("about ")
    # Five iterations of 1 MiB in 0.1 s.
    assert "pairs below 52 MB/s take longer" in plan.text
    assert plan.coverage.cables_text == "their cables are unknown (--fabric names them)"


@pytest.mark.parametrize(("switch", "first"), [(100, "all pairs"), (400, "every cable")])
def test_all_pairs_are_taken_only_where_they_fill_every_cable(switch, first):
    """One or two pairs at a time cross a cable four times as fast as a host: it is never full."""
    field = field_of(generated(nodes=24, per_leaf=6, spines=3, host=100, switch=switch))
    plan = plan_check(field, cost_of(field), budget_s=60.0)
    assert plan.schedule.words.startswith(first)
    assert plan.coverage.covers_all


def test_a_single_node_is_measured_even_where_it_would_rest():
    field = unknown(5)
    for seed in range(10):
        only = group_of("n003", field.ranks, None)
        one = replace(field, only=only, seed=seed)
        plan = plan_check(one, cost_of(one, max_seconds_per_size=0.1), budget_s=0.01)
        assert len(plan.schedule) == 1
        assert 3 in plan.schedule.rounds[0]


def test_without_a_rate_a_short_budget_lowers_the_kernel_s_time_limit():
    """16 rounds in 3.75 s, of which 16 x (1 ms, 4 barriers of 4 steps of 2 us, and 7.5 pairs x 15.7
    us) are around: 0.232 s a round; a limit of L costs L x (2 x 2 + 1 + 23 / 200)."""
    field = unknown(16)
    plan = plan_check(field, cost_of(field, max_seconds_per_size=0.1), budget_s=5.0)
    assert plan.schedule.words == "all pairs"
    around_s = 16 * (1000 + 4 * 4 * 2) * 1e-6 + 120 * (3 * 4.3 + 73 * 0.038) * 1e-6
    assert plan.options["max_seconds_per_size"] == pytest.approx(
        (3.75 - around_s) / 16 / (5 + 23 / 200)
    )
    assert plan.seconds == pytest.approx(3.75)


@pytest.mark.slow
def test_470_nodes_of_eight_rails_take_less_than_a_minute_and_every_cable_three_times():
    pytest.importorskip("weft._engine", reason="the engine is not built")
    from weft.bench.twin.backend import TwinBackend
    from weft.catalog.load import platform
    from weft.topology.fabric import Fabric

    twin = TwinBackend(platform("azure-ndv4"), 470)
    field = field_of(Fabric.from_document(twin.fabric_document), 8)
    plan = plan_check(field, cost_of(field))
    assert plan.seconds <= 60
    record = plan.to_record()
    assert record["cables_filled_at_least"] >= 3
    assert record["cables_not_filled"] == 0
    assert record["cables_between_switches"] + record["cables_beyond_reach"] == 15280 - 3760
    assert plan.schedule.n_pairs <= figures().most_pairs


def test_many_cables_of_few_hosts_are_filled_as_often_as_a_twin_bears_pairs():
    """120 leaves of 2 nodes with a cable up to each of 200 spines, one down to each node: 24,240
    ports, and a pair fills four. Twice is 12,120 pairs at least, three times 18,180; unasked, a
    twin computes 15,000."""
    field = field_of(generated(nodes=240, per_leaf=2, spines=200))
    plan = plan_check(field, replace(cost_of(field), simulated=True), budget_s=3600)
    assert plan.schedule.words.startswith("every cable twice")
    assert plan.coverage.by_cable.min() >= 2


def test_the_survey_leaves_a_quarter_of_a_budget():
    assert survey_share(60.0) == 45.0


def test_the_kernel_s_own_counts_are_the_default():
    effort = effort_of(OPTIONS, 2**20)
    assert effort == Effort(2**20, 8, (200, 20), (20, 2), has_latency=True, n_large=2)
    assert (effort.n_series, effort.n_times) == (3, 33 + 2 * 20)
