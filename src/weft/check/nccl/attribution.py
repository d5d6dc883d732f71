"""Which node explains launches of pairs that went wrong: failed, hung, or gave wrong results."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from scipy.stats import binom

from weft.check.nccl.thresholds import nccl_thresholds


@dataclass(frozen=True, slots=True)
class PairEvent:
    """A launch of a pair of hosts, and whether it went wrong. `ends`: by which endpoints, where
    hosts have several."""

    hosts: tuple[str, str]
    is_wrong: bool
    ends: tuple[str, ...] = ()

    @property
    def place(self) -> frozenset[str]:
        """What a launch that repeats it shares."""
        return frozenset(self.ends or self.hosts)

    def partner_of(self, host: str) -> str:
        """The other host."""
        a, b = self.hosts
        return b if host == a else a


@dataclass(frozen=True, slots=True)
class Culprit:
    """One host, or the pair of two that no launch separates. `n_wrong` of its `n` launches went
    wrong, with these `partners`. `sure`: its partners work with others, and chance does not explain
    it. `passed`: it works when repeated."""

    hosts: tuple[str, ...]
    n_wrong: int
    n: int
    partners: tuple[str, ...]
    sure: bool
    passed: bool = False


@dataclass(frozen=True, slots=True)
class Attribution:
    """`culprits` explain all wrong launches, unless their cause `is_common`."""

    culprits: tuple[Culprit, ...]
    n_wrong: int
    n: int
    is_common: bool


def attribution_of(events: Iterable[PairEvent]) -> Attribution:
    """The hosts that explain the wrong launches, the one that explains most first."""
    known = list(events)
    left = [event for event in known if event.is_wrong]
    n_wrong = len(left)
    culprits: list[Culprit] = []
    while left:
        culprit = _next(known, left, {host for one in culprits for host in one.hosts})
        culprits.append(culprit)
        left = [event for event in left if not _explains(culprit, event)]
    limits, culprits = nccl_thresholds(), _beyond_chance(known, culprits)
    sure = sum(one.n_wrong for one in culprits if one.sure and len(one.hosts) == 1)
    is_common = bool(known) and n_wrong > limits.common_share * len(known) and sure < n_wrong / 2
    return Attribution(tuple(culprits), n_wrong, len(known), is_common)


def _beyond_chance(known: Sequence[PairEvent], culprits: Sequence[Culprit]) -> list[Culprit]:
    """The same, none of them sure that chance explains: one of so many hosts would go wrong as
    often, if all did as those launches that no culprit is in (binomial)."""
    named = {one.hosts[0] for one in culprits if len(one.hosts) == 1}
    rest = [event.is_wrong for event in known if not named & set(event.hosts)]
    rate = sum(rest) / len(rest) if rest else 0.0
    n_hosts = len({host for event in known for host in event.hosts})

    def is_chance(one: Culprit) -> bool:
        return bool(n_hosts * binom.sf(one.n_wrong - 1, one.n, rate) >= nccl_thresholds().chance)

    return [
        replace(one, sure=False) if len(one.hosts) == 1 and is_chance(one) else one
        for one in culprits
    ]


def _explains(culprit: Culprit, event: PairEvent) -> bool:
    if len(culprit.hosts) == 1:
        return culprit.hosts[0] in event.hosts
    return set(culprit.hosts) == set(event.hosts)


def _next(known: Sequence[PairEvent], left: Sequence[PairEvent], named: set[str]) -> Culprit:
    """The host with the most wrong partners that are not explained; a pair where none has two."""
    partners: dict[str, dict[str, None]] = defaultdict(dict)
    for event in left:
        for host in event.hosts:
            partners[host][event.partner_of(host)] = None
    of_host = {host: [e for e in known if host in e.hosts] for host in partners}

    def rank(host: str) -> tuple[int, float, str]:
        own = of_host[host]
        return (len(partners[host]), sum(e.is_wrong for e in own) / len(own), host)

    host = max(partners, key=rank)
    others, limits = tuple(partners[host]), nccl_thresholds()
    if len(others) < limits.sure_partners:
        return _pair(known, left[0], named)
    own = of_host[host]
    n_wrong = sum(event.is_wrong for event in own)
    fine = [one for one in others if _works_with_others(known, one, host)]
    always = n_wrong == len(own)
    enough = len(fine) >= limits.sure_partners and (always or n_wrong >= limits.least_wrong)
    return Culprit((host,), n_wrong, len(own), others, sure=enough)


def _pair(known: Sequence[PairEvent], event: PairEvent, named: set[str]) -> Culprit:
    """The two hosts of a wrong launch, and what became of them when repeated."""
    a, b = event.hosts
    same = [one for one in known if one.place == event.place]
    n_wrong = sum(one.is_wrong for one in same)
    fine = _works_with_others(known, a, b) and _works_with_others(known, b, a)
    enough = n_wrong >= nccl_thresholds().pair_repeats and n_wrong == len(same)
    sure = fine and enough and not {a, b} & named
    passed = len(same) > n_wrong
    return Culprit((a, b), n_wrong, len(same), (), sure=sure, passed=passed)


def _works_with_others(known: Sequence[PairEvent], host: str, but: str) -> bool:
    """Whether most launches of a host with others than one of its partners went well."""
    rest = [event for event in known if host in event.hosts and but not in event.hosts]
    return sum(not event.is_wrong for event in rest) > len(rest) / 2
