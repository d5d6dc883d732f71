"""A check that scattered too much says what it would not have seen."""

import math
from random import Random

import pytest

from weft.bench.model import Pair, Sample
from weft.check.schedule.rounds.matchings import reflections
from weft.check.suspects.survey import survey_of
from weft.check.thresholds import thresholds
from weft.check.trials import SURVEY
from weft.check.verdict.sensitivity import caveats


def latencies(noise: float) -> list[Sample]:
    draws = Random(1)
    return [
        Sample(
            SURVEY, 1, "pairs", 8, {"latency_us": draws.lognormvariate(1, noise)}, 20, 0.0, pair=at
        )
        for number, pairs in enumerate(reflections(16))
        for a, b in pairs.tolist()
        for at in [Pair(f"n{a:02d}", f"n{b:02d}", number, len(pairs))]
    ]


def said(noise: float) -> tuple[str, ...]:
    return caveats(survey_of(latencies(noise), None, thresholds()))


def test_a_quiet_run_has_nothing_to_say() -> None:
    assert said(0.02) == ()


def test_a_run_that_scatters_tells_what_it_would_not_see() -> None:
    (sentence,) = said(1.0)
    assert sentence.startswith("latency scatters by a factor of ")
    # 15 readings a node: 15 (d / 1)^2 / 2 = 22 gives d = 1.71, 5.5 times.
    factor = float(sentence.partition("less than ")[2].partition(" times")[0])
    assert math.log(factor) == pytest.approx(1.71, rel=0.25)
