"""Limits that slow MPI down or stop it: locked memory and shared memory."""

from collections.abc import Mapping, Sequence

from weft.cluster.bringup.facts import Facts
from weft.cluster.bringup.model import RIGHT, Cluster, Outcome, doubtful, unknown

SHM = "/dev/shm"  # noqa: S108
SHM_BYTES_A_CPU = 64 << 20
"""Room in /dev/shm for each rank of a host: MPICH and Open MPI want some tens of MB each."""


def check_limits(cluster: Cluster, hosts: Sequence[str]) -> Mapping[str, Outcome]:
    """Report limits that are too low: only the administrator changes them."""
    return {host: _of(cluster.facts[host]) for host in hosts}


def _of(facts: Facts) -> Outcome:
    if facts.ports and not facts.reports_memlock:
        return unknown("it does not report its limit of locked memory", "ulimit -l on that host")
    if facts.shm_bytes is None:
        return unknown(f"it does not report the room in {SHM}", f"df -k {SHM} on that host")
    if facts.ports and facts.memlock_kib is not None:
        return doubtful(
            f"only {facts.memlock_kib} KiB of memory may be locked: RDMA needs more",
            "'* soft memlock unlimited' and '* hard memlock unlimited' in"
            " /etc/security/limits.conf there, and log in again",
        )
    least = SHM_BYTES_A_CPU * facts.n_cpus
    if facts.shm_bytes < least:
        return doubtful(
            f"{SHM} has {facts.shm_bytes >> 20} MiB left for {facts.n_cpus} CPUs",
            f"mount it larger: {least >> 20} MiB or more",
        )
    return RIGHT
