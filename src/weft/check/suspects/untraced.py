"""Repeated slowness without a faulty component: other cabling or tables than the fabric file says,
traffic of others, packets lost under load."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

import numpy as np
from scipy.stats import binom

from weft.check.readings.components import Thing
from weft.check.readings.readings import Bools, Ints, Metric
from weft.check.suspects.accusation import Accusation, Standing
from weft.check.suspects.out_of_use.detour import gains_of_sharing
from weft.check.suspects.survey import Survey
from weft.check.trials import SURVEY, TOGETHER
from weft.core.words import counted

FRESH_FILES = "'weft fabric audit' of fresh ibnetdiscover and dump_lfts"
"""Other cabling or tables than the fabric file says."""
FABRIC = "--fabric with the output of ibnetdiscover and dump_lfts"
"""The paths that messages share."""
COUNTERS = "--counters, read before and after"
"""The cable that loses packets, where few messages show it."""
LENGTHS = "the lengths of its cables"
"""A longer cable takes longer, too."""
QUIET = "another check without other jobs"
"""Whether traffic of others slows messages."""
_LEAST_MET = 2
"""Messages that share a cable are slow at once."""


@dataclass(frozen=True, slots=True)
class Untraced:
    """A reason why nothing good can be said of a fabric, and the inputs that would tell more."""

    reason: str
    would_tell: tuple[str, ...]


def untraced(
    survey: Survey, accusations: Sequence[Accusation], known: AbstractSet[Thing] = frozenset()
) -> Iterator[Untraced]:
    """What was slow in the survey and again. `known`: cables whose counters were read."""
    loaded = [one for one in accusations if one.standing is Standing.MET]
    if loaded:
        counters = () if all(one.things <= known for one in loaded) else (COUNTERS,)
        words = "slow under load each time and normal alone"
        yield Untraced(f"{_names(loaded)} {words}", (FRESH_FILES, *counters, QUIET))
    longer = [one for one in accusations if one.standing is Standing.LONGER]
    if longer:
        yield Untraced(
            f"{_names(longer)} slower by latency, not by bandwidth", (FRESH_FILES, LENGTHS)
        )
    partly = [one for one in accusations if one.standing is Standing.PARTNERS]
    if partly:
        words = "slow with some partners and normal with others"
        yield Untraced(f"{_names(partly)} {words}", (FABRIC,))
    share = _slow_under_load(survey)
    if share:
        reason = (
            f"{100 * share:.0f} % of the messages between switches are slow under load, and no path"
            " stands out: a switch that all of them share, or traffic of others"
        )
        yield Untraced(reason, (COUNTERS, QUIET))
    met = _met(survey)
    if met.size and not survey.readings.of_trial(TOGETHER).size:
        reason = f"{met.size} messages were slow at once, and no round was measured again"
        yield Untraced(reason, (QUIET,))
    n = _slow_each_time(survey, met)
    if n:
        reason = f"{n} messages were slow in the survey and whenever their round ran again"
        yield Untraced(reason, (FRESH_FILES, QUIET))


def _slow_under_load(survey: Survey) -> float:
    """The share of bandwidths in rounds, over paths that switches choose, that are slow; 0 where it
    is a tenth at most, or disturbances explain it. A slow switch that all leaves share makes no
    path stand out, and messages alone avoid it. Of healthy twins (ten, with noise, outliers and
    drift) it was 0.02 at most."""
    if not survey.crossings.shared_paths.any():
        return 0.0
    columns = survey.candidates.columns[:, np.flatnonzero(survey.crossings.shared_paths)]
    shared = np.asarray(columns.sum(axis=1)).reshape(-1) > 0
    sending = survey.readings.metric == Metric.BANDWIDTH.code
    rows = np.flatnonzero(shared & sending & survey.judged & survey.in_rounds)
    slow = survey.normed.slower[rows] > survey.limits.guard(Metric.BANDWIDTH, with_fabric=True)
    by_chance = float(binom.sf(int(slow.sum()) - 1, rows.size, survey.limits.disturbed_share))
    few = slow.sum() <= survey.limits.contradicted_share * rows.size
    return 0.0 if few or by_chance >= survey.limits.chance_of_a_pair else float(slow.mean())


def _names(found: Sequence[Accusation]) -> str:
    """'cable A - B is', 'cable A - B and 2 others are'."""
    first, n_more = found[0].components[0].name, len(found) - 1
    return f"{first} and {counted(n_more, 'other')} are" if n_more else f"{first} is"


def rounds_to_repeat(survey: Survey) -> tuple[int, ...]:
    """The rounds of the survey in which messages were slow at once without a suspect, those first
    that look most as if they had shared a cable."""
    met = _met(survey)
    rounds, of = np.unique(survey.readings.round[met], return_inverse=True)
    gain = gains_of_sharing(survey.crossings, survey.normed, met) if met.size else np.zeros(0)
    shared = np.bincount(of.reshape(-1), weights=gain, minlength=rounds.size)
    order = np.argsort(-shared, kind="stable")[: survey.limits.meetings_again]
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


def _slow_each_time(survey: Survey, met: Ints) -> int:
    """How many messages were slow at once in the survey, and slow at once whenever the same round
    ran again; 0 where disturbances explain that."""
    slow, sending = _slow(survey), survey.readings.metric == Metric.BANDWIDTH.code
    asked, found, fewest = 0, 0, len(survey.readings)
    for flows, times in _repeated(survey, met):
        again = [{flow for flow, row in of.items() if slow[row]} & flows for of in times]
        each_time = set.intersection(*again)
        asked, fewest = asked + len(flows), min(fewest, len(times))
        found += len(each_time) if len(each_time) >= _LEAST_MET else 0
    if not found:
        return 0
    rows = np.flatnonzero(sending & survey.judged & survey.in_rounds & ~survey.explained)
    disturbed = max(survey.limits.disturbed_share, float(slow[rows].mean()))
    chance = float(binom.sf(found - 1, asked, disturbed**fewest))
    return found if chance < survey.limits.chance_of_a_pair else 0


def _repeated(survey: Survey, met: Ints) -> Iterator[tuple[set[int], list[dict[int, int]]]]:
    """By moment of the survey with messages `met` that ran again: their flows, and by time the rows
    of its flows. A moment ran again where most of its flows did, the met ones among them: a reading
    may be missing."""
    readings = survey.readings
    flow = readings.a * len(readings.endpoints) + readings.b
    of_moment: dict[int, dict[int, int]] = defaultdict(dict)
    sending = readings.metric == Metric.BANDWIDTH.code
    again = readings.of_trial(TOGETHER)
    for row in np.flatnonzero(sending & np.isin(readings.moment, readings.moment[met])).tolist():
        of_moment[int(readings.moment[row])][int(flow[row])] = row
    later: dict[int, dict[int, int]] = defaultdict(dict)
    for row in again[sending[again] & survey.judged[again]].tolist():
        later[int(readings.moment[row])][int(flow[row])] = row
    for moment, flows in of_moment.items():
        hit = set(flow[met[readings.moment[met] == moment]].tolist())
        times = [
            of
            for of in later.values()
            if hit <= of.keys() and 2 * len(of.keys() & flows.keys()) > len(flows)
        ]
        if times:
            yield hit, times
