"""The networks that ranks used, reasons against faster ones, and GPUDirect RDMA."""

from collections.abc import Iterator

from weft.bench.logs.log_facts import LogFact
from weft.bench.logs.ranks import SOCKET, JobLog
from weft.core.finding import Finding, FindingFacts, FindingKind, Severity
from weft.core.words import counted
from weft.doctor.facts import ChannelFacts, TransportFacts

SLOW_PROVIDERS = {"tcp", "sockets", "udp", "net", "tcp;ofi_rxm", "ofi_rxm;tcp"}
"""libfabric's providers that go through the kernel's TCP. SOURCE: libfabric's fi_provider(7)."""
DEFAULT_PLUGINS = {"", "libnccl-net.so", "librccl-net.so"}
"""NCCL and RCCL look for these where no variable names one."""


OWN_NETWORKS = {"IB", "Socket"}
"""NCCL itself brings them; they log why they fail."""


def judge_network(log: JobLog) -> Iterator[Finding]:
    """Faults of the networks that ranks used, the slow first."""
    used = log.networks
    sockets = used.get(SOCKET, frozenset())
    if used and log.n_nodes == 1:
        yield _inside(log)
    elif sockets:
        yield _sockets(log, sockets)
    yield from _instead(log, sockets)
    yield from _unfit(log, sockets)
    yield from _direct(log)


def _instead(log: JobLog, sockets: frozenset[int]) -> Iterator[Finding]:
    """A plug-in that was there or asked for, and NCCL's own fast network was used."""
    missing = [
        fact for fact in log.facts.of("plugin_missing") if fact.words[0] not in DEFAULT_PLUGINS
    ]
    failed = [fact for fact in log.facts.of("plugin_failed") if fact.words[0] not in OWN_NETWORKS]
    chosen = log.values("network")
    own = frozenset().union(*(chosen.get(name, frozenset()) for name in OWN_NETWORKS))
    for facts, verb in (
        (missing, "did not find"),
        (log.facts.of("plugin_refused"), "refused"),
        (failed, "could not initialise"),
    ):
        ranks = (log.all_by(facts) - sockets) & (own if chosen else log.everyone)
        if ranks:
            reasons = [_plugin_reason(facts[0])] if facts is missing else []
            sentence = (
                f"{share(log, ranks)} {verb} plug-in {facts[0].words[0]} and used NCCL's own "
                "network"
            )
            yield finding(Severity.WARNING, sentence, *reasons, log.facts.place(facts[0]))
            return


def _unfit(log: JobLog, sockets: frozenset[int]) -> Iterator[Finding]:
    """A plug-in that was opened and has no interface that this NCCL looks for: it says no more."""
    last = [fact for fact in log.facts.of("plugin_symbol") if fact.words[0] == "ncclNetPlugin"]
    loaded = [fact for fact in log.facts.of("plugin_loaded") if fact.words[0] == "net"]
    ranks = log.all_by(last) - log.all_by(loaded) - sockets
    if ranks:
        sentence = (
            f"{share(log, ranks)} opened a network plug-in that has none of the interfaces that "
            "this NCCL looks for, and went on without it"
        )
        yield finding(Severity.WARNING, sentence, log.facts.place(last[0]))


def _sockets(log: JobLog, ranks: frozenset[int]) -> Finding:
    reasons = list(why_sockets(log, ranks))
    because = reasons[0][0] if reasons else "the log does not say why"
    evidence = [line for _, line in reasons]
    evidence += [log.facts.place(fact) for fact in log.channels((SOCKET,))[:1]]
    devices = [fact.words[2] for fact in log.facts.of("nic") if fact.words[0] == SOCKET]
    over = f"; interface {some(list(dict.fromkeys(devices)))}" if devices else ""
    evidence.append(f"hosts: {log.host_count.evidence}{over}")
    hosts = list(dict.fromkeys(log.ranks[index].host for index in sorted(ranks)))[:16]
    facts = TransportFacts(SOCKET, len(ranks), hosts, [short for short, _ in reasons])
    sentence = f"{share(log, ranks)} used {SOCKET}: {because}"
    return finding(Severity.BAD, sentence, *evidence, facts=facts)


def _inside(log: JobLog) -> Finding:
    """Ranks of one host that send over a network: nothing shorter between their GPUs works."""
    names = sorted(log.networks)
    ranks = frozenset().union(*log.networks.values())
    return finding(
        Severity.WARNING,
        f"{share(log, ranks)} of one host send over {', '.join(names)}, which one host does not "
        "need: P2P and shared memory between their GPUs are off",
        "do: unset NCCL_P2P_DISABLE and NCCL_SHM_DISABLE; put the ranks of a host into one "
        "container, or share /dev/shm and the host's name between theirs",
        log.facts.place(log.channels()[0]),
    )


