"""The nodes that a verdict calls good, and their number."""

import numpy as np

from weft.check.external_evidence.class_expectation import ClassFacts
from weft.check.facts import AccusationFacts, NodeFaultFacts, PairFacts
from weft.check.misfits.host_clocks import WrongClockFacts
from weft.check.misfits.missing_readings import UnmeasuredFacts
from weft.check.readings.norms import hop_classes
from weft.check.readings.readings import host_of
from weft.check.verdict.lost_hosts import LostHostFacts, n_unmeasured
from weft.check.verdict.verdict import Verdict
from weft.core.finding import Finding, Severity

OK = "OK"
"""The label of the good nodes of a check."""


def n_nodes(verdict: Verdict) -> int:
    """How many nodes there were to measure: the measured ones, and those lost before."""
    missing = [one.facts for one in verdict.findings if isinstance(one.facts, UnmeasuredFacts)]
    n_missing = sum(len(facts.nodes) for facts in missing if facts.wholly)
    return verdict.coverage.n_nodes + n_unmeasured(verdict.findings) + n_missing


def n_good(verdict: Verdict) -> int:
    """How many nodes are neither lost nor an end of anything bad."""
    return n_nodes(verdict) - len(bad_nodes(verdict))


def bad_nodes(verdict: Verdict) -> set[str]:
    """Nodes that are lost, are accused, or are an end of a bad component; of a slow pair, where no
    component is accused; and those that the run does not show. Ranks, where one host holds them
    all."""
    of_ranks = verdict.coverage.endpoints == "ranks"
    bad = {name for one in _bad(verdict) for name in _names(one.facts, of_ranks=of_ranks)}
    return bad.union(*(_unshown(one.facts) for one in verdict.findings))


def _unshown(facts: object) -> tuple[str, ...]:
    match facts:
        case UnmeasuredFacts():
            return facts.nodes
        case WrongClockFacts():
            return (facts.node,)
    return ()


def _names(facts: object, *, of_ranks: bool) -> set[str]:
    match facts:
        case LostHostFacts() | NodeFaultFacts():
            return {facts.node}
        case PairFacts():
            ends = {end for pair in facts.pairs for end in pair}
            return ends if of_ranks else {host_of(end) for end in ends}
        case AccusationFacts():
            suspects = facts.suspects
            owners = (one.component.ends[0] if of_ranks else one.node for one in suspects)
            return {owner for owner in owners if owner is not None}
    return set()


def good_columns(verdict: Verdict) -> tuple[str, str]:
    """How many nodes are good, and the pairs and cables measured."""
    coverage = verdict.coverage
    good = f"{n_good(verdict):,} of {n_nodes(verdict):,} {coverage.endpoints}"
    pairs = f"pairs {coverage.n_pairs:,} of {coverage.n_pairs_possible:,} measured"
    return good, f"{pairs}, {coverage.cables_text}"


def some_are_good(verdict: Verdict) -> bool:
    """Whether a fault of the others would have shown, and no bad finding is about all nodes or all
    pairs."""
    judged = verdict.sensitivity.is_enough and not verdict.refused
    return judged and n_good(verdict) > 0 and not _all_pairs_are_bad(verdict)


def _all_pairs_are_bad(verdict: Verdict) -> bool:
    """Whether each pair is of a hop class that is bad as a whole, or a bad finding names neither
    nodes nor pairs nor classes."""
    of_some = AccusationFacts | PairFacts | LostHostFacts | NodeFaultFacts
    whole = [one.facts for one in _bad(verdict) if not isinstance(one.facts, of_some)]
    classes = [one for one in whole if isinstance(one, ClassFacts)]
    if len(classes) < len(whole):
        return True
    bad = {(kind.metric, kind.words) for one in classes for kind in one.hop_classes}
    every, place = hop_classes(verdict.survey.crossings)
    such = [number for number, kind in enumerate(every) if (kind.metric, kind.words) in bad]
    pair = verdict.survey.readings.pair
    return set(pair[np.isin(place, such)].tolist()) == set(pair.tolist())


def _bad(verdict: Verdict) -> list[Finding]:
    return [one for one in verdict.findings if one.severity is Severity.BAD]
