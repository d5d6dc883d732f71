"""Findings as sentences a person can act on: what, how much, against what, how sure."""

from collections.abc import Iterable, Sequence
from typing import Any

from weft.bench.model import Sample
from weft.core.finding import Finding, FindingKind, Severity
from weft.diagnose.coverage import Coverage, counted
from weft.diagnose.crossing import Component, Part
from weft.diagnose.detour import Detour
from weft.diagnose.judged import Judged
from weft.diagnose.readings import Metric, Reading
from weft.diagnose.slow import Mark, Norm
from weft.diagnose.suspects import Explanation, Suspect
from weft.diagnose.thresholds import Thresholds
from weft.diagnose.words import (
    Book,
    against,
    capital,
    figure,
    list_pairs,
    median,
    norm_of,
    own_node,
    pair_text,
    range_text,
    who,
    worst_class,
)

_KIND_OF_PART = {
    Part.NODE: FindingKind.SUSPECT_NODE,
    Part.NODE_SENDING: FindingKind.SUSPECT_NODE,
    Part.NODE_RECEIVING: FindingKind.SUSPECT_NODE,
    Part.HCA: FindingKind.SUSPECT_NODE,
    Part.RANK: FindingKind.SUSPECT_NODE,
    Part.CABLE: FindingKind.SUSPECT_LINK,
    Part.DIRECTION: FindingKind.SUSPECT_LINK,
    Part.SWITCH: FindingKind.SUSPECT_SWITCH,
}


def findings(
    explanation: Explanation,
    detour: Detour | None,
    judged: Sequence[Judged],
    *,
    coverage: Coverage,
    with_fabric: bool,
    limits: Thresholds,
) -> list[Finding]:
    """Every finding of an explanation; one that says healthy where nothing is slow."""
    book = {one.reading: one for one in judged}
    too_few = coverage.n_nodes < limits.smallest_fabric
    found = []
    lone: list[Reading] = list(explanation.unexplained)
    for suspect in explanation.named:
        if too_few or len(suspect.pairs) < 2:
            lone.extend(suspect.slow)
        else:
            found.append(_named(suspect, book))
    found.extend(_alternatives(group, book) for group in explanation.alternatives)
    found.extend(_slow_pairs(lone, book, with_fabric))
    if detour is not None:
        found.append(_detour(detour))
    return found or [_healthy(judged, coverage)]


def caveats(
    coverage: Coverage, judged: Sequence[Judged], with_fabric: bool, limits: Thresholds
) -> tuple[str, ...]:
    """What this run cannot say."""
    said = []
    if coverage.n_nodes < limits.smallest_fabric:
        said.append(
            f"with {coverage.n_nodes} {coverage.endpoints} no node or cable is named:"
            f" {limits.smallest_fabric} are needed to tell slow from normal"
        )
    if not with_fabric:
        said.append("without a fabric (--fabric) only nodes can be named, no cable and no switch")
    n_never = len(coverage.cables_never_crossed)
    if n_never:
        said.append(f"no pair crosses {n_never} of {coverage.n_cables} cables: they are not judged")
    if coverage.n_cables_faster:
        said.append(
            f"{counted(coverage.n_cables_faster, 'cable')} faster than a node's own link:"
            " a loss down to that rate does not show"
        )
    unjudged = sum(1 for one in judged if one.mark is Mark.UNJUDGED)
    if unjudged:
        said.append(f"{counted(unjudged, 'reading')} in a hop class too small to judge")
    given_up = sum(1 for o in judged if o.first_mark is Mark.SLOW and o.mark is Mark.UNCLEAR)
    if given_up:
        said.append(
            f"{counted(given_up, 'slow reading')} not settled by the retest; they accuse nobody"
        )
    return tuple(said)


def norm_record(norm: Norm) -> dict[str, Any]:
    """A norm as plain JSON values."""
    return {
        "metric": norm.metric.value,
        "hop_class": norm.hop_class.words,
        "n": norm.n,
        "expected": norm.expected,
        "low": norm.low,
        "high": norm.high,
        "slow_from_share": norm.limit,
    }


def not_enough(coverage: Coverage, limits: Thresholds) -> Finding:
    """No hop class has enough readings."""
    return Finding(
        FindingKind.NOT_ENOUGH_DATA,
        Severity.NOTE,
        f"{counted(coverage.n_pairs, 'pair')} of {coverage.n_nodes} {coverage.endpoints}"
        f" cannot be judged: {limits.smallest_class} pairs of one kind are needed.",
    )


def corrupted(samples: Iterable[Sample]) -> list[Finding]:
    """Pairs whose received bytes were not the bytes sent."""
    bad = sorted({(s.pair.a, s.pair.b) for s in samples if s.pair and "invalid_data" in s.flags})
    if not bad:
        return []
    return [
        Finding(
            FindingKind.FAILURE,
            Severity.BAD,
            f"{counted(len(bad), 'pair')} received other bytes than were sent.",
            evidence=(list_pairs(bad),),
            facts={"pairs": [list(pair) for pair in bad]},
        )
    ]


def _named(suspect: Suspect, book: Book) -> Finding:
    worst = worst_class(suspect.slow, book)
    subject = who(suspect.components)
    sentence = f"{capital(subject)} is slow: {against(worst)}."
    return Finding(
        _kind(suspect.components),
        Severity.BAD,
        sentence,
        evidence=tuple(_evidence(suspect, book)),
        facts={
            "suspects": [_component_record(c) for c in suspect.components],
            "tie": len(suspect.components) > 1,
            "metrics": [metric.value for metric in suspect.metrics],
            "measured": median(one.reading.value for one in worst),
            "expected": norm_of(worst).expected,
            "unit": norm_of(worst).metric.unit,
            "n_slow": len(suspect.slow),
            "pairs": [list(pair) for pair in sorted(suspect.pairs)],
        },
    )


