"""Had every rank its own CPU, next to its device? Findings from the reports of the ranks."""

from collections.abc import Sequence

from weft.core.finding import Finding, FindingKind, Severity
from weft.core.words import counted
from weft.validity.facts import RankFacts, ValidityFacts
from weft.validity.proof import Proof


def oversubscribed() -> Finding:
    """More ranks than CPUs: the scheduler was measured."""
    return Finding(
        FindingKind.NOT_ENOUGH_DATA,
        Severity.NOTE,
        "More ranks than cores shared a host, so the times support no verdict.",
        evidence=(
            "oversubscribed: the operating system's scheduler is part of every time",
            "to mend: give weft a CPU a rank (Slurm: --exclusive, or more --cpus-per-task), or"
            " name fewer --rails",
        ),
        facts=ValidityFacts("oversubscribed"),
    )


def crowded_cpus(proofs: Sequence[Proof]) -> Finding | None:
    """Why ranks had to share CPUs, where it is that they were bound to too few of their machine's.
    Ranks that share CPUs and are measured in turns do no harm: the kernel separates the two."""
    found = [p.evidence.crowded_cpus for p in proofs if p.evidence.crowded_cpus is not None]
    worst = max(found, key=lambda one: one.n_ranks, default=None)
    if worst is None:
        return None
    return Finding(
        FindingKind.MIS_SETTING,
        Severity.WARNING,
        f"{counted(worst.n_ranks, 'rank')} on {counted(worst.n_hosts, 'host')} took turns on too"
        " few CPUs, so the times support no verdict.",
        evidence=(
            f"{worst.host}: {worst.n_sharing_cpus} ranks may use no CPU but {worst.cpus},"
            f" of {worst.n_machine_cpus} that the machine has",
            "a rank that waits for its turn takes milliseconds where a message takes microseconds",
            "to mend: unbind (Open MPI: --bind-to none; MPICH: -bind-to none; Slurm:"
            " --cpu-bind=none), or give the job more CPUs (Slurm: --exclusive; else taskset and"
            " cgroups)",
        ),
        facts=RankFacts("crowded-cpus", worst.n_ranks),
    )


def far_ranks(proofs: Sequence[Proof]) -> Finding | None:
    """Ranks whose CPUs are on another NUMA node than the device that carried their messages. On
    one host no device did."""
    between = [proof.evidence for proof in proofs if proof.evidence.hosts > 1]
    found = [(one.far_ranks, one) for one in between if one.far_ranks is not None]
    if not found:
        return None
    far, evidence = max(found, key=lambda one: one[0].n_ranks)
    device = far.rail or "the device that carried its bytes"
    if far.rail is None:
        names = ",".join(one.device for one in evidence.fast_devices) or "DEVICE,..."
        mend = f"--rails {names} binds each rank next to its device"
    else:
        mend = f"allow weft the CPUs of NUMA node {far.device_numa_nodes[0]} (Slurm: --exclusive)"
    return Finding(
        FindingKind.MIS_SETTING,
        Severity.WARNING,
        f"{counted(far.n_ranks, 'rank')} on {counted(far.n_hosts, 'host')} ran on another NUMA"
        " node than their network device.",
        evidence=(
            f"{far.host}: a rank on CPUs {far.cpus} (NUMA node {_nodes(far.cpu_numa_nodes)}),"
            f" {device} on node {_nodes(far.device_numa_nodes)}",
            "every message crosses the link between the sockets or dies of that host",
            f"to mend: {mend}",
        ),
        facts=RankFacts("far-ranks", far.n_ranks),
    )


def _nodes(nodes: Sequence[int]) -> str:
    return ", ".join(map(str, nodes))
