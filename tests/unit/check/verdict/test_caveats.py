"""The limits of a check: what it would not have seen, and readings that belong to no component."""

import math
from dataclasses import replace
from random import Random

import pytest

from weft.bench.model import Pair, Sample
from weft.check.schedule.rounds.matchings import reflections
from weft.check.suspects.accusation import Standing, accuse_all
from weft.check.suspects.survey import survey_of
from weft.check.thresholds import thresholds
from weft.check.trials import SURVEY
from weft.check.verdict.caveats import of_scatter, of_unattributed
from weft.check.verdict.verdict import marks_of


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
    return of_scatter(survey_of(latencies(noise), None, thresholds()))


def test_a_quiet_run_has_nothing_to_say() -> None:
    assert said(0.02) == ()


def test_a_run_that_scatters_tells_what_it_would_not_see() -> None:
    (sentence,) = said(1.0)
    assert sentence.startswith("latency scatters by a factor of ")
    # 15 readings a node: 15 (d / 1)^2 / 2 = 22 gives d = 1.71, 5.5 times.
    factor = float(sentence.partition("less than ")[2].partition(" times")[0])
    assert math.log(factor) == pytest.approx(1.71, rel=0.25)


def test_what_was_released_leaves_a_caveat(make_tree, make_slow, make_fabric):
    tree = make_tree(4, 4, 4)
    samples = make_fabric(tree, [make_slow(0.5, node="n003")]).all_pairs()
    survey = survey_of(samples, tree, thresholds())
    n_marked = marks_of(survey).count("slow")
    (said,) = of_unattributed(survey, ())
    assert said.startswith(f"{n_marked} slow readings belong to no component: ")
    assert of_unattributed(survey, accuse_all(survey)) == ()


@pytest.mark.parametrize(
    ("adaptive", "standing", "why"),
    [
        (False, Standing.CONFIRMED, "they queued behind a slower one"),
        (False, Standing.OUT_OF_USE, "or behind messages that avoid a cable out of use"),
        (True, Standing.CONFIRMED, "or they crossed paths that weft judges by their total traffic"),
    ],
)
def test_only_reasons_that_the_routing_allows_are_given(
    make_tree, make_slow, make_fabric, adaptive, standing, why
):
    tree = make_tree(4, 4, 4)
    slow = [make_slow(0.5, node="n003"), make_slow(0.5, node="n013")]
    samples = make_fabric(tree, slow).all_pairs()
    survey = survey_of(samples, tree, thresholds(), adaptive=adaptive)
    kept = replace(accuse_all(survey)[0], standing=standing)
    (said,) = of_unattributed(survey, (kept,))
    assert why in said
    assert ("by their total traffic" in said) == adaptive
    assert ("out of use" in said) == (standing is Standing.OUT_OF_USE)
