"""The distribution's packages of an MPI, installed by `sudo -n`: never by a password."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from weft.cluster.bringup.facts import Facts
from weft.cluster.bringup.model import Cluster, Outcome, failed, would
from weft.cluster.remote import SshResult, each

INSTALL_S = 900.0
PRODUCTS = ("openmpi", "mpich")


@dataclass(frozen=True, slots=True)
class Distribution:
    """`commands` in their order, before the packages of the last; `packages` and the compiler
    `wrappers` they bring, by product."""

    commands: tuple[tuple[str, ...], ...]
    packages: Mapping[str, tuple[str, ...]]
    wrappers: Mapping[str, str]


# SOURCE: apt-get(8) and the file lists of Debian 12; dnf(8) and those of Enterprise Linux 9, whose
# MPIs lie in folders of their own, for modules.
DISTRIBUTIONS = {
    "debian": Distribution(
        (
            ("apt-get", "-q", "-o", "DPkg::Lock::Timeout=120", "update"),
            (
                *("apt-get", "-q", "-y", "-o", "DPkg::Lock::Timeout=120"),
                *("--no-install-recommends", "install"),
            ),
        ),
        {
            "openmpi": ("openmpi-bin", "libopenmpi-dev", "gcc", "libc6-dev"),
            "mpich": ("mpich", "libmpich-dev", "gcc", "libc6-dev"),
        },
        {"openmpi": "/usr/bin/mpicc.openmpi", "mpich": "/usr/bin/mpicc.mpich"},
    ),
    "rhel": Distribution(
        (("dnf", "-q", "-y", "install"),),
        {
            "openmpi": ("openmpi", "openmpi-devel", "gcc"),
            "mpich": ("mpich", "mpich-devel", "gcc"),
        },
        {
            "openmpi": "/usr/lib64/openmpi/bin/mpicc",
            "mpich": "/usr/lib64/mpich/bin/mpicc",
        },
    ),
}


def wrapper_of(facts: Facts, product: str) -> str | None:
    """Where the distribution's packages put mpicc; None where the distribution is not known."""
    distribution = _distribution(facts)
    return None if distribution is None else distribution.wrappers[product]


def commands(facts: Facts, product: str) -> list[tuple[str, ...]]:
    """The commands that install it on a host of a known distribution, with `sudo -n` if needed."""
    distribution = _distribution(facts)
    assert distribution is not None
    sudo = () if facts.uid == 0 else ("sudo", "-n")
    *before, last = ((*sudo, *command) for command in distribution.commands)
    return [*before, (*last, *distribution.packages[product])]


def install(cluster: Cluster, hosts: Sequence[str], product: str) -> dict[str, Outcome]:
    """Of the hosts on which it did not go well, why; with --dry-run of all what would be done."""

    def go(host: str) -> Outcome | None:
        words = commands(cluster.facts[host], product)
        if not cluster.mend:
            return would(shlex.join(words[-1]))
        for command in words:
            done = cluster.ssh.run(host, command, timeout_s=INSTALL_S)
            if not done.ok:
                return _why(done, words[-1])
        return None

    return {host: one for host, one in each(hosts, go).items() if one is not None}


def _distribution(facts: Facts) -> Distribution | None:
    of = [DISTRIBUTIONS[name] for name in facts.os_id if name in DISTRIBUTIONS]
    return of[0] if of else None


def _why(result: SshResult, command: Sequence[str]) -> Outcome:
    by_hand = f"run it there by hand: {shlex.join([word for word in command if word != '-n'])}"
    if "password" in result.err or "interactive authentication" in result.err:
        return failed("sudo wants a password there, which weft never asks", by_hand)
    if result.code == 127:
        return failed(f"no '{command[0]}' there", by_hand)
    return failed(result.last_line or "it cannot be installed", by_hand)
