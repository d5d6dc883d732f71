"""Hosts that a run lost: they answered no more, and the others were measured without them."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from weft.cluster.ssh_failure import SshFailure

NO_CAUSE = SshFailure("the cause is unknown")


@dataclass(frozen=True, slots=True)
class LostHost:
    """`cause` and `remedy` in words, the remedy "" where none is known. `surveyed`: it was lost
    only after the survey had its readings."""

    host: str
    cause: str
    remedy: str = ""
    surveyed: bool = False

    @property
    def sentence(self) -> str:
        """'node3 does not answer: nothing listens on its ssh port'."""
        return f"{self.host} does not answer: {self.cause}"

    def to_record(self) -> dict[str, Any]:
        """As a run remembers it."""
        return asdict(self)


def lost_hosts_of_record(record: Any) -> tuple[LostHost, ...]:
    """The hosts of records by `to_record`; none of a run that remembers none."""
    return tuple(
        LostHost(str(one["host"]), str(one["cause"]), str(one["remedy"]), bool(one["surveyed"]))
        for one in record or ()
    )


def lost_hosts_of(
    hosts: Iterable[str], why: Mapping[str, SshFailure], *, surveyed: bool = False
) -> tuple[LostHost, ...]:
    """These hosts, with what is known of each."""
    causes = {host: why.get(host, NO_CAUSE) for host in hosts}
    return tuple(LostHost(host, it.cause, it.remedy, surveyed) for host, it in causes.items())