def _evidence(suspect: Suspect, book: Book) -> Iterable[str]:
    said = worst_class(suspect.slow, book)
    for metric in suspect.metrics:
        slow = [r for r in suspect.slow if r.metric is metric]
        yield (
            f"{metric.word}: all {len(slow)} slow readings cross it,"
            f" none of the {_n_normal(metric, book)} normal ones does"
        )
        worst = worst_class(slow, book)
        if worst != said:
            yield against(worst)
    n_again = sum(1 for reading in suspect.slow if book[reading].alone is not None)
    if n_again:
        yield f"measured again with no other pair running: still slow, all {n_again} readings"
    else:
        yield "not measured again alone"
    if len(suspect.components) > 1:
        yield _how_to_tell(suspect)


def _n_normal(metric: Metric, book: Book) -> int:
    return sum(1 for o in book.values() if o.reading.metric is metric and o.mark is Mark.NORMAL)


def _how_to_tell(suspect: Suspect) -> str:
    if own_node(suspect.components) is None:
        return "a tie: the same slow readings cross each of them, and no normal one crosses any"
    tie = "a tie: all its messages cross its one cable; swap the cable to tell"
    if suspect.metrics == (Metric.LATENCY,):
        tie += " (its bandwidth is normal, which a bad cable would lower: look at the node first)"
    return tie


def _alternatives(group: Sequence[Suspect], book: Book) -> Finding:
    components = [component for suspect in group for component in suspect.components]
    slow = {reading for suspect in group for reading in suspect.slow}
    worst = worst_class(slow, book)
    return Finding(
        FindingKind.TIE,
        Severity.BAD,
        f"At least one of {', '.join(c.name for c in components)} is slow: {against(worst)}.",
        evidence=("several sets of them explain the slow readings; no reading decides",),
        facts={
            "suspects": [_component_record(c) for c in components],
            "tie": True,
            "n_slow": len(slow),
        },
    )


def _slow_pairs(readings: Sequence[Reading], book: Book, with_fabric: bool) -> list[Finding]:
    """One finding for the confirmed slow pairs nobody explains, one for the unconfirmed."""
    found = []
    for confirmed in (True, False):
        chosen = [r for r in readings if (book[r].alone is not None) is confirmed]
        if chosen:
            found.append(_pairs_finding(chosen, book, confirmed, with_fabric))
    return found


def _pairs_finding(
    readings: Sequence[Reading],
    book: Book,
    confirmed: bool,
    with_fabric: bool,
) -> Finding:
    pairs = sorted({reading.pair for reading in readings})
    worst = worst_class(readings, book)
    subject = f"Pair {pair_text(pairs[0])}" if len(pairs) == 1 else f"{len(pairs)} pairs"
    verb = "is" if len(pairs) == 1 else "are"
    doubt = "no one component explains it" if with_fabric else "which cable is not known"
    again = "measured again alone and still slow" if confirmed else "not measured again alone"
    return Finding(
        FindingKind.SUSPECT_PAIR,
        Severity.BAD if confirmed else Severity.WARNING,
        f"{subject} {verb} slow and {doubt}: {against(worst)}.",
        evidence=(list_pairs(pairs), again),
        facts={"pairs": [list(pair) for pair in pairs], "n_slow": len(readings)},
    )


def _detour(detour: Detour) -> Finding:
    components = [Component(Part.CABLE, cable) for cable in detour.avoided]
    n_met, n_moments = len(detour.met), detour.n_moments
    met = (
        f"{n_met} readings in {n_moments} rounds were slowed by other pairs and normal alone,"
        " though by the fabric's tables they share no cable with them"
    )
    if not components:
        return Finding(
            FindingKind.ANOMALY,
            Severity.WARNING,
            f"Messages met where the fabric's tables keep them apart ({n_met} readings).",
            evidence=(met, "outdated tables, adaptive routing or another job's traffic do that"),
            facts={"n_met": n_met},
        )
    return Finding(
        _kind(components),
        Severity.BAD,
        f"{capital(who(components))} carries nothing: messages that should cross it go around.",
        evidence=(
            met,
            f"in each of the {n_moments} rounds one of them should have crossed it",
            "down, disabled or left out by the routing: look at the state of its ports",
        ),
        facts={
            "suspects": [_component_record(c) for c in components],
            "tie": len(components) > 1,
            "n_met": n_met,
        },
    )


def _healthy(judged: Sequence[Judged], coverage: Coverage) -> Finding:
    by_class = {(o.norm.metric, o.hop_class): o.norm for o in judged if o.norm is not None}
    evidence = [
        f"{norm.metric.word}, {norm.hop_class}: {figure(norm.expected, norm.metric)}"
        f" ({range_text(norm)}, {norm.n} readings)"
        for _, norm in sorted(by_class.items())
    ]
    collided = len({one.reading.pair for one in judged if one.collided})
    if collided:
        evidence.append(
            f"{counted(collided, 'pair')} slow beside others and normal alone:"
            " met other traffic, not a fault"
        )
    return Finding(
        FindingKind.HEALTHY,
        Severity.GOOD,
        f"No pair of {coverage.n_nodes} {coverage.endpoints} is slower than its hop class.",
        evidence=tuple(evidence),
        facts={"pairs_that_collided": collided},
    )


def _kind(components: Sequence[Component]) -> FindingKind:
    if own_node(components) is not None:
        return FindingKind.SUSPECT_NODE
    return _KIND_OF_PART[components[0].part] if len(components) == 1 else FindingKind.TIE


def _component_record(component: Component) -> dict[str, Any]:
    return {
        "part": component.part.value,
        "ends": list(component.ends),
        "name": component.name,
    }
