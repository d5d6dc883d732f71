"""A stretch in which everything was slow, in rounds that fill single ways by themselves."""
# mypy: disable-error-code="no-untyped-def"

from types import SimpleNamespace

import numpy as np
import pytest

from weft.check.readings.readings import Metric
from weft.check.suspects import drift
from weft.check.suspects.drift import Episode
from weft.check.thresholds import thresholds

TRIAL = ("survey", 1)


@pytest.mark.parametrize(
    ("metric", "first", "stays"),
    [
        (Metric.BIDIRECTIONAL, 4, False),
        (Metric.BIDIRECTIONAL, 3, True),
        (Metric.LATENCY, 4, True),
        (Metric.BANDWIDTH, 4, True),
    ],
)
def test_only_both_directions_at_once_fill_the_paths_of_such_rounds(
    monkeypatch, metric, first, stays
):
    """Rounds 4 and 5 fill ways by themselves."""
    episode = Episode(TRIAL, metric, first, 5, 8, 0.5, 30.0)
    monkeypatch.setattr(drift, "episodes", lambda *_: (episode,))
    readings = SimpleNamespace(
        trials=(TRIAL,), trial=np.zeros(6, np.int64), round=np.array([0, 1, 2, 3, 4, 5])
    )
    shared = SimpleNamespace(by_itself=(np.array([4, 5]), np.array([0, 0])))
    survey = SimpleNamespace(readings=readings, shared=shared)
    assert drift.spoiled(survey, thresholds()) == ((episode,) if stays else ())
