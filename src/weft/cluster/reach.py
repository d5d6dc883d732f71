"""Which of the named hosts ssh cannot log in to, before anything is measured on them."""

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from weft.cluster.remote import Ssh, each
from weft.cluster.ssh_failure import SshFailure, ssh_failure_of
from weft.core.nodeset import fold, short_name

HOST_S = 12.0
"""Longest that one host has: ssh gives up a connection after 10 s."""
ALL_S = 30.0
"""Longest for all hosts together; those not tried by then are left to the launcher."""

OWN_LAUNCH = (
    *("HYDRA_LAUNCHER", "HYDRA_LAUNCHER_EXEC", "HYDRA_BOOTSTRAP", "HYDRA_BOOTSTRAP_EXEC"),
    *("I_MPI_HYDRA_BOOTSTRAP", "I_MPI_HYDRA_BOOTSTRAP_EXEC", "OMPI_MCA_plm"),
    *("OMPI_MCA_plm_rsh_agent", "PRTE_MCA_plm", "PRTE_MCA_plm_ssh_agent"),
    *("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "PE_HOSTFILE", "FLUX_URI", "COBALT_JOBID"),
)
"""Variables by which a launcher reaches hosts in another way than by ssh.

SOURCE: MPICH's wiki, "Using the Hydra Process Manager"; Intel MPI Developer Reference, "Hydra
Environment Variables"; Open MPI documentation, mpirun(1) and its launching over ssh."""


@dataclass(frozen=True, slots=True)
class Reach:
    """The hosts that were tried; of those not reached, why."""

    failures: Mapping[str, SshFailure]
    n_untried: int = 0

    @property
    def unknown_names(self) -> tuple[str, ...]:
        """The hosts whose names nothing resolves: they never existed, or are misspelt."""
        return tuple(host for host, one in self.failures.items() if one.is_unknown_name)

    def lines(self) -> list[str]:
        """'node[3,7]: no route leads to them; look at ...' for each cause."""
        by_cause: dict[tuple[str, str], list[str]] = {}
        for host, one in self.failures.items():
            remedy = one.remedy.replace(host, "HOST")
            by_cause.setdefault((one.cause, remedy), []).append(host)
        return [
            f"{fold(hosts)}: {cause}" + (f"; {remedy}" if remedy else "")
            for (cause, remedy), hosts in by_cause.items()
        ]


def try_hosts(ssh: Ssh, hosts: Sequence[str]) -> Reach:
    """Log in to each host once, many at a time, within `ALL_S`. This host itself is not tried."""
    until = time.monotonic() + ALL_S

    def try_one(host: str) -> SshFailure | str | None:
        left_s = until - time.monotonic()
        if left_s <= 0:
            return "untried"
        result = ssh.run(host, ["true"], timeout_s=min(HOST_S, left_s))
        return None if result.reached else ssh_failure_of(host, result)

    own = {"localhost", "127.0.0.1", "::1", short_name(os.uname().nodename)}
    ended = each([host for host in hosts if not {host, short_name(host)} & own], try_one)
    failures = {host: one for host, one in ended.items() if isinstance(one, SshFailure)}
    return Reach(failures, sum(one == "untried" for one in ended.values()))
