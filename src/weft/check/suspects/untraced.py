"""What is slow each time it is measured, and is no fault of a component that weft can name: other
cabling or tables than the fabric file says, traffic of others, packets lost under load."""

from collections.abc import Iterator, Sequence

import numpy as np
from scipy.stats import binom

from weft.check.readings.readings import Bools, Ints, Metric
from weft.check.suspects.accusation import Accusation, Standing
from weft.check.suspects.out_of_use.repeated_rounds import numbers_of_rounds
from weft.check.suspects.survey import Survey
from weft.check.trials import SURVEY, TOGETHER
from weft.core.words import counted

_LEAST_MET = 2
"""Messages that share a cable are slow at once."""


def untraced(survey: Survey, accusations: Sequence[Accusation]) -> Iterator[str]:
    """Reasons why nothing good can be said of a fabric: what was slow in the survey and again."""
    names = {
        Standing.MET: "slow under load each time and normal alone",
        Standing.LONGER: "of higher latency than its length explains",
    }
    for standing, words in names.items():
        found = [one for one in accusations if one.standing is standing]
        if found:
            first = found[0].components[0].name
            more = f" and {counted(len(found) - 1, 'other')}" if len(found) > 1 else ""
            yield f"{first}{more} {'are' if more else 'is'} {words}"
    n, n_slow = _slow_each_time(survey)
    if n_slow:
        yield f"{n_slow} of {counted(n, 'message')} are slow whenever the same round runs"


def rounds_to_repeat(survey: Survey) -> tuple[int, ...]:
    """The rounds of the survey in which most messages were slow at once without a suspect."""
    number = survey.readings.round[_met(survey)]
    rounds, n = np.unique(number, return_counts=True)
    order = np.argsort(-n, kind="stable")[: survey.limits.meetings_again]
    return tuple(rounds[order].tolist())


def _met(survey: Survey) -> Ints:
    """Messages of the survey that are slow at once, two or more in a moment, and cross no suspect.
    None where their paths are not known for certain."""
    crossings, readings = survey.crossings, survey.readings
    if crossings.network is None or crossings.adaptive:
        return np.zeros(0, np.int64)
    rows = readings.of_trial(SURVEY)
    rows = rows[_slow(survey)[rows] & ~survey.explained[rows]]
    _, of, n = np.unique(readings.moment[rows], return_inverse=True, return_counts=True)
    return rows[n[of.reshape(-1)] >= _LEAST_MET]


def _slow(survey: Survey) -> Bools:
    """By reading: a bandwidth that is slow by more than near ones differ."""
    sending = survey.readings.metric == Metric.BANDWIDTH.code
    guard = survey.limits.guard(Metric.BANDWIDTH, with_fabric=True)
    slow: Bools = sending & survey.judged & survey.beyond_noise & (survey.normed.slower > guard)
    return slow


def _slow_each_time(survey: Survey) -> tuple[int, int]:
    """Of the messages that were slow at once in the survey and measured again in the same rounds:
    how many, and how many were slow again each time; 0 where disturbances explain these."""
    met = _met(survey)
    again = survey.readings.of_trial(TOGETHER)
    if not met.size or not again.size:
        return 0, 0
    number, slow = numbers_of_rounds(survey.crossings), _slow(survey)
    again = again[(survey.readings.metric == Metric.BANDWIDTH.code)[again] & survey.judged[again]]
    again = again[np.isin(number[again], number[met])]
    messages, of, n = np.unique(number[again], return_inverse=True, return_counts=True)
    n_slow = np.bincount(of.reshape(-1), weights=slow[again], minlength=messages.size)
    each_time = int((n_slow == n).sum())
    by_chance = survey.limits.disturbed_share ** int(n.min(initial=1))
    chance = float(binom.sf(each_time - 1, messages.size, by_chance)) if each_time else 1.0
    return messages.size, each_time if chance < survey.limits.chance_of_a_pair else 0
