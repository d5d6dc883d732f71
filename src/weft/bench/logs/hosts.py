"""How many hosts take part in a job, and which lines of its log say so."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from weft.core.words import counted

if TYPE_CHECKING:
    from weft.bench.logs.ranks import JobLog

MOST_NAMES = 4


@dataclass(frozen=True, slots=True)
class HostCount:
    """Hosts that a communicator spans. `n` is None where no line tells; `evidence` is in words."""

    n: int | None
    evidence: str


def host_count(log: "JobLog") -> HostCount:
    """The hosts of the widest communicator: as it says, as nccl-tests lists them, as its ranks'
    hosts tell, or as channels cross a network."""
    return _stated(log) or _counted(log) or HostCount(None, _why_unknown(log))


def _stated(log: "JobLog") -> HostCount | None:
    places = log.facts.of("place")
    if places:
        widest = max(places, key=lambda fact: int(fact.words[1]))
        n = int(widest.words[1])
        return HostCount(n, f"nNodes {n} ({log.facts.place(widest)})")
    listed = {int(fact.words[0]): fact.words[1] for fact in log.facts.of("listed")}
    if listed and set(listed) == set(range(max(len(listed), log.n_expected))):
        hosts = list(dict.fromkeys(listed.values()))
        return HostCount(len(hosts), f"nccl-tests lists all ranks on {_names(hosts)}")
    return None


def _counted(log: "JobLog") -> HostCount | None:
    n, is_whole = _of_members(log)
    if n > 1:
        return HostCount(n, _speaking(log))
    addresses = _addresses(log)
    if len(addresses) > 1:
        return HostCount(len(addresses), f"addresses of start-up: {_names(addresses)}")
    names = sorted(log.hosts_of(log.everyone))
    whole = HostCount(1, f"all ranks of the communicator are on {_names(names)}")
    return whole if n and is_whole else None


def _why_unknown(log: "JobLog") -> str:
    if not log.hosts_of(log.everyone):
        return "no host is named"
    crossing = [*log.channels(), *log.facts.of("network_path")]
    if crossing:
        where = log.facts.place(crossing[0])
        return f"{_speaking(log)}; a network is between ranks ({where}): 2 hosts or more"
    return f"{_speaking(log)}; the other ranks' lines are missing"


def _speaking(log: "JobLog") -> str:
    names = sorted(log.hosts_of(log.everyone))
    return f"{counted(len(names), 'host')} in these lines ({_names(names)})"


def _of_members(log: "JobLog") -> tuple[int, bool]:
    """Most hosts of a communicator's ranks; whether each communicator's ranks are all here."""
    members: dict[tuple[str, int], set[int]] = {}
    for fact in log.facts.of("communicator"):
        key = fact.words[0], int(fact.words[1])
        members.setdefault(key, set()).update(log.by(fact))
    if not members:
        return len(log.hosts_of(log.everyone)), False
    if len(members) == 1 and _are_different_ranks(log):
        # Ranks whose own line is missing are in the one communicator, too.
        members = {key: set(log.everyone) for key in members}
    known = max(len(log.hosts_of(ranks)) for ranks in members.values())
    return known, all(len(ranks) >= n_ranks for (_, n_ranks), ranks in members.items())


def _are_different_ranks(log: "JobLog") -> bool:
    numbers = [rank.number for rank in log.ranks if rank.number is not None]
    return len(set(numbers)) == len(numbers)


def _addresses(log: "JobLog") -> Sequence[str]:
    """Different addresses of one interface under one host's name: hosts whose names are equal."""
    found: dict[tuple[str, str], dict[str, None]] = {}
    for fact in log.facts.of("bootstrap"):
        interface, address = fact.words
        if address.startswith(("127.", "::1", "fe80")) or not fact.by:
            continue
        for host in log.hosts_of(log.by(fact)):
            found.setdefault((host, interface), {})[address] = None
    return max((list(addresses) for addresses in found.values()), key=len, default=[])


def _names(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMES:,} more" if len(names) > MOST_NAMES else ""
    return ", ".join(names[:MOST_NAMES]) + more
