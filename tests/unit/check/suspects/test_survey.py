"""Figures given for a run decide in it, not the shipped ones."""
# mypy: disable-error-code="no-untyped-def"

from dataclasses import replace

from weft.check.suspects.survey import survey_of
from weft.check.thresholds import thresholds


def test_how_far_a_lone_reading_must_be_out(make_tree, make_fabric):
    """One latency of an exact fabric, raised by a fifth: 0.18 where one deviation is 0.01."""
    tree = make_tree(4, 4, 4)
    samples = make_fabric(tree, noise=0.0).all_pairs()
    place = next(i for i, s in enumerate(samples) if "latency_us" in s.metrics)
    higher = {"latency_us": 1.2 * samples[place].metrics["latency_us"]}
    samples[place] = replace(samples[place], metrics=higher)
    for sigma, found in ((17.0, [place]), (19.0, [])):
        survey = survey_of(samples, tree, replace(thresholds(), noise_sigma=sigma))
        assert survey.unexplained.tolist() == found
        assert survey.slow.sum() == len(found)


def test_how_many_suspects_there_may_be(make_tree, make_fabric, make_slow):
    tree = make_tree(4, 4, 4)
    faults = [make_slow(0.5, node=node) for node in ("n003", "n012")]
    samples = make_fabric(tree, faults, noise=0.01).all_pairs()
    for most, found in ((24, 2), (1, 1)):
        survey = survey_of(samples, tree, replace(thresholds(), most_suspects=most))
        assert len(survey.explanation.suspects) == found
