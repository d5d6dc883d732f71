"""Every host can look up every other's name, and all reach one another over one interface."""

from collections import Counter
from collections.abc import Mapping, Sequence, Set

from weft.cluster.bringup.facts import Facts
from weft.cluster.bringup.model import RIGHT, Cluster, Outcome, doubtful, failed, right, unanswered
from weft.cluster.bringup.stages.account import most_common
from weft.cluster.remote import each

LIMIT_S = 60.0
LOOK_UP = 'for name in "$@"; do getent ahosts "$name" >/dev/null || printf "%s\\n" "$name"; done'
MOST_NAMED = 3
ARPHRD_INFINIBAND = 32  # SOURCE: linux/if_arp.h


def look_up_names(cluster: Cluster, hosts: Sequence[str]) -> Mapping[str, Outcome]:
    """Look up all names; a host that does not know one uses addresses, as ssh does."""

    def look(host: str) -> Outcome:
        words = ["sh", "-c", LOOK_UP, "sh", *hosts]
        result = cluster.ssh.run(host, words, timeout_s=LIMIT_S)
        unknown = result.out.split()
        if not result.ok:
            return unanswered(result)
        if not unknown:
            return RIGHT
        named = ", ".join(unknown[:MOST_NAMED]) + (" ..." if unknown[MOST_NAMED:] else "")
        note = f"it does not know {named}: addresses are used instead"
        return doubtful(note, "add them to its /etc/hosts or to DNS")

    return each(hosts, look)


def agree_on_interface(
    cluster: Cluster, hosts: Sequence[str], *, asked: str | None = None
) -> Mapping[str, Outcome]:
    """Agree on the one asked for; else a fast one of most hosts; else that of most logins."""
    facts = [cluster.facts[host] for host in hosts]
    name = asked or fastest(facts) or most_common(one.interface or "" for one in facts)
    cluster.agreed["interface"] = name
    fast = {port for host in hosts for port, _ in cluster.facts[host].ports}
    cluster.agreed["rails"] = ",".join(sorted(fast))
    outcomes = {}
    for host in hosts:
        there = {interface for interface, _ in cluster.facts[host].addresses}
        outcomes[host] = right(name) if name in there else _lacks(name, there)
    return outcomes


def _lacks(name: str, there: Set[str]) -> Outcome:
    if not there:
        return failed(
            "its list of interfaces is empty",
            "install iproute2 there: 'ip address' lists them",
        )
    note = f"it has no interface {name} that is up" if name else "ssh came by none of its addresses"
    return failed(note, f"it has {', '.join(sorted(there))}: name one with --interface")


def fastest(facts: Sequence[Facts]) -> str | None:
    """InfiniBand, else Slingshot, that is up with an address on more than half of the hosts: the
    one that most have, the first by name of several."""
    counted = Counter(
        (kind, name)
        for one in facts
        for name in {name for name, _ in one.addresses}
        if (kind := _kind(one, name)) is not None
    )
    most = [(kind, -n, name) for (kind, name), n in counted.items() if 2 * n > len(facts)]
    return min(most)[2] if most else None


def _kind(facts: Facts, name: str) -> int | None:
    """0 for InfiniBand, 1 for Slingshot, None for others and for what is down."""
    if facts.links.get(name) is None:
        return None
    if facts.links[name] == ARPHRD_INFINIBAND:
        return 0
    return 1 if name.startswith("hsn") else None
