"""Slow, unclear and normal within a hop class."""

import numpy as np
import pytest

from weft.diagnose.hopclass import HopClass
from weft.diagnose.readings import Metric, Reading
from weft.diagnose.slow import Mark, faster_population, norms, smallest_z
from weft.diagnose.thresholds import thresholds

FAR = HopClass(4, 200_000_000_000, "4 links apart")
NEAR = HopClass(2, 200_000_000_000, "2 links apart")
UNKNOWN = HopClass(None, None, "between hosts")


def readings(metric, values):
    return [Reading(metric, f"a{i}", f"b{i}", float(value), 8) for i, value in enumerate(values)]


def norm_of(values, metric=Metric.BANDWIDTH, hop_class=FAR):
    found = norms(readings(metric, values), [hop_class] * len(values), thresholds())
    return found.get((metric, hop_class))


def test_less_bandwidth_is_slow_and_more_is_not():
    norm = norm_of([100.0] * 50)
    assert [norm.mark(v) for v in (85.0, 93.0, 99.0, 300.0)] == [
        Mark.SLOW,
        Mark.UNCLEAR,
        Mark.NORMAL,
        Mark.NORMAL,
    ]


def test_more_latency_is_slow_and_less_is_not():
    norm = norm_of([2.0] * 50, Metric.LATENCY)
    assert [norm.mark(v) for v in (2.6, 2.2, 2.05, 0.5)] == [
        Mark.SLOW,
        Mark.UNCLEAR,
        Mark.NORMAL,
        Mark.NORMAL,
    ]


def test_a_difference_of_one_percent_is_never_slow_however_still_the_rest():
    assert norm_of([100.0] * 99 + [99.0]).mark(99.0) is Mark.NORMAL


def test_a_noisy_class_needs_a_larger_deviation():
    noisy = np.random.default_rng(1).normal(100, 8, 400)
    assert norm_of(noisy).mark(85.0) is not Mark.SLOW
    assert norm_of(noisy).mark(40.0) is Mark.SLOW


def test_the_norm_is_the_faster_population_when_half_is_slow():
    norm = norm_of([100.0] * 50 + [40.0] * 50)
    assert norm.expected == pytest.approx(100.0)
    assert norm.mark(40.0) is Mark.SLOW
    assert (norm.low, norm.high) == (pytest.approx(100.0), pytest.approx(100.0))


def test_a_few_fast_pairs_do_not_make_the_others_slow():
    norm = norm_of([100.0] * 90 + [200.0] * 10)
    assert norm.mark(100.0) is Mark.NORMAL


def test_without_a_fabric_two_populations_are_no_fault():
    values = [1.2] * 40 + [1.9] * 60
    norm = norm_of(values, Metric.LATENCY, UNKNOWN)
    assert {norm.mark(value) for value in values} == {Mark.NORMAL}


def test_one_population_is_not_cut_in_two():
    values = np.sort(np.random.default_rng(2).normal(0, 0.2, 500))
    assert faster_population(values, guard=0.1, largest_slow_share=0.75).size == values.size


def test_a_small_class_is_judged_with_others_of_its_rate_for_bandwidth_only():
    for metric, judged in ((Metric.BANDWIDTH, True), (Metric.LATENCY, False)):
        values = readings(metric, [100.0] * 24)
        classes = [FAR] * 20 + [NEAR] * 4
        found = norms(values, classes, thresholds())
        assert ((metric, NEAR) in found) is judged


def test_the_limit_grows_with_the_number_of_readings():
    limits = thresholds()
    assert smallest_z(1, limits) == limits.smallest_z
    assert smallest_z(100_000, limits) > smallest_z(1_000, limits) > limits.smallest_z
