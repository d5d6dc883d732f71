"""How often readings are disturbed is learnt from those that nothing explains."""

import numpy as np
import pytest

from weft.bench.model import Pair, Sample
from weft.check.readings.norms import Normed
from weft.check.readings.readings import Metric, Readings, readings_of
from weft.check.suspects.disturbance import shares
from weft.check.thresholds import thresholds


def readings(n: int, metric: Metric) -> Readings:
    pairs = [Pair("n1", "n2", number, 1) for number in range(n)]
    return readings_of(
        Sample("t", 1, "pairs", 8, {metric.value: 1.0}, 10, 0.0, pair=pair) for pair in pairs
    )


def learnt(n: int, n_slow: int, *, explained: int = 0, metric: Metric = Metric.LATENCY) -> float:
    """The share of `n` readings of which the first so many are ten deviations slow, and the first
    so many explained."""
    slower = np.where(np.arange(n) < n_slow, 0.1, 0.0)
    against = Normed((), np.zeros(n, np.int64), slower, np.full(n, 0.01))
    among = np.arange(n) >= explained
    found = shares(readings(n, metric), against, among, thresholds())
    others = np.delete(found, metric.code)
    assert set(others.tolist()) == {thresholds().disturbed_share}
    return float(found[metric.code])


@pytest.mark.parametrize("metric", list(Metric))
def test_one_more_than_was_seen(metric: Metric) -> None:
    assert learnt(99, 29, metric=metric) == pytest.approx(30 / 100)


def test_what_suspects_explain_is_not_counted() -> None:
    assert learnt(120, 40, explained=21) == pytest.approx(20 / 100)


def test_never_less_than_is_always_reckoned_with_and_never_more_than_half() -> None:
    assert learnt(1000, 0) == 0.02
    assert learnt(100, 90) == 0.5


def test_where_everything_is_explained_nothing_is_learnt() -> None:
    assert learnt(50, 50, explained=50) == 0.02


def test_readings_without_a_norm_tell_nothing() -> None:
    n = 60
    norm = np.where(np.arange(n) < 20, -1, 0)
    against = Normed((), norm, np.where(norm < 0, 1.0, 0.0), np.full(n, 0.01))
    found = shares(readings(n, Metric.LATENCY), against, np.ones(n, np.bool_), thresholds())
    assert found[Metric.LATENCY.code] == pytest.approx(1 / 41)
