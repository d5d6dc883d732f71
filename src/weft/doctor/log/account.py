"""The network of a job as its log tells it, and what the log lacks for a verdict."""

from collections.abc import Iterator

from weft.bench.logs.ranks import SOCKET, JobLog, transports
from weft.core.finding import Finding, FindingKind, Severity
from weft.core.words import counted
from weft.doctor.log.mpi import choices, is_over_fabric, sharp_trees
from weft.doctor.log.network import finding, share, some, why_sockets

OF_NCCL = (
    "network",
    "channel",
    "communicator",
    "bootstrap",
    "nic",
    "no_device",
    "plugin_loaded",
    "plugin_missing",
    "plugin_asked",
    "connected",
    "channels",
    "failed",
    "network_path",
)
"""Kinds of facts that NCCL or RCCL writes."""
INSIDE = ("P2P", "SHM")


def account(log: JobLog) -> str:
    """What was used, as far as the log names it; empty where it names nothing."""
    sentences = [*_used(log)]
    trees = sharp_trees(log)
    if trees:
        sentences.append(f"SHARP was triggered (unverified): {some(trees)}")
    return "; ".join(sentences)


def judge_account(log: JobLog, *, has_fault: bool) -> Iterator[Finding]:
    """GOOD where the log shows that ranks came up and which network they use; else UNKNOWN with
    what would tell. A log of other libraries that names a fault needs no network for a verdict."""
    used, missing = account(log), gaps(log)
    if not missing and has_fault:
        return
    if used and not missing:
        yield finding(Severity.GOOD, used, kind=FindingKind.HEALTHY)
        return
    missing = missing or ["the log names no network"]
    yield finding(
        Severity.UNKNOWN,
        f"{used or 'no line of ' + share(log, log.everyone) + ' names a network'} - no verdict: "
        + ", ".join(missing),
        *[f"hosts: {log.host_count.evidence}"],
        *_plugins(log),
        "do: give the whole log of every rank, from the start to Init COMPLETE "
        "(NCCL_DEBUG=INFO, NCCL_DEBUG_FILE=nccl.%h.%p.log)",
        kind=FindingKind.NOT_ENOUGH_DATA,
    )


def would_show(log: JobLog) -> tuple[str, ...]:
    """The faults that the lines of a log without a gap rule out."""
    n_lines = sum(source.n_lines for source in log.facts.sources)
    ends = f"a message that ends jobs, in {n_lines:,} lines"
    if not any(log.facts.of(kind) for kind in OF_NCCL):
        return (ends,)
    between = "" if log.n_nodes == 1 else "TCP between nodes and "
    ranks = counted(log.n_expected, "rank")
    return (f"{between}a rank that did not come up, in {ranks}", ends)


def gaps(log: JobLog) -> list[str]:
    """Lines without which a fault would not have shown."""
    warned = any(fact.words[0] == "NCCL" for fact in log.facts.of("warning"))
    if not (warned or any(log.facts.of(kind) for kind in OF_NCCL)):
        return []
    found = []
    done = log.values("communicator", 2).get("COMPLETE", frozenset())
    if not done:
        found.append("no rank logs Init COMPLETE")
    elif len(done) < log.n_expected:
        found.append(f"{len(done):,} of {log.n_expected:,} ranks log Init COMPLETE")
    inside = log.n_nodes == 1 or log.nvlink_between_nodes
    if not (log.networks or inside):
        found.append("what was used is not in the log")
    return found


def _plugins(log: JobLog) -> Iterator[str]:
    for fact in log.facts.of("plugin_loaded")[:2]:
        interface, name, version = fact.words
        shown = f"{name} ({version})" if version else name
        yield f"plug-in loaded: {interface} {shown} ({log.facts.place(fact)})"


def _used(log: JobLog) -> Iterator[str]:
    lanes = [fact for fact in log.facts.of("lanes") if is_over_fabric(transports(fact))]
    picked = [*choices(log)]
    if log.networks:
        used = sorted(log.networks.items())
        over = some([f"{_who(log, ranks)} used {name}" for name, ranks in used])
        is_direct = any(fact.words[2] for fact in log.channels())
        yield over + (", every channel with GPUDirect RDMA" if is_direct else "")
    elif lanes:
        names = sorted(set().union(*(transports(fact) for fact in lanes)))
        yield f"{share(log, log.all_by(lanes))} used UCX over {', '.join(names)}"
    elif log.nvlink_between_nodes:
        who = share(log, log.nvlink_between_nodes)
        yield f"{who} used NVLink between nodes: no network was used"
    elif log.n_nodes == 1 and log.n_hosts > 1:
        yield f"no communicator of {share(log, log.everyone)} spans nodes: no network was used"
    elif log.n_nodes == 1:
        yield (f"{share(log, log.everyone)} on one host: no network is needed" + _through(log))
    elif log.facts.of("network_path"):
        first = log.facts.of("network_path")[0]
        yield (
            f"a network was used: NET/{first.words[0]} is in the topology of "
            f"{share(log, log.all_by(log.facts.of('network_path')))}, which NCCL keeps only for a "
            f"communicator of several hosts ({log.facts.place(first)})"
        )
    elif log.chosen:
        yield from _chosen(log)
    elif picked:
        ranks = log.all_by(fact for fact, _ in picked)
        who = share(log, ranks) if ranks else "the job"
        yield f"{who} chose {some(list(dict.fromkeys(name for _, name in picked)))}"


def _chosen(log: JobLog) -> Iterator[str]:
    """A choice without a sign that anything crosses it."""
    for name, ranks in sorted(log.chosen.items()):
        reasons = list(why_sockets(log, ranks)) if f"NET/{name}" == SOCKET else []
        because = f" because {reasons[0][0]}" if reasons else ""
        yield f"{share(log, ranks)} chose NET/{name}{because}"
    if log.n_hosts == 1:
        yield "1 host is in these lines, and one host needs no network"


def _who(log: JobLog, ranks: frozenset[int]) -> str:
    return share(log, ranks) if ranks else "the job"


def _through(log: JobLog) -> str:
    inside = [name for name in log.n_channels if name.startswith(INSIDE)]
    return f" (channels through {', '.join(sorted(inside))})" if inside else ""
