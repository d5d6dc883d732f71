"""The same user, home folder and kind of machine everywhere: what most hosts have."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from weft.cluster.bringup.facts import Facts
from weft.cluster.bringup.model import RIGHT, Cluster, Outcome, State

_SAME: Mapping[str, Callable[[Facts], str]] = {
    "user": lambda facts: facts.user,
    "home": lambda facts: facts.home,
    "machine": lambda facts: facts.machine,
}


class Account:
    """See the module."""

    name = "account"
    says = "same user, home and architecture"

    def __call__(self, cluster: Cluster, hosts: Sequence[str]) -> Mapping[str, Outcome]:
        """Agrees on what most hosts have; the first of them where two are as many."""
        for what, of in _SAME.items():
            cluster.agreed[what] = most_common(of(cluster.facts[host]) for host in hosts)
        return {host: _of(cluster.facts[host], cluster.agreed) for host in hosts}


def most_common(values: Iterable[str]) -> str:
    """The value that is there most often, the first of several."""
    ordered = list(values)
    counted = Counter(ordered)
    return max(counted, key=lambda value: (counted[value], -ordered.index(value)))


def _of(facts: Facts, agreed: Mapping[str, str]) -> Outcome:
    others = [
        f"its {what} is {of(facts)}, elsewhere it is {agreed[what]}"
        for what, of in _SAME.items()
        if of(facts) != agreed[what]
    ]
    if others:
        remedy = "leave it out, or name the same user for all hosts in ~/.ssh/config"
        return Outcome(State.FAILED, "; ".join(others), remedy)
    return RIGHT
