"""Communicators that do not come up, calls that failed, and ranks that fall behind."""

from collections.abc import Iterator

from weft.bench.logs.log_facts import LogFact
from weft.bench.logs.ranks import JobLog
from weft.core.finding import Finding, FindingKind, Severity
from weft.core.words import counted
from weft.doctor.log.network import finding, share, some

RESULTS = {
    "1": "unhandled CUDA error",
    "2": "unhandled system error",
    "3": "internal error",
    "4": "invalid argument",
    "5": "invalid usage",
    "6": "remote process exited or network error",
}
"""SOURCE: NVIDIA/nccl, nccl.h.in (ncclResult_t)."""
OUTERMOST = ("init.cc", "group.cc", "enqueue.cc", "proxy.cc", "bootstrap.cc", "init.cu", "group.cu")
"""Files at the end of a failed call's path through NCCL: beyond them the program gets the error."""


def judge_progress(log: JobLog, *, is_explained: bool) -> Iterator[Finding]:
    """Where the job stopped. `is_explained`: a message already gives the cause."""
    yield from _failed_calls(log, is_explained=is_explained)
    yield from _unfinished(log)
    yield from _behind(log)


def _failed_calls(log: JobLog, *, is_explained: bool) -> Iterator[Finding]:
    """A failed call without a message of the catalogue; with one it says nothing new."""
    failed = _failed_in_use(log)
    if not failed or is_explained:
        return
    outermost = [fact for fact in failed if _source(fact).startswith(OUTERMOST)]
    first = failed[0]
    result = RESULTS.get(first.words[1], f"result {first.words[1]}")
    yield finding(
        Severity.BAD if outermost else Severity.WARNING,
        f"a call of NCCL failed with {result} in {_source(first)} - "
        f"{share(log, log.all_by(failed))}",
        "do: read the NCCL WARN line above it; NCCL_DEBUG=INFO with "
        "NCCL_DEBUG_SUBSYS=INIT,NET shows more",
        log.facts.place(first),
        kind=FindingKind.FAILURE,
    )


def _failed_in_use(log: JobLog) -> list[LogFact]:
    """Failed calls without those of a network that did not start: NCCL takes the next network."""
    networks = [fact.words[0].lower() for fact in log.facts.of("plugin_failed")]
    off = tuple(f"transport/net_{name}" for name in networks)
    return [fact for fact in log.facts.of("failed") if not _source(fact).startswith(off)]


def _source(fact: LogFact) -> str:
    """Where in NCCL a call failed: RCCL names the whole path of its file."""
    return fact.words[0].rsplit("/src/", 1)[-1]


def unfinished(log: JobLog) -> frozenset[int]:
    """Ranks that began more communicators than they finished."""
    facts = log.facts.of("communicator")
    begun = log.times(fact for fact in facts if fact.words[2] == "START")
    done = log.times(fact for fact in facts if fact.words[2] == "COMPLETE")
    return frozenset(rank for rank, n in begun.items() if n > done[rank])


def _unfinished(log: JobLog) -> Iterator[Finding]:
    missing = unfinished(log)
    if not missing:
        return
    hosts = sorted({log.ranks[index].host for index in missing})
    n = log.host_count.n
    over = some([f"NET/{name}" for name in log.chosen]) if log.chosen and n != 1 else ""
    span = f" of {counted(log.n_expected, 'rank')}"
    span += f" on {counted(n, 'host')}" if n else ""
    span += f" over {over}" if over else ""
    first = next(fact for fact in log.facts.of("communicator") if fact.words[2] == "START")
    yield finding(
        Severity.BAD,
        f"{share(log, missing)} began a communicator{span} and did not complete it: initialisation "
        "started and did not complete - a hang before Init COMPLETE, or the log ends too soon",
        f"on {', '.join(hosts[:8])}; {log.host_count.evidence}",
        "cause: a rank did not start or waits, or ranks cannot reach each other's addresses "
        "(NCCL_SOCKET_IFNAME, firewall) or adapters (NCCL_IB_HCA, GID)",
        "do: look for ranks without the line; let every rank write its own log "
        "(NCCL_DEBUG_FILE=nccl.%h.%p.log) and give them all",
        log.facts.place(first),
        kind=FindingKind.FAILURE,
    )


def _behind(log: JobLog) -> Iterator[Finding]:
    """Ranks that called a collective less often than others: where a job hangs, they are late."""
    for fact in log.facts.of("collective"):
        counts = log.times([fact])
        most = max(counts.values(), default=0)
        late = frozenset(index for index in log.everyone if counts[index] < most)
        if late and most and counts:
            least = min(counts[index] for index in late)
            seen = f"{least:,}" if least == most - 1 else f"{least:,} to {most - 1:,}"
            yield finding(
                Severity.WARNING,
                f"{share(log, late)} called {fact.words[0]} {seen} times, the others {most:,} "
                "times: a collective without an end waits for them",
                "do: look at these ranks: " + some([log.ranks[i].name for i in sorted(late)], 4),
                log.facts.place(fact),
                kind=FindingKind.FAILURE,
            )
            return
