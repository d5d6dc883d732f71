"""How far a planted fault shows, before anything is judged."""
# mypy: disable-error-code="no-untyped-def"

from dataclasses import replace

import numpy as np
import pytest
from benches.check_kinds import When, cable
from benches.check_visibility import (
    alike_of,
    common_to,
    crossing_rows,
    met_by,
    scatter,
    seen_of,
    slowness,
)
from tests.benches.check_wiring import NODE, OTHER, UP, UPLINK, crossed


def test_a_cable_is_crossed_by_the_readings_whose_paths_hold_it():
    crossings = crossed([("n1", "n3"), ("n1", "n4"), ("n1", "n2")])
    rows = crossing_rows(crossings, replace(UPLINK, things=frozenset({UP})))
    readings = crossings.readings
    # To n4 by spine 1; from n3 and n4 back to n1 by spine 2; a latency goes both ways.
    assert [(readings.name(row), int(readings.metric[row])) for row in rows.tolist()] == [
        (("n1", "n4"), 0),
        (("n1", "n4"), 1),
    ]


def test_a_node_of_several_rails_is_crossed_by_every_reading_of_its_ranks():
    crossings = crossed([("n1:0", "n3:4"), ("n1:1", "n3:5"), ("n2:2", "n4:6")], hcas=2)
    assert crossing_rows(crossings, NODE).size == 6


def test_a_fault_counts_by_its_largest_effect_on_a_reading_of_its_own():
    crossings = crossed([("n1", "n3"), ("n1", "n4"), ("n1", "n2")])
    errors = np.zeros(len(crossings.readings))
    of_both = crossing_rows(crossings, UPLINK)
    errors[of_both] = 50.0
    own = np.setdiff1d(crossing_rows(crossings, NODE), of_both)
    errors[own[0]] = 2.9
    of_uplink, of_node = seen_of(crossings, [UPLINK, NODE], errors)
    assert (of_uplink.errors, of_uplink.identifiable) == (0.0, False)  # all its readings are n1's
    assert (of_node.errors, of_node.identifiable) == (2.9, False)
    errors[own[0]] = 3.1
    assert seen_of(crossings, [UPLINK, NODE], errors)[1].identifiable


def test_a_fault_by_two_to_three_errors_is_counted_apart_if_it_can_be_located():
    """A flapping cable between one pair is no other thing than the pair's nodes."""
    crossings = crossed([("n1", "n3"), ("n2", "n3"), ("n1", "n4")])
    flapping = replace(UPLINK, when=When.AT_TIMES, share=0.5)
    mine = crossing_rows(crossings, flapping)

    def seen(planted, rows, size):
        errors = np.zeros(len(crossings.readings))
        errors[rows] = size
        (found,) = seen_of(crossings, [planted], errors)
        return found

    assert [seen(flapping, mine, size).is_faint for size in (1.9, 2.1, 3.0, 3.1)] == [
        *(False, True, True, False)
    ]
    assert not seen(flapping, mine[:1], 2.5).is_faint
    assert seen(UPLINK, mine[:1], 2.5).is_faint
    assert seen(flapping, mine, 2.5).n_beyond == 0
    assert not seen(flapping, mine, 2.5).identifiable


def test_a_node_and_its_only_cable_are_alike_and_another_node_is_not():
    crossings = crossed([("n1", "n3"), ("n2", "n4"), ("n1", "n4")])
    alike = alike_of(crossings, NODE, np.array([0, 1]))
    assert {("node", ("n1",)), cable("n1/h0[1]", "leaf-1[1]")} <= alike
    assert ("node", ("n4",)) not in alike


def rows_of(crossings, a, b, metric=1):
    """The readings of a metric from a to b."""
    readings = crossings.readings
    return np.array(
        [
            row
            for row in range(len(readings))
            if readings.name(row) == (a, b) and readings.metric[row] == metric
        ]
    )


