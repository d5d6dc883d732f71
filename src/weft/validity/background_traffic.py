"""Was the fabric ours alone? Findings from counters before the test, errors, and the scheduler."""

from collections import Counter
from collections.abc import Sequence

from weft.bench.model import Backend
from weft.core.finding import Finding, FindingKind, Severity
from weft.core.words import counted
from weft.validity.facts import ErrorFacts, GrownCounter, HostFacts, NeighbourFacts, ValidityFacts
from weft.validity.proof import Moved, NeighbourJob, Proof
from weft.validity.remedies import remedies
from weft.validity.thresholds import ValidityThresholds, thresholds

_MOST_SAID = 8
_SENDS = ("tx", "xmit")


def quiet_option(backend: Backend) -> dict[str, float]:
    """The option of a trial that watches counters before the first message (s): on real hosts
    only, since a twin has no other traffic."""
    return {"quiet": thresholds().quiet_seconds} if backend.name == "live" else {}


def not_quiet(proofs: Sequence[Proof], limits: ValidityThresholds) -> Finding | None:
    """Devices that carried external bytes while no rank sent. One host needs no network."""
    between = [proof.evidence for proof in proofs if proof.evidence.hosts > 1]
    watched = [evidence.quiet for evidence in between if evidence.quiet is not None]
    busy = [moved for quiet in watched for moved in quiet.moved if _is_busy(moved, limits)]
    if not busy:
        return None
    hosts = list(dict.fromkeys(moved.host for moved in busy))
    return Finding(
        FindingKind.ANOMALY,
        Severity.WARNING,
        f"The network was not quiet before the test: {_traffic(busy[0])} while weft sent nothing.",
        evidence=(
            *(_traffic(moved) for moved in busy[1:_MOST_SAID]),
            "slow pairs of these hosts may be slow for that traffic",
            f"to mend: see who sends (squeue -w {hosts[0]}, or ss and top there), and check again",
        ),
        facts=HostFacts("not-quiet", tuple(hosts)),
    )


def errors_that_grew(proofs: Sequence[Proof]) -> Finding | None:
    """Error counters of the hosts' devices that grew during the run."""
    grown: Counter[tuple[str, str]] = Counter()
    for proof in proofs:
        for name, n in proof.evidence.device_errors.items():
            place, _, counter = name.rpartition(" ")
            grown[place, counter] += n
    grown_by = [
        (place, one, grown[place, one.counter])
        for one in remedies().error
        for place in sorted({place for place, counter in grown if counter == one.counter})
        if grown[place, one.counter] >= one.least
    ]
    if not grown_by:
        return None
    lines = [f"{_of_host(place)}: {one.counter} +{n}, {one.means}" for place, one, n in grown_by]
    more = [f"and {len(lines) - _MOST_SAID} more"] if len(lines) > _MOST_SAID else []
    place, first, _ = grown_by[0]
    hosts = list(dict.fromkeys(place.partition(" ")[0] for place, _, _ in grown_by))
    return Finding(
        FindingKind.ANOMALY,
        Severity.WARNING,
        f"Errors were counted during the run: {lines[0]}.",
        evidence=(*lines[1:_MOST_SAID], *more, f"to mend: {_of_host(place)}: {first.fix}"),
        facts=ErrorFacts(
            "errors",
            tuple(hosts),
            tuple(GrownCounter(place, error.counter, n) for place, error, n in grown_by),
        ),
    )


def neighbours_on_nodes(proofs: Sequence[Proof]) -> Finding | None:
    """Other jobs that run on the nodes under test."""
    jobs = [job for job in _jobs(proofs) if job.nodes]
    if not jobs:
        return None
    lines = [_job_line(job, "on", job.nodes) for job in jobs]
    return Finding(
        FindingKind.ANOMALY,
        Severity.WARNING,
        f"{counted(len(jobs), 'job')} of others shared the nodes under test: {lines[0]}.",
        evidence=(
            *lines[1:_MOST_SAID],
            "their processes and messages are part of every time measured on these nodes",
            "to mend: check idle nodes, or take whole nodes (Slurm: --exclusive)",
        ),
        facts=NeighbourFacts("neighbours", tuple(job.id for job in jobs)),
    )


def neighbours_on_switches(proofs: Sequence[Proof]) -> Finding | None:
    """Other jobs behind the same leaf switches: usual on a busy cluster, and worth knowing."""
    jobs = [job for job in _jobs(proofs) if job.switches and not job.nodes]
    if not jobs:
        return None
    line = _job_line(jobs[0], "behind", jobs[0].switches)
    more = "" if len(jobs) == 1 else f", and {len(jobs) - 1} more"
    return Finding(
        FindingKind.ANOMALY,
        Severity.NOTE,
        f"other jobs ran behind the same leaf switches, and their messages may have met ours:"
        f" {line}{more}",
        facts=NeighbourFacts("neighbours-on-switches", tuple(job.id for job in jobs)),
    )


def neighbours_not_known(proofs: Sequence[Proof]) -> Finding | None:
    """The scheduler was asked about several hosts and did not answer."""
    for proof in proofs:
        asked = proof.evidence.neighbours
        if proof.evidence.hosts > 1 and asked is not None and asked.not_known is not None:
            return Finding(
                FindingKind.NOT_JUDGED,
                Severity.NOTE,
                f"weft does not know whether other jobs ran during the test: {asked.not_known}",
                facts=ValidityFacts("neighbours-not-known"),
            )
    return None


def _is_busy(moved: Moved, limits: ValidityThresholds) -> bool:
    if moved.link_share is None:
        return moved.mb_s >= limits.busy_mb_s
    return moved.link_share >= limits.busy_share


def _traffic(moved: Moved) -> str:
    verb = "sent" if any(word in moved.counter for word in _SENDS) else "received"
    share = "" if moved.link_share is None else f" ({moved.link_share:.0%} of its link)"
    return f"{moved.device} of {moved.host} {verb} {moved.mb_s:,.0f} MB/s{share}"


def _of_host(place: str) -> str:
    """'mlx5_0:1 of n1' of the place 'n1 mlx5_0:1'."""
    host, _, device = place.partition(" ")
    return f"{device} of {host}"


def _jobs(proofs: Sequence[Proof]) -> list[NeighbourJob]:
    """Each job once; the one seen on nodes of ours before the one seen only behind a switch."""
    found: dict[str, NeighbourJob] = {}
    for proof in proofs:
        for job in proof.evidence.neighbours.jobs if proof.evidence.neighbours else ():
            if job.id not in found or (job.nodes and not found[job.id].nodes):
                found[job.id] = job
    return list(found.values())


def _job_line(job: NeighbourJob, where: str, names: Sequence[str]) -> str:
    shown = ", ".join(names[:3])
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"job {job.id} of {job.user} {where} {shown}{more}"