def why_sockets(log: JobLog, ranks: frozenset[int]) -> Iterator[tuple[str, str]]:
    """(in a few words, as the log has it and where) of each reason that these ranks give for not
    using another network: settings come first."""

    def reported(kind: str) -> list[LogFact]:
        return [fact for fact in log.facts.of(kind) if log.by(fact) & ranks or not fact.by]

    def reason(fact: LogFact, short: str, whole: str = "") -> tuple[str, str]:
        return short, f"{whole or short} ({log.facts.place(fact)})"

    for fact in reported("echo"):
        name, value = fact.words
        if (name, value.lower()) == ("NCCL_NET", "socket"):
            yield reason(fact, "NCCL_NET=Socket asks for it")
        if name == "NCCL_IB_DISABLE" and value not in ("0", ""):
            yield reason(fact, f"NCCL_IB_DISABLE={value} turns InfiniBand off")
    for fact in reported("plugin_refused"):
        yield reason(fact, f"plug-in {fact.words[0]} is unsupported by this NCCL")
    missing = reported("plugin_missing")
    asked = [fact for fact in missing if fact.words[0] not in DEFAULT_PLUGINS]
    for fact in asked:
        yield reason(fact, f"plug-in not found ({fact.words[0]})", _plugin_reason(fact))
    symbols = [
        fact for fact in reported("plugin_symbol") if fact.words[0].startswith("ncclNetPlugin")
    ]
    loaded = any(fact.words[0] == "net" for fact in reported("plugin_loaded"))
    if symbols and not loaded and not missing:
        names = ", ".join(fact.words[0] for fact in symbols)
        yield reason(
            symbols[0], f"the plug-in has none of the interfaces that NCCL looks for ({names})"
        )
    for fact in reported("plugin_failed"):
        if fact.words[0] not in OWN_NETWORKS:
            yield reason(fact, f"plug-in {fact.words[0]} could not be initialised")
    for fact in reported("no_device"):
        yield reason(fact, NO_DEVICE.get(fact.words[0], "no InfiniBand or RoCE device was found"))
    if not asked:
        for fact in missing:
            if fact.words[0]:
                yield reason(fact, f"plug-in not found ({fact.words[0]})", _plugin_reason(fact))


NO_DEVICE = {
    "libibverbs": "libibverbs could not be opened",
    "NET/OFI": "libfabric has no provider that the plug-in can use",
}


def _plugin_reason(fact: LogFact) -> str:
    """A file and why it is not there, the file once."""
    file, reason = fact.words
    return f"plug-in not found: {reason if reason.startswith(file) else f'{file}: {reason}'}"


def _direct(log: JobLog) -> Iterator[Finding]:
    """Channels over a network, other than sockets, that do not read and write GPUs directly."""
    channels = [fact for fact in log.channels() if fact.words[0] != SOCKET]
    through_host = [fact for fact in channels if not fact.words[2]]
    if not through_host:
        return
    n = sum(fact.n for fact in channels)
    n_slow = sum(fact.n for fact in through_host)
    ranks = log.all_by(through_host)
    off = [fact for fact in log.facts.of("gpu_direct") if fact.words[3] == "off"]
    reasons = [
        f"{_why_not_direct(fact)} for {_device(fact)} ({log.facts.place(fact)})" for fact in off[:4]
    ]
    yield finding(
        Severity.WARNING,
        f"{n_slow:,} of {counted(n, 'network channel')} of {share(log, ranks)} "
        "go through host memory: GPUDirect RDMA is off",
        *reasons,
        log.facts.place(through_host[0]),
        facts=ChannelFacts(n, n_slow),
    )


def _why_not_direct(fact: LogFact) -> str:
    """NCCL's InfiniBand needs one of two methods, and logs an adapter that has neither.

    SOURCE: NVIDIA/nccl, transport/net_ib (properties) and graph/topo.cc.
    """
    of_adapter = "neither nvidia_peermem nor DMA-BUF" if fact.words[0] == "NET/IB" else "disabled"
    return fact.words[4] or of_adapter


def _device(fact: LogFact) -> str:
    if fact.words[1]:
        return fact.words[2] or f"network device {fact.words[1]}"
    return fact.words[0]


MOST_SHOWN = 12


def some(parts: list[str], most: int = MOST_SHOWN) -> str:
    """The first of them, and how many more there are."""
    more = f" and {len(parts) - most:,} more" if len(parts) > most else ""
    return ", ".join(parts[:most]) + more


def share(log: JobLog, ranks: frozenset[int]) -> str:
    """'16 of 16 ranks'."""
    noun = ("rank",) if log.has_numbers else ("process", "processes")
    return f"{len(ranks):,} of {counted(max(len(log.ranks), len(ranks)), *noun)}"


def finding(
    severity: Severity,
    sentence: str,
    *evidence: str,
    kind: FindingKind = FindingKind.MIS_SETTING,
    facts: FindingFacts = FindingFacts(),  # noqa: B008 - it is frozen
) -> Finding:
    """A finding, of a wrong setting unless `kind` says otherwise."""
    return Finding(kind, severity, sentence, evidence, facts=facts)


def not_judged(sentence: str) -> Finding:
    """A note on something that the logs cannot tell."""
    return finding(Severity.NOTE, sentence, kind=FindingKind.NOT_JUDGED)