def test_a_dead_cable_is_not_distinguished_from_one_that_is_slow_at_the_same_moments():
    crossings = crossed([("n1", "n4"), ("n2", "n3")], together=True)
    there, meanwhile = rows_of(crossings, "n1", "n4"), rows_of(crossings, "n2", "n3")
    assert OTHER in met_by(crossings, there, meanwhile)
    # Slow by itself, too: then the other is not to blame.
    alone = rows_of(crossings, "n4", "n1")
    assert met_by(crossings, np.concatenate([there, alone]), meanwhile) == frozenset()
    assert met_by(crossings, there, np.zeros(0, np.int64)) == frozenset()


def test_without_more_pairs_two_nodes_that_met_only_each_other_are_alike():
    alike = alike_of(crossed([("n1", "n3"), ("n2", "n4")]), NODE, np.array([0]))
    assert ("node", ("n3",)) in alike


def test_slowness_is_positive_for_more_time_and_for_less_bandwidth():
    before = slowness(np.array([0, 1]), np.array([2.0, 800.0]))
    after = slowness(np.array([0, 1]), np.array([4.0, 400.0]))
    assert after - before == pytest.approx(np.log([2.0, 2.0]))


def test_scatter_of_routing_is_that_of_one_survey():
    draws = np.random.default_rng(1)
    one, other = draws.normal(0, 0.02, 20_000), draws.normal(0, 0.02, 20_000)
    found = scatter(np.zeros(20_000, np.int64), one, other)
    assert found[0] == pytest.approx(0.02, rel=0.03)


def test_what_comes_and_goes_is_located_once_slow_readings_have_nothing_else_in_common():
    crossings = crossed([("n1", "n3"), ("n2", "n3"), ("n1", "n4")])
    flapping = replace(UPLINK, when=When.AT_TIMES, share=0.5)
    mine = crossing_rows(crossings, flapping)
    assert len({crossings.readings.unordered(row) for row in mine.tolist()}) > 1
    errors = np.zeros(len(crossings.readings))
    errors[mine[:1]] = 9.0
    (once,) = seen_of(crossings, [flapping], errors)
    assert (once.errors, once.is_located) == (9.0, False)
    ends = {("node", (name,)) for name in crossings.readings.name(mine[0])}
    assert ends <= common_to(crossings, mine[:1])
    assert not ends <= common_to(crossings, mine)


def test_what_comes_and_goes_must_be_slow_more_often_than_noise_makes_it():
    pairs = [(a, b) for a in ("n1", "n2") for b in ("n3", "n4")]
    crossings = crossed(pairs)
    flapping = replace(UPLINK, when=When.AT_TIMES, share=0.5)
    errors = np.zeros(len(crossings.readings))
    errors[crossing_rows(crossings, flapping)] = 9.0
    located = [seen_of(crossings, [flapping], errors, share)[0].is_located for share in (0.01, 0.9)]
    assert located == [True, False]


def test_exchanged_cables_are_located_where_most_readings_point_at_them():
    """By the tables most messages over them must be slow, and most slow ones cross them."""
    crossings = crossed([("n1", "n4"), ("n2", "n4"), ("n1", "n2"), ("n1", "n3")])
    swapped = replace(UPLINK, swapped=("leaf-1[3]", "leaf-2[4]"))
    mine = crossing_rows(crossings, swapped)
    sending = mine[crossings.readings.metric[mine] == 1]
    others = np.setdiff1d(np.arange(len(crossings.readings)), mine)

    def is_located(slow):
        errors = np.zeros(len(crossings.readings))
        errors[slow] = 9.0
        return seen_of(crossings, [swapped], errors)[0].is_located

    assert sending.size == 3
    assert is_located(sending)
    assert is_located(sending[:2])
    assert not is_located(sending[:1])
    assert not is_located(np.concatenate([sending, others[:4]]))
    assert not is_located(np.zeros(0, np.int64))
    assert not is_located(
        np.concatenate([mine[crossings.readings.metric[mine] == 0][:1], others[:2]])
    )
