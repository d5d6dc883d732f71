"""From samples to readings."""

from weft.bench.model import Pair, Sample, State
from weft.diagnose.readings import Metric, endpoints, readings_of

LARGE = {"bandwidth_ab_mb_s": 100.0, "bandwidth_ba_mb_s": 90.0, "bandwidth_mb_s": 90.0}


def sample(metrics, pair=("b", "a"), repeat=1, state=State.OK):
    where = Pair(*pair, 0, 1) if pair else None
    return Sample("t", repeat, "pairs", 8, metrics, 10, 0.0, state=state, pair=where)


def test_a_large_sample_gives_one_reading_a_direction():
    found = {(r.a, r.b): r.value for r in readings_of([sample(LARGE)])}
    assert found == {("b", "a"): 100.0, ("a", "b"): 90.0}


def test_a_latency_has_no_direction():
    (reading,) = readings_of([sample({"latency_us": 1.5})])
    assert reading.key == (Metric.LATENCY, "a", "b")
    assert reading.flow.both_ways


def test_repeats_are_reduced_to_a_measured_median():
    repeats = [sample({"latency_us": v}, repeat=i) for i, v in enumerate((1.0, 9.0, 2.0))]
    assert [r.value for r in readings_of(repeats)] == [2.0]
    assert [r.value for r in readings_of(repeats[:2])] == [1.0]


def test_samples_without_a_pair_or_that_failed_give_none():
    assert readings_of([sample(LARGE, pair=None), sample(LARGE, state=State.UNTREATED)]) == ()


def test_endpoints_come_in_order_of_appearance():
    assert endpoints([sample(LARGE), sample(LARGE, pair=("c", "a"))]) == ("b", "a", "c")
