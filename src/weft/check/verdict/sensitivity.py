"""The slowness that a check would have shown. A verdict is good only where this is useful."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import binom
from scipy.stats import norm as normal

from weft.check.external_evidence.class_expectation import FULL
from weft.check.external_evidence.expectation import Expectations
from weft.check.readings.norms import Norm, hop_classes, medians
from weft.check.readings.readings import METRICS, Bools, Floats, Ints, Metric
from weft.check.suspects.stall import stalls
from weft.check.suspects.survey import Survey
from weft.check.suspects.untraced import COUNTERS, Untraced
from weft.check.thresholds import CheckThresholds
from weft.check.verdict.coverage import Covered
from weft.core.units import format_significant
from weft.core.words import counted


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """`would_show`: the faults that the readings would have shown; `would_not_show`: those that all
    of them would have hidden. `cannot_tell`: why they support no good verdict, empty where they do;
    `would_tell`: the inputs that would. `level_unknown`: that all are slow alike could not have
    shown, in words; '' where it could."""

    would_show: tuple[str, ...] = ()
    cannot_tell: tuple[str, ...] = ()
    would_tell: tuple[str, ...] = ()
    would_not_show: tuple[str, ...] = ()
    level_unknown: str = ""

    @property
    def lines(self) -> list[str]:
        """What would have shown, and what would not, a line each."""
        shown = [f"would show: {line}" for line in self.would_show]
        return [*shown, *(f"would not show: {line}" for line in self.would_not_show)]

    @property
    def is_enough(self) -> bool:
        """Whether the readings support a good verdict."""
        return not self.cannot_tell


PLATFORM = "--platform NAME"
"""The expected figures of a machine, where its own nodes do not tell them."""
FABRIC = "--fabric with the output of ibnetdiscover and dump_lfts"
"""The cables, where slow paths share none that the readings name."""
CABLING = "'weft fabric audit' of the cabling"
"""What the readings cannot show of cables."""
UNJUDGED: Sensitivity = Sensitivity((), ("no reading was judged",))


@dataclass(frozen=True)
class _Shown:
    """Of one metric, natural logarithms by endpoint: the least slowness that shows against other
    readings, and against the platform (inf: none would)."""

    metric: Metric
    relative: Floats
    absolute: Floats

    def is_blind(self, limits: CheckThresholds, *, few: bool) -> bool:
        """Whether a useful slowness of some endpoint would not show."""
        useful = max(limits.useful_slowness, limits.least_effect(self.metric))
        blind: Bools = self.absolute > limits.useful_slowness
        return bool((blind if few else blind & (self.relative > useful)).any())

    @property
    def scatter(self) -> str:
        """Why it is blind among many nodes."""
        worst = float(self.relative.max())
        if not np.isfinite(worst):
            n_alone = counted(int((~np.isfinite(self.relative)).sum()), "endpoint")
            return f"the {self.metric.word} of {n_alone} is compared with no other"
        return (
            f"{self.metric.word} scatters: a node up to {np.exp(worst):.2g} times slower than the"
            " others does not show"
        )


def sensitivity_of(
    survey: Survey,
    coverage: Covered,
    expectations: Expectations | None,
    apart: Bools | None = None,
    repeated: Sequence[Untraced] = (),
) -> Sensitivity:
    """The sensitivity of a survey. `apart`: readings that a bad finding explains; the others are
    asked what they show about the remaining nodes. `repeated`: slowness that came again, without a
    faulty component.

    Few nodes are compared with the platform only: of five, two slow ones slow most of the pairs.
    """
    limits = survey.limits
    few = coverage.n_nodes <= limits.few_nodes
    rows = survey.in_rounds if apart is None else survey.in_rounds & ~apart
    found = [
        _shown(survey, metric, of, expectations)
        for metric in METRICS
        if (of := rows & (survey.readings.metric == metric.code)).any()
    ]
    blind = [one for one in found if one.is_blind(limits, few=few)]
    uneven, unexplained, stalled = list[str](), list[str](), list[str]()
    if few and (blind or not found):
        below = _below_platform(survey, rows, expectations)
        why = (_too_few(coverage, blind), *below, *_wide(blind, expectations))
    else:
        open_ = [one for one in found if (one.absolute > limits.useful_slowness).any()]
        uneven = [line for one in open_ for line in _uneven(survey, one.metric)]
        uneven += [line for one in open_ for line in _slower_far(survey, one.metric, expectations)]
        unexplained = [line for one in found for line in _unexplained(survey, rows, one.metric)]
        stalled = [f"a message {a} - {b} stalled" for a, b in (one.pair for one in stalls(survey))]
        reasons = [one.reason for one in repeated]
        why = (*(one.scatter for one in blind), *reasons, *unexplained, *stalled, *uneven)
        why = why if found else ("no reading is left to compare",)
    if why:
        tell = _would_tell(survey, coverage, expectations, few=few)
        if uneven and len(uneven) == len(why):
            tell = (PLATFORM,)
        elif unexplained and survey.crossings.network is None:
            tell = (FABRIC, *tell)
        elif stalled:
            tell = (COUNTERS,)
        elif repeated and not blind:
            tell = tuple(dict.fromkeys(one for of in repeated for one in of.would_tell))
        return Sensitivity((), why, tell)
    shown = [line for one in found for line in _lines(one, limits.useful_slowness, few=few)]
    is_relative = all((one.absolute > limits.useful_slowness).any() for one in found)
    return Sensitivity(
        (*shown, *_cables(survey, coverage)),
        would_not_show=(*(_alike(coverage) if is_relative else ()), *_out_of_use(coverage)),
        level_unknown=_level(expectations) if is_relative else "",
    )


def _shown(
    survey: Survey, metric: Metric, rows: Bools, expectations: Expectations | None
) -> _Shown:
    """The slowness that shows. n readings of normal noise sigma give evidence n (d / sigma)^2 / 2
    for a slowness d of all of them; `named_evidence` is named. A slow direction has half of
    them."""
    readings, limits = survey.readings, survey.limits
    n_ends = len(readings.endpoints)
    ends = (readings.a, readings.b)
    relative, absolute = np.full(n_ends, np.inf), np.full(n_ends, -np.inf)
    judged = rows & survey.judged
    each = [np.bincount(end[judged], minlength=n_ends) for end in ends]
    n = each[0] + each[1] if metric.both_directions else np.minimum(*each)
    wanted = 2 * (limits.named_evidence + limits.evidence_a_metric)
    sigma = np.zeros(n_ends)
    room = _room(survey, np.flatnonzero(rows), expectations)
    room[room < 0] = np.inf
    for end in ends:
        np.maximum.at(sigma, end[judged], survey.normed.sigma[judged])
        np.maximum.at(absolute, end[rows], room)
    some = n > 0
    least = limits.least_effect(metric)
    relative[some] = np.maximum(sigma[some] * np.sqrt(wanted / n[some]), least)
    meant = np.isfinite(absolute) | (absolute == np.inf)
    return _Shown(metric, relative[meant], absolute[meant])


def _room(survey: Survey, rows: Ints, expectations: Expectations | None) -> Floats:
    """By reading: how much slower it had to be to leave the platform's interval (less than 0: it
    has left it); inf where it has no expectation."""
    found = np.full(rows.size, np.inf)
    classes, place = hop_classes(survey.crossings)
    for number, hop_class in enumerate(classes):
        one = None if expectations is None else expectations.of.get(hop_class)
        if one is None:
            continue
        mine = place[rows] == number
        value = survey.readings.value[rows[mine]]
        if one.found.lower_is_better:
            found[mine] = np.log(one.found.high / value)
        else:
            found[mine] = np.log(value / one.found.low) if one.found.low > 0 else np.inf
    return found


def _uneven(survey: Survey, metric: Metric) -> Iterator[str]:
    """Pairs faster than the median by more than near pairs are, and more of them than noise
    explains: the median may be that of slow ones."""
    limits, against = survey.limits, survey.normed
    of = survey.judged & (survey.readings.metric == metric.code)
    guard = limits.guard(metric, with_fabric=False)
    fast = of & (against.slower < -guard)
    for number in np.unique(against.norm[fast]).tolist():
        mine = of & (against.norm == number)
        n, n_fast = int(mine.sum()), int((mine & fast).sum())
        by_noise = binom.sf(n_fast - 1, n, normal.cdf(-guard / against.sigma[mine][0]))
        fastest = -float(against.slower[mine].min()) / against.sigma[mine][0]
        by_noise = min(float(by_noise), n * float(normal.sf(fastest)))
        few = n_fast <= limits.disturbed_share * n
        if few and by_noise >= normal.sf(limits.contradicted_sigma):
            fast[mine] = False
    if not fast.any():
        return
    pairs = counted(int(np.unique(survey.readings.pair[fast]).size), "pair")
    factor = format_significant(float(np.exp(guard)))
    what = f"times as fast as the median {metric.word}"
    yield f"{pairs} more than {factor} {what}: the others may be slow"


def _slower_far(survey: Survey, metric: Metric, expectations: Expectations | None) -> Iterator[str]:
    """Longer paths of lower bandwidth than near ones have, whose links are as fast and not shared,
    without an expectation: all of them may cross one slow cable."""
    alike: dict[tuple[float, int], list[Norm]] = defaultdict(list)
    for norm in medians(survey.crossings):
        kind = norm.hop_class
        known = kind.metric is metric and kind.n_links > 0 and kind.load <= FULL
        if known and metric is not Metric.LATENCY and not kind.same_host:
            alike[kind.bits_per_s, kind.size_bytes].append(norm)
    guard = survey.limits.guard(metric, with_fabric=False)
    for norms in alike.values():
        near = min(norms, key=lambda one: one.hop_class.n_links)
        far = min(norms, key=lambda one: one.expected)
        known = expectations is not None and far.hop_class in expectations.of
        if not known and np.log(near.expected / far.expected) > guard:
            figures = [format_significant(one.expected) for one in (far, near)]
            where = f"{metric.word} {far.hop_class.words} is {figures[0]} {metric.unit}"
            yield f"{where}, {near.hop_class.words} {figures[1]}: the longer paths may be slow"


def _unexplained(survey: Survey, rows: Bools, metric: Metric) -> Iterator[str]:
    """Flows that are slow by more than near ones differ, that no component explains, and that were
    not normal when measured again: more of them than disturbances make by chance."""
    limits, readings = survey.limits, survey.readings
    of = survey.judged & (readings.metric == metric.code)
    guard = limits.guard(metric, with_fabric=survey.crossings.network is not None)
    slow = of & ~survey.explained & survey.beyond_noise & (survey.normed.slower > guard)
    flow = readings.a * len(readings.endpoints) + readings.b
    again = of & survey.is_alone
    flows = np.unique(flow[of & rows])
    n_again, n_slow_again = (
        (flow[which][:, None] == flows[None, :]).sum(axis=0) for which in (again, again & slow)
    )
    stays = np.isin(flows, flow[slow & rows]) & (2 * n_slow_again >= n_again)
    n, n_slow = int(flows.size), int(stays.sum())
    by_chance = float(binom.sf(n_slow - 1, n, limits.disturbed_share)) if n_slow else 1.0
    if by_chance < limits.chance_of_a_pair and n_slow > limits.contradicted_share * n:
        share = f"{n_slow:,} of {n:,} {metric.word} paths"
        yield f"{share} are slow, and no component explains them for certain"


def _alike(coverage: Covered) -> Iterator[str]:
    n, ends = coverage.n_nodes, coverage.endpoints
    yield f"{n - 1:,} or all of the {n:,} {ends} slow: {PLATFORM} shows them"


def _level(expectations: Expectations | None) -> str:
    without = " without --platform" if expectations is None else ""
    return f"whether all are slow alike is not known{without}"


def _out_of_use(coverage: Covered) -> Iterator[str]:
    """Routing avoids a dead cable: what tells of it are the messages that its own ones meet."""
    if coverage.n_cables:
        yield f"a dead cable whose detour meets no other message: {CABLING} shows it"


def _too_few(coverage: Covered, blind: Sequence[_Shown]) -> str:
    if coverage.n_nodes == 2:
        noun = coverage.noun
        return f"one of the two {coverage.endpoints} may be slow, or the path: a third {noun} tells"
    figures = " and ".join(one.metric.word for one in blind)
    return (
        f"{counted(coverage.n_nodes, coverage.noun)} are too few to know the normal {figures}: two"
        " slow ones, or all, may look normal"
    )


def _wide(blind: Sequence[_Shown], expectations: Expectations | None) -> Iterator[str]:
    """How little a platform says."""
    for one in blind:
        worst = float(one.absolute.max())
        if expectations is not None and np.isfinite(worst):
            name = expectations.platform.name
            yield f"platform {name} shows only a {one.metric.word} {np.exp(worst):.2g} times slower"


def _below_platform(
    survey: Survey, rows: Bools, expectations: Expectations | None
) -> Iterator[str]:
    """The reading that is farthest below the platform."""
    room = _room(survey, np.flatnonzero(rows), expectations)
    if expectations is None or not room.size or room.min() >= 0:
        return
    row = np.flatnonzero(rows)[np.argmin(room)]
    classes, place = hop_classes(survey.crossings)
    one = expectations.of[classes[place[row]]]
    a, b = survey.readings.name(int(row))
    metric, value = one.norm.hop_class.metric, float(survey.readings.value[row])
    yield (
        f"{metric.word} {a} - {b} was {format_significant(value)} {metric.unit}, expected"
        f" {one.words} of {expectations.platform.name}"
    )


def _would_tell(
    survey: Survey, coverage: Covered, expectations: Expectations | None, *, few: bool
) -> tuple[str, ...]:
    if not few:
        quiet = "another check when the hosts are quiet, or with more rounds (--schedule full)"
        return (quiet,)
    more = f"at least {survey.limits.few_nodes + 1} {coverage.endpoints}"
    return (more,) if expectations is not None else (more, PLATFORM)


def _lines(shown: _Shown, useful: float, *, few: bool) -> Iterator[str]:
    """The slowness of one node that shows against the others, and that of all against the
    platform. Of few nodes each pair is compared with the platform."""
    relative, absolute = float(shown.relative.max()), float(shown.absolute.max())
    if np.isfinite(relative) and not few:
        yield f"a node {_bound(shown.metric, relative)} of the others, if most are sound"
    if absolute <= useful:
        who = "a node, or all nodes," if few else "all nodes together"
        yield f"{who} {_bound(shown.metric, absolute)} measured now"


def _bound(metric: Metric, slowness: float) -> str:
    if metric is Metric.LATENCY:
        return f"above {np.exp(slowness):.2f} times the {metric.word}"
    return f"below {np.exp(-slowness):.2f} of the {metric.word}"


def _cables(survey: Survey, coverage: Covered) -> Iterator[str]:
    """The slowness of a cable between switches that shows: each has its readings of filled
    rounds. Where switches choose the path, no reading belongs to one cable."""
    if coverage.n_cables is None or survey.crossings.adaptive:
        return
    unseen = len(coverage.cables_never_filled) + len(coverage.cables_never_crossed)
    n_filled = coverage.n_cables - unseen
    of = survey.judged & survey.in_rounds & (survey.readings.metric == Metric.BANDWIDTH.code)
    if n_filled <= 0 or not coverage.least_fillings or not of.any():
        return
    limits = survey.limits
    wanted = 2 * (limits.named_evidence + limits.evidence_a_metric)
    sigma = float(survey.normed.sigma[of].max())
    slowness = max(sigma * np.sqrt(wanted / coverage.least_fillings), limits.bandwidth_least)
    share = limits.filled_share * np.exp(-slowness)
    if share >= np.exp(-limits.useful_slowness):
        yield f"a cable between switches below {share:.2f} of its rate, of {n_filled:,} filled"
