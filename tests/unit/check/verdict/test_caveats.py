"""The limits of a check: what it would not have seen, and readings that belong to no component."""

from dataclasses import replace

import pytest

from weft.check.suspects.accusation import Standing, accuse_all
from weft.check.suspects.survey import survey_of
from weft.check.thresholds import thresholds
from weft.check.verdict.caveats import of_unattributed
from weft.check.wording.reading_rows import marks_of


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
