"""Rounds after the survey for hosts whose launches failed or gave wrong results: each with partners
whose own launches all went well."""

from collections.abc import Iterable, Mapping, Sequence

from weft.bench.model import Sample
from weft.bench.nccl.backend import NODE_PASS, PAIR_PASS
from weft.check.nccl.failed_launches import (
    FAILS,
    WRONG,
    alone_counts,
    has_failed,
    in_pairs,
    is_wrong,
)
from weft.check.nccl.outcomes import GroupOutcome, of_pass, outcomes_of
from weft.check.nccl.thresholds import nccl_thresholds
from weft.check.readings.readings import host_of
from weft.check.suspects.crowding.partner_test import Round
from weft.core.natural import natural_key


def rounds_again(samples: Iterable[Sample]) -> tuple[Round, ...]:
    """Rounds of pairs of endpoints, several pairs at the same time; none where nothing went wrong.
    A host that fails alone is not tested again; nor is anything where most launches fail."""
    outcomes = outcomes_of(samples)
    dead = [node for node, count in alone_counts(outcomes, FAILS).items() if count.always]
    suspects: dict[str, None] = {}
    pairs: list[tuple[str, str]] = []
    for fault in (FAILS, WRONG):
        found, _ = in_pairs(outcomes, fault, apart=dead)
        if found.is_common:
            return ()
        for culprit in found.culprits:
            suspects.update(dict.fromkeys(culprit.hosts))
            if len(culprit.hosts) == 2:
                pairs.append((culprit.hosts[0], culprit.hosts[1]))
    good = _good(outcomes, {*suspects, *dead})
    if not suspects or not good:
        return ()
    limits = nccl_thresholds()
    tested = [*suspects][: limits.hosts_again]
    met = _met(outcomes)
    rounds = [_round(tested, good, met, number) for number in range(limits.partners_again)]
    apart = [_disjoint(pairs)] if pairs else []
    ends = _endpoints(outcomes)
    return tuple(_by_endpoints(of, ends) for of in (*rounds, *apart) if of)


def _endpoints(outcomes: Sequence[GroupOutcome]) -> Mapping[str, Sequence[str]]:
    """By host its endpoints, in the order of their ranks."""
    found: dict[str, set[str]] = {}
    for one in of_pass(outcomes, PAIR_PASS):
        for host, end in zip(one.hosts, one.ends, strict=False):
            found.setdefault(host, set()).add(end)
    return {host: sorted(ends, key=natural_key) for host, ends in found.items()}


def _by_endpoints(pairs: Round, ends: Mapping[str, Sequence[str]]) -> Round:
    """Pairs of hosts as pairs of their endpoints, each with that of the same place."""
    return tuple(
        pair for a, b in pairs for pair in zip(ends.get(a, (a,)), ends.get(b, (b,)), strict=False)
    )


def _good(outcomes: Sequence[GroupOutcome], but: set[str]) -> list[str]:
    """Hosts of which no launch went wrong, in the order of the nodes."""
    seen: dict[str, bool] = {}
    for of in (NODE_PASS, PAIR_PASS):
        for one in of_pass(outcomes, of):
            if but & set(one.hosts):
                continue
            for host in one.hosts:
                well = not has_failed(one) and not is_wrong(one)
                seen[host] = seen.get(host, True) and well
    return [host for host, well in seen.items() if well]


def _met(outcomes: Sequence[GroupOutcome]) -> set[frozenset[str]]:
    return {frozenset(one.hosts) for one in of_pass(outcomes, PAIR_PASS)}


def _round(
    tested: Sequence[str], good: Sequence[str], met: set[frozenset[str]], number: int
) -> Round:
    """Each tested host with a good one of its own, one that it has not met where there is any."""
    free, pairs = list(good), []
    for place, host in enumerate(tested):
        if not free:
            break
        turned = [free[(place + number + i) % len(free)] for i in range(len(free))]
        partner = next((p for p in turned if frozenset((host, p)) not in met), turned[0])
        met.add(frozenset((host, partner)))
        free.remove(partner)
        pairs.append((host, partner))
    return tuple(pairs)


def _disjoint(pairs: Sequence[tuple[str, str]]) -> Round:
    """As many of the pairs as can run at the same time."""
    used: set[str] = set()
    kept = []
    for a, b in pairs:
        if not {a, b} & used:
            used |= {a, b}
            kept.append((a, b))
    return tuple(kept)


def packed(rounds: Iterable[Round]) -> tuple[Round, ...]:
    """Rounds of the same pairs, each in the first round in which its hosts are free."""
    found: list[list[tuple[str, str]]] = []
    hosts: list[set[str]] = []
    for of in rounds:
        own = {host_of(end) for pair in of for end in pair}
        number = next((n for n, used in enumerate(hosts) if not own & used), len(found))
        if number == len(found):
            found.append([])
            hosts.append(set())
        found[number] += of
        hosts[number] |= own
    return tuple(map(tuple, found))
