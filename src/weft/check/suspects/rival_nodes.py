"""Slow nodes look like a slow cable or switch between them, above all in a small fabric: whether a
node stands out, and the nodes, or two cables of a switch, that explain an accused path as well."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from weft.check.readings.components import Component, Part
from weft.check.readings.norms import hop_classes
from weft.check.readings.readings import Bools, Floats, Ints, Metric, union
from weft.check.suspects.accusation import Accusation, Standing, components_of
from weft.check.suspects.survey import Survey

Hosts = tuple[int, ...]
"""Hosts by number."""
_PATH = (Part.CABLE, Part.DIRECTION, Part.SWITCH, Part.SWITCH_PAIR)
_SLOW_THEMSELVES = (Standing.CONFIRMED, Standing.UNTESTED)


def stands_out(accusation: Accusation, survey: Survey, accused: Iterable[Accusation]) -> bool:
    """Whether all flows over an accused part of a node are slow and the others are not, but for the
    share that disturbances explain; and whether the others are as many pairs of nodes. Of three
    nodes a slow one slows two pairs, and one fast pair alone would tell the normal figure."""
    of = survey.judged & (survey.readings.metric == accusation.worst.metric.code)
    mine, every = np.zeros_like(of), np.zeros_like(of)
    mine[survey.rows_of([accusation.candidate])] = True
    every[survey.rows_of(one.candidate for one in accused)] = True
    pair = _pair_of_nodes(survey)
    pairs = np.unique(pair[of & mine])
    if np.setdiff1d(pair[of & ~mine], pairs).size < pairs.size:
        return False
    half = effect_of(accusation) / 2
    over = _by_flow(survey, of & mine, survey.normed.slower) > half
    others = _by_flow(survey, of & ~every, survey.normed.slower) > half
    least = 1 - survey.limits.contradicted_share
    return bool(over.mean() >= least and (not others.size or (~others).mean() >= least))


def with_rivals(survey: Survey, made: Sequence[Accusation]) -> tuple[Accusation, ...]:
    """The accusations. That of a path names also one or two nodes, that of a switch two of its
    cables, that explain its readings as well: at least one of all these is slow."""
    if survey.crossings.adaptive:
        return tuple(made)
    return tuple(
        _with_components(
            one,
            _rivals(survey, one, made)
            + _rival_cables(survey, one, made)
            + _stronger_paths(survey, one, made),
        )
        if one.standing in _SLOW_THEMSELVES and survey.crossings.is_path(one.candidate)
        else one
        for one in made
    )


def _with_components(accused: Accusation, more: Iterable[Component]) -> Accusation:
    new = {one.thing: one for one in more if one.thing not in accused.things}
    return replace(accused, components=(*accused.components, *new.values()))


def _rivals(
    survey: Survey, accused: Accusation, made: Sequence[Accusation]
) -> tuple[Component, ...]:
    others, elsewhere = _others(survey, accused, made)
    rows = _own(accused, elsewhere)
    ends = _ends(survey)
    pairs = sorted({(int(ends[0][row]), int(ends[1][row])) for row in rows.tolist()})
    open_ = np.union1d(_unexplained(survey, accused, made), _of_nodes(others))
    fitting = [
        nodes
        for nodes in _covers(pairs)
        if (len(nodes) == 1 or _touch(survey, nodes, open_))
        and _fit(survey, accused, nodes, elsewhere)
    ]
    fewest = min(map(len, fitting), default=0)
    nodes = sorted({node for nodes in fitting if len(nodes) == fewest for node in nodes})
    return tuple(Component(Part.NODE, (survey.crossings.hosts[node],)) for node in nodes)


def _others(
    survey: Survey, accused: Accusation, made: Sequence[Accusation]
) -> tuple[list[Accusation], Ints]:
    """The other accusations of something slow, and the readings that cross it."""
    others = [one for one in made if one is not accused and one.standing in _SLOW_THEMSELVES]
    return others, survey.rows_of(one.candidate for one in others)


def _own(accused: Accusation, elsewhere: Ints) -> Ints:
    """The slow readings of an accusation that nothing else accused explains, or all."""
    own = np.setdiff1d(accused.rows, elsewhere)
    return own if own.size else accused.rows


def _rival_cables(
    survey: Survey, accused: Accusation, made: Sequence[Accusation]
) -> tuple[Component, ...]:
    """Of an accused switch each two cables, one of which each of its slow readings crosses, if all
    readings over either are slow."""
    network = survey.crossings.fabric
    switches = [one.ends[0] for one in accused.components if one.part is Part.SWITCH]
    if len(switches) != 1:
        return ()
    _, elsewhere = _others(survey, accused, made)
    here = network.vertex == network.vertex_id[switches[0]]
    cables = np.flatnonzero(here.reshape(-1, 2).any(axis=1))
    crossed = survey.crossings.by_stage[_own(accused, elsewhere)] @ survey.crossings.by_port
    over = np.asarray((crossed[:, 2 * cables] + crossed[:, 2 * cables + 1]).todense()) > 0
    ways = sorted({tuple(cables[way].tolist()) for way in np.unique(over, axis=0)})
    of_cable = survey.candidates.of_part(Part.CABLE)
    known = [way for way in ways if of_cable.keys() >= set(way)]
    if len(known) < len(ways):
        return ()
    fitting = {
        cable: _is_slow_throughout(survey, accused, of_cable[cable], elsewhere)
        for cable in {cable for way in ways for cable in way}
    }
    rivals = {cable for two in _covers(ways) if all(fitting[c] for c in two) for cable in two}
    return components_of(survey, [of_cable[cable] for cable in sorted(rivals)])


def _stronger_paths(
    survey: Survey, accused: Accusation, made: Sequence[Accusation]
) -> tuple[Component, ...]:
    """Paths with more evidence than an accused switch that crosses the same readings, if nearly all
    flows over them are slow against the fastest elsewhere. By the norm some look normal: where a
    class of long paths has no fast reading, those of a fault do."""
    if all(one.part is not Part.SWITCH for one in accused.components):
        return ()
    others = [s for s in survey.explanation.suspects if s.best != accused.candidate]
    evidence, _ = survey.explainer.scores(survey.explainer.predicted(others))
    least = evidence[accused.candidate] + survey.limits.near_evidence
    _, elsewhere = _others(survey, accused, made)
    stronger = [
        candidate
        for candidate in np.flatnonzero(evidence > least).tolist()
        if survey.crossings.is_path(candidate)
        and np.isin(survey.candidates.rows(candidate), accused.rows).any()
        and _is_slow_against_fastest(survey, accused, candidate, elsewhere)
    ]
    return components_of(survey, stronger)


def _is_slow_against_fastest(
    survey: Survey, accused: Accusation, candidate: int, elsewhere: Ints
) -> bool:
    """Whether nearly all flows over a candidate, and nothing accused elsewhere, are slow by half of
    their median or more, against the fastest that cross nothing of all this."""
    metric, limits = accused.worst.metric, survey.limits
    over = np.zeros(len(survey.readings), np.bool_)
    over[survey.candidates.rows(candidate)] = True
    slower = _slower_than_fastest(survey, accused, over, elsewhere)
    mine = over & np.isfinite(slower)
    mine[elsewhere] = False
    flows = _by_flow(survey, mine, slower)
    median = float(np.median(flows)) if flows.size else 0.0
    enough = (flows > median / 2).sum() >= (1 - limits.contradicted_share) * flows.size
    return bool(median > limits.least_effect(metric) and enough)


def _is_slow_throughout(
    survey: Survey, accused: Accusation, candidate: int, elsewhere: Ints
) -> bool:
    """Whether nearly all flows over a candidate, and nothing accused elsewhere, are as slow."""
    of = survey.in_rounds & (survey.readings.metric == accused.worst.metric.code)
    mine = np.zeros_like(of)
    mine[np.setdiff1d(survey.candidates.rows(candidate), elsewhere)] = True
    mine &= of & survey.judged
    slow = _by_flow(survey, mine, survey.normed.slower) > effect_of(accused) / 2
    return bool(slow.size and slow.mean() >= 1 - survey.limits.contradicted_share)


def _unexplained(survey: Survey, accused: Accusation, made: Iterable[Accusation]) -> Ints:
    """Slow readings of the metric that cross nothing accused. Two faults are less likely than one,
    unless they explain these, too."""
    of = survey.slow & survey.in_rounds & (survey.readings.metric == accused.worst.metric.code)
    return np.setdiff1d(np.flatnonzero(of), survey.rows_of(one.candidate for one in made))


def _of_nodes(accused: Iterable[Accusation]) -> Ints:
    """The slow readings of accusations that may be of a node: two nodes in place of a path and this
    are as likely."""
    return union(one.rows for one in accused if any(c.part not in _PATH for c in one.components))


def _touch(survey: Survey, nodes: Hosts, rows: Ints) -> bool:
    ends = _ends(survey)
    return bool(np.isin(ends[0][rows], nodes).any() or np.isin(ends[1][rows], nodes).any())


def _covers(pairs: Sequence[tuple[int, ...]]) -> Iterator[tuple[int, ...]]:
    """Every node (or cable), and every two, of which each pair (or way) has one."""
    for first in pairs[0] if pairs else ():
        left = [pair for pair in pairs if first not in pair]
        if not left:
            yield (first,)
        for second in left[0] if left else ():
            if all(second in pair for pair in left):
                yield first, second


def _fit(survey: Survey, accused: Accusation, nodes: Hosts, elsewhere: Ints) -> bool:
    """Whether the flows of each of these nodes are slow, against the fastest of their hop class
    that have no end there and cross nothing accused."""
    ends = _ends(survey)
    touched = np.isin(ends[0], nodes) | np.isin(ends[1], nodes)
    slower = _slower_than_fastest(survey, accused, touched, elsewhere)
    least = 1 - survey.limits.contradicted_share
    for node in nodes:
        mine = ((ends[0] == node) | (ends[1] == node)) & np.isfinite(slower)
        if mine.any():
            slow = _by_flow(survey, mine, slower) > effect_of(accused) / 2
            if slow.mean() < least:
                return False
    return True


def _slower_than_fastest(
    survey: Survey, accused: Accusation, touched: Bools, elsewhere: Ints
) -> Floats:
    """By reading in rounds of the metric that an accusation slows most: how much slower than the
    fastest that crosses nothing accused, here or `elsewhere`, and is not `touched` (natural
    logarithm); of latency, of its hop class. NaN for others, and where there is none such.
    Bandwidth hardly depends on the distance."""
    metric = accused.worst.metric
    of = survey.in_rounds & (survey.readings.metric == metric.code)
    sound = of & ~touched
    sound[survey.rows_of([accused.candidate])] = sound[elsewhere] = False
    is_latency = metric is Metric.LATENCY
    classes, place = hop_classes(survey.crossings)
    place = place if is_latency else np.zeros_like(place)
    slowness = np.log(survey.readings.value) * (1 if is_latency else -1)
    fastest = np.full(len(classes), np.inf)
    np.minimum.at(fastest, place[sound], slowness[sound])
    found: Floats = slowness - fastest[place]
    return np.where(of & np.isfinite(found), found, np.nan)


def effect_of(accusation: Accusation) -> float:
    """The slowness of the metric that is slowed most, as a natural logarithm."""
    worst = accusation.worst
    return abs(float(np.log(worst.measured / worst.norm.expected)))


def _by_flow(survey: Survey, rows: Bools, slower: Floats) -> Floats:
    """The median slowness of each flow, one end to the other, among rows."""
    readings = survey.readings
    key = (readings.a * len(readings.endpoints) + readings.b)[rows]
    _, flow = np.unique(key, return_inverse=True)
    order = np.lexsort((slower[rows], flow))
    counts = np.bincount(flow)
    first = np.concatenate([[0], np.cumsum(counts)[:-1]])
    medians: Floats = slower[rows][order[(first + counts // 2).astype(np.int64)]]
    return medians


def _ends(survey: Survey) -> tuple[Ints, Ints]:
    """By reading: the hosts of its two ends."""
    host = survey.crossings.host_number
    return host[survey.readings.a], host[survey.readings.b]


def _pair_of_nodes(survey: Survey) -> Ints:
    """By reading: its pair of hosts; of ranks, where one host holds them all."""
    crossings, readings = survey.crossings, survey.readings
    ends = _ends(survey) if len(crossings.hosts) > 1 else (readings.a, readings.b)
    n = len(readings.endpoints)
    found: Ints = np.minimum(*ends) * n + np.maximum(*ends)
    return found
