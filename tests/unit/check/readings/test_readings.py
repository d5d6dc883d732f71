"""Samples become one row for each value of each pair."""

import numpy as np

from weft.bench.model import Pair, Sample, State
from weft.check.readings.readings import Metric, readings_of


def sample(metrics: dict[str, float], *, trial: str = "t1", state: State = State.OK) -> Sample:
    pair = Pair("n2", "n1", 3, 5)
    return Sample(trial, 1, "pairs", 8, metrics, 10, 0.0, pair=pair, state=state)


def test_a_bandwidth_goes_from_its_sender_and_a_latency_in_both_directions() -> None:
    both = {"bandwidth_ab_mb_s": 10.0, "bandwidth_ba_mb_s": 20.0, "bandwidth_mb_s": 10.0}
    rows = readings_of([sample({"latency_us": 1.5}), sample(both)])
    named = [(Metric.LATENCY, "n1", "n2", 1.5), (Metric.BANDWIDTH, "n2", "n1", 10.0)]
    named.append((Metric.BANDWIDTH, "n1", "n2", 20.0))
    metrics = tuple(Metric)
    assert [
        (metrics[rows.metric[i]], *rows.name(i), rows.value[i]) for i in range(len(rows))
    ] == named
    assert rows.backwards.tolist() == [False, False, True]
    assert set(rows.round.tolist()) == {3}
    assert set(rows.n_concurrent.tolist()) == {5}


def test_a_tool_s_one_figure_is_one_reading() -> None:
    rows = readings_of([sample({"bandwidth_mb_s": 10.0})])
    assert (len(rows), rows.name(0)) == (1, ("n2", "n1"))


def test_both_directions_at_once_are_a_metric_of_their_own() -> None:
    rows = readings_of([sample({"bidirectional_mb_s": 48.0})])
    assert rows.metric.tolist() == [Metric.BIDIRECTIONAL.code]


def test_what_supports_no_verdict_is_left_out() -> None:
    bad = [sample({"latency_us": 1.0}, state=state) for state in State if state is not State.OK]
    assert len(readings_of(bad)) == 0


def test_a_moment_is_a_trial_a_round_a_metric_and_a_direction() -> None:
    both = {"bandwidth_ab_mb_s": 10.0, "bandwidth_ba_mb_s": 20.0}
    rows = readings_of([sample(both), sample(both), sample(both, trial="t2")])
    first, back, again, back_again, later, _ = rows.moment.tolist()
    assert first == again
    assert back == back_again
    assert len({first, back, later}) == 3
    assert np.array_equal(rows.of_trial("t2"), [4, 5])


def test_units_are_those_of_the_metric() -> None:
    assert [metric.unit for metric in Metric] == ["us", "MB/s", "MB/s", "GB/s"]
