"""Readings marked slow of which nothing is accused are said to be so."""

from weft.diagnose.check.answer.let_go import caveats
from weft.diagnose.check.suspects.accusation import accuse_all
from weft.diagnose.check.suspects.survey import survey_of
from weft.diagnose.check.thresholds import thresholds
from weft.diagnose.check.verdict import marks_of


def test_what_was_let_go_leaves_a_caveat(make_tree, make_slow, make_fabric):
    tree = make_tree(4, 4, 4)
    samples = make_fabric(tree, [make_slow(0.5, node="n003")]).all_pairs()
    survey = survey_of(samples, tree, thresholds())
    n_marked = marks_of(survey).count("slow")
    (said,) = caveats(survey, ())
    assert said.startswith(f"{n_marked} readings marked slow accuse nobody: ")
    assert caveats(survey, accuse_all(survey, thresholds())) == ()
