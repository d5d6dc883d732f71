"""MPI libraries and the layers below them: UCX's lanes, libfabric, components, SHARP."""

from collections.abc import Iterator

from weft.bench.logs.log_facts import LogFact
from weft.bench.logs.ranks import JobLog, transports
from weft.core.finding import Finding, Severity
from weft.core.words import counted
from weft.doctor.log.network import SLOW_PROVIDERS, finding, share

FABRIC_LANES = ("rc", "ud", "dc", "srd")
"""UCX's transports over RDMA. SOURCE: openucx/ucx, uct/ib."""
LOCAL_PROVIDERS = {"shm", "sm2", "self"}
"""libfabric's providers inside a node. SOURCE: libfabric's fi_provider(7)."""
FABRIC_BTLS = {"openib", "ugni", "portals4", "usnic"}
"""Open MPI's btls that send over a fabric. uct is none: it says that it is usable without any
device (Open MPI 5.0.11). SOURCE: open-mpi/ompi, directories of opal/mca/btl."""
ONE_GROUP = "1"


def judge_mpi(log: JobLog) -> Iterator[Finding]:
    """Faults below MPI, slow transports first."""
    yield from _lanes(log)
    yield from _providers(log)
    yield from _components(log)
    yield from _sharp(log)
    for fact in log.facts.of("unused"):
        yield finding(
            Severity.WARNING,
            f"UCX knows no {fact.words[0]}, set by {share(log, log.by(fact))}",
            log.facts.place(fact),
        )


def is_over_fabric(names: set[str]) -> bool:
    """Whether one of UCX's transports is RDMA."""
    return any(name.startswith(FABRIC_LANES) for name in names)


def _lanes(log: JobLog) -> Iterator[Finding]:
    """Processes of several hosts whose only transport between them is TCP."""
    if log.n_hosts < 2:
        return
    facts = log.facts.of("lanes")
    slow = [fact for fact in facts if "tcp" in transports(fact)]
    fast = [fact for fact in facts if is_over_fabric(transports(fact))]
    ranks = log.all_by(slow) - log.all_by(fast)
    if ranks:
        missing = [
            f"{fact.words[2]} ({log.facts.place(fact)})"
            for fact in log.facts.of("warning")
            if fact.words[0] == "UCX" and "is not available" in fact.words[2]
        ]
        yield finding(
            Severity.BAD,
            f"{share(log, ranks)} used UCX's tcp between hosts, and no RDMA transport",
            *missing[:3],
            log.facts.place(slow[0]),
        )


def _providers(log: JobLog) -> Iterator[Finding]:
    """libfabric's provider, where a network plug-in of NCCL or an MPI library opened it."""
    slow = [fact for fact in log.facts.of("provider") if fact.words[0].lower() in SLOW_PROVIDERS]
    near = SLOW_PROVIDERS | LOCAL_PROVIDERS
    fast = [fact for fact in log.facts.of("provider") if fact.words[0].lower() not in near]
    ranks = log.all_by(slow) - log.all_by(fast)
    is_somebodys = any(fact.by for fact in slow)
    if slow and (ranks or not is_somebodys) and (log.n_nodes != 1 or log.n_hosts > 1):
        who = share(log, ranks) if ranks else "the job"
        severity = Severity.WARNING if log.n_nodes is None else Severity.BAD
        yield finding(
            severity,
            f"{who} used libfabric's provider {slow[0].words[0]}, which is TCP",
            log.facts.place(slow[0]),
        )


def _components(log: JobLog) -> Iterator[Finding]:
    """Open MPI's: no usable layer; ob1 with TCP only.

    A layer that failed where another was selected was only tried: none was asked for by name.
    """
    pmls = [fact for fact in log.facts.of("component") if fact.words[0] == "pml"]
    selected = log.all_by(fact for fact in pmls if fact.words[2] == "selected")
    failed = [fact for fact in pmls if fact.words[2] in ("failed", "refused")]
    without = log.all_by(failed) - selected
    if without:
        names = list(dict.fromkeys(fact.words[1] for fact in failed if log.by(fact) & without))
        yield finding(
            Severity.BAD,
            f"{share(log, without)} could not use Open MPI's pml {' or '.join(names)}, and used "
            "no other",
            log.facts.place(failed[0]),
        )
    ob1 = log.all_by(fact for fact in pmls if fact.words[1:] == ("ob1", "selected"))
    usable = {
        fact.words[1]
        for fact in log.facts.of("component")
        if fact.words[0] == "btl" and fact.words[2] == "usable"
    }
    if ob1 and "tcp" in usable and not usable & FABRIC_BTLS and log.n_hosts > 1:
        yield finding(
            Severity.BAD,
            f"{share(log, ob1)} used Open MPI's pml ob1 over {', '.join(sorted(usable))}: TCP "
            "between hosts",
        )


def sharp_groups(log: JobLog) -> list[LogFact]:
    """Communicators of more than one member that switches reduce for."""
    return [fact for fact in log.facts.of("sharp_group") if fact.words[1] != ONE_GROUP]


def sharp_trees(log: JobLog) -> list[str]:
    """Their trees in words: 'LLT of 4 members'."""
    words = (fact.words for fact in sharp_groups(log))
    return [f"{kind} of {counted(int(n), 'member')}" for kind, n in words]


def choices(log: JobLog) -> Iterator[tuple[LogFact, str]]:
    """The libraries below MPI and the layers of an MPI that ranks chose, in words."""
    for fact in log.facts.of("component"):
        if fact.words[2] == "selected":
            yield fact, " ".join(fact.words[:2])
    for fact in (*log.facts.of("provider"), *log.facts.of("fabric")):
        yield fact, f"libfabric's {fact.words[0]}"


def _sharp(log: JobLog) -> Iterator[Finding]:
    """SHARP that was asked for and did not come to be, or only in part."""
    errors = log.facts.of("sharp_error")
    groups = sharp_groups(log)
    trees = log.facts.of("sharp_tree")
    if errors:
        state = "only in part" if groups else "not"
        yield finding(
            Severity.WARNING,
            f"SHARP was {state} triggered (unverified): {errors[0].words[1]}",
            *(f"{fact.words[1]} ({log.facts.place(fact)})" for fact in errors[1:4]),
            log.facts.place(errors[0]),
        )
    elif trees and not groups:
        yield finding(
            Severity.WARNING,
            f"SHARP gave the job {counted(len(trees), 'kind')} of tree and no communicator uses "
            "one: it was not triggered (unverified)",
            log.facts.place(trees[0]),
        )
