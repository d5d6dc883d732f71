"""Faults in a job's logs as findings, the worst first."""

from collections.abc import Iterable, Iterator

from weft.bench.logs.ranks import COLLNET, GIVEN_UP, JobLog
from weft.bench.logs.verification import unverified
from weft.core.finding import FAULTS, Finding, FindingKind, Severity, worst_first
from weft.core.words import counted
from weft.doctor.log.account import judge_account
from weft.doctor.log.adapters import judge_adapters
from weft.doctor.log.hangs import judge_progress
from weft.doctor.log.messages import has_fatal, judge_messages, unknown_warnings
from weft.doctor.log.mpi import judge_mpi
from weft.doctor.log.network import finding, judge_network, not_judged, share
from weft.doctor.log.read_values import judge_read_values

MOST_WARNINGS = 8


def judge(log: JobLog) -> list[Finding]:
    """Findings, the worst first; the first sentence is the verdict."""
    found = [
        *judge_messages(log),
        *judge_progress(log, is_explained=has_fatal(log)),
        *judge_read_values(log),
        *judge_network(log),
        *judge_mpi(log),
        *_topology(log),
        *_switches(log),
        *_multicast(log),
        *_refused(log),
        *_versions(log),
        *_warnings(log),
        *judge_adapters(log),
        *_coverage(log),
    ]
    has_fault = any(one.severity in FAULTS for one in found)
    return in_order([*found, *judge_account(log, has_fault=has_fault)])


def in_order(findings: Iterable[Finding]) -> list[Finding]:
    """The verdict first: faults, the worst first, or the good where there is no fault; then notes.
    Equal ones keep the order of the job's start. With a bad one the verdict is known."""
    found = worst_first(findings)
    bad = [one for one in found if one.severity is Severity.BAD]
    open_ones = [one for one in found if one.severity is Severity.UNKNOWN and not bad]
    warnings = [one for one in found if one.severity is Severity.WARNING]
    good = [one for one in found if one.severity is Severity.GOOD]
    notes = [one for one in found if one.severity is Severity.NOTE]
    return [*([*bad, *open_ones, *warnings] or good), *notes]


def log_verdict(findings: Iterable[Finding]) -> Severity:
    """BAD, or else UNKNOWN where the log does not suffice, or else the worst."""
    counted_ones = [one for one in findings if one.severity is not Severity.NOTE]
    return worst_first(counted_ones)[0].severity if counted_ones else Severity.UNKNOWN


def _topology(log: JobLog) -> Iterator[Finding]:
    for fact in log.facts.of("topology_missing"):
        file, reason = fact.words
        if file.startswith("/var/run/nvidia-topologyd/"):
            continue  # Looked for by every job that names no file.
        yield finding(
            Severity.BAD,
            f"{share(log, log.by(fact))} could not open the topology file {file} ({reason}) "
            "and went on without it",
            log.facts.place(fact),
        )


def _switches(log: JobLog) -> Iterator[Finding]:
    """Reduction in switches that was asked for and did not come to be."""
    asked = log.echoed.get("NCCL_COLLNET_ENABLE", {})
    asking = [ranks for value, ranks in asked.items() if value not in ("0", "")]
    if not (asking or log.gives_up_collnet) or log.with_collnet or log.n_nodes == 1:
        return
    wanting = log.all_by(log.channels((COLLNET,))).union(*asking)
    # The plug-in states the reason for which NCCL gives it up.
    off = sorted(log.facts.of("collnet_off"), key=lambda fact: fact.words[0].startswith(GIVEN_UP))
    why = off[0].words[0] if off else "the log names no CollNet channel"
    places = [log.facts.place(fact) for fact in off[:3]]
    yield finding(
        Severity.WARNING,
        f"{share(log, wanting)} asked for CollNet and none uses it: {why}",
        *places,
    )


def _multicast(log: JobLog) -> Iterator[Finding]:
    """NVLink SHARP that was forced where GPUs cannot."""
    forced = log.echoed.get("NCCL_NVLS_ENABLE", {}).get("1")
    off = log.values("nvls").get("off")
    if forced is not None and off:
        yield finding(
            Severity.WARNING,
            f"NCCL_NVLS_ENABLE=1 demands NVLink SHARP, which GPUs of {share(log, off)} lack",
        )


def _refused(log: JobLog) -> Iterator[Finding]:
    for fact in log.facts.of("refused"):
        name, value = fact.words
        yield finding(
            Severity.WARNING,
            f"{name}={value} was refused by {share(log, log.by(fact))}; its default is in force",
            log.facts.place(fact),
        )


def _versions(log: JobLog) -> Iterator[Finding]:
    if len(log.versions) > 1:
        yield finding(
            Severity.WARNING,
            f"ranks run {counted(len(log.versions), 'version')}: {', '.join(log.versions[:6])}",
        )


def _warnings(log: JobLog) -> Iterator[Finding]:
    warnings = unknown_warnings(log)
    for fact in warnings[:MOST_WARNINGS]:
        library, place, text = fact.words
        if library == "NCCL" and log.versions and all("RCCL" in one for one in log.versions):
            library = "RCCL"
        by = log.by(fact)
        who = f"{library} of {share(log, by)}" if by else library
        where = f" (from {place})" if place else ""
        yield finding(
            Severity.WARNING,
            f"{who} warned: {text}",
            f"{log.facts.place(fact)}{where}, {counted(fact.n, 'time')}",
            kind=FindingKind.FAILURE,
        )
    if len(warnings) > MOST_WARNINGS:
        more = len(warnings) - MOST_WARNINGS
        yield finding(Severity.WARNING, counted(more, "more warning"), kind=FindingKind.FAILURE)


def _coverage(log: JobLog) -> Iterator[Finding]:
    """Gaps in these logs."""
    numbered = [rank.number for rank in log.ranks if rank.number is not None]
    n_here = min(len(log.ranks), log.n_expected)
    if len(set(numbered)) < len(numbered):
        yield not_judged(
            f"{len(numbered):,} processes report {len(set(numbered)):,} rank numbers: "
            "the logs mix several runs; read each run alone"
        )
    elif numbered and n_here < log.n_expected:
        yield not_judged(f"the logs cover {n_here:,} of {log.n_expected:,} ranks")
    for library, why in unverified(log.facts).items():
        yield not_judged(f"unverified: {library}; {why}")
    for source in log.facts.sources:
        if source.n_torn:
            yield not_judged(f"{source.name}: {counted(source.n_torn, 'line')} torn by another")
        if source.endless:
            yield not_judged(f"{source.name}: has no end; the remaining part was left out")
        if source.cut is not None:
            yield not_judged(f"{source.name}:{source.cut}: too long a line; its end was cut")
    if log.facts.n_left_out:
        yield not_judged(f"{log.facts.n_left_out:,} facts were left out: over the limit")
