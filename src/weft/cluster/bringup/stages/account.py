"""The same user, home folder and kind of machine everywhere: those of most hosts; and a C library
with which a program of the first host runs."""

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

from weft.cluster.bringup.facts import Facts
from weft.cluster.bringup.model import Cluster, Outcome, doubtful, failed, right

T = TypeVar("T", bound=Hashable)

_SAME: Mapping[str, Callable[[Facts], str]] = {
    "user": lambda facts: facts.user,
    "home": lambda facts: facts.home,
    "machine": lambda facts: facts.machine,
}


def agree_on_account(cluster: Cluster, hosts: Sequence[str]) -> Mapping[str, Outcome]:
    """Agree on the values of most hosts; on the first of two that are equally common."""
    for what, of in _SAME.items():
        cluster.agreed[what] = most_common(of(cluster.facts[host]) for host in hosts)
    first = cluster.facts[hosts[0]]
    cluster.agreed["os"] = most_common(cluster.facts[host].os for host in hosts)
    return {host: _of(cluster.facts[host], cluster.agreed, first) for host in hosts}


def most_common(values: Iterable[T]) -> T:
    """The most common value, the first of several."""
    ordered = list(values)
    counted = Counter(ordered)
    return max(counted, key=lambda value: (counted[value], -ordered.index(value)))


def _of(facts: Facts, agreed: Mapping[str, str], first: Facts) -> Outcome:
    others = [
        f"its {what} is {of(facts)}, elsewhere it is {agreed[what]}"
        for what, of in _SAME.items()
        if of(facts) != agreed[what]
    ]
    if others:
        remedy = "leave it out, or name the same user for all hosts in ~/.ssh/config"
        return failed("; ".join(others), remedy)
    system = ", ".join(word for word in (facts.os, facts.libc) if word)
    if _is_older(facts.libc, first.libc):
        return doubtful(
            f"it runs {system}, the first host {first.os}, {first.libc}: programs compiled there"
            " may not run here",
            "name a host with the oldest C library first: weft's kernel is compiled on it",
        )
    return right(system)


def _is_older(libc: str, first: str) -> bool:
    """Whether a program linked with `first` may miss something in `libc`: another library, or an
    older glibc (its symbols carry versions; newer ones hold those of the older)."""
    ours, theirs = (re.fullmatch(r"glibc (\d+)\.(\d+)", text) for text in (libc, first))
    if ours is None or theirs is None:
        return libc != first
    return tuple(map(int, ours.groups())) < tuple(map(int, theirs.groups()))
