"""What a job's logs say, one aspect a line: as text and as values."""

from collections.abc import Iterator
from typing import Any

from weft.bench.logs.ranks import JobLog
from weft.bench.logs.verification import unverified
from weft.core.units import format_size
from weft.core.words import counted
from weft.doctor.log.aspect import Aspect, some
from weft.doctor.log.mpi_aspects import aspects_of_mpi
from weft.doctor.log.network import share


def aspects(log: JobLog) -> list[Aspect]:
    """All that the logs say, in the order in which a job comes up."""
    makers = (
        _versions,
        _ranks,
        _plugins,
        _networks,
        _devices,
        _gpu_direct,
        _channels,
        _proxies,
        _nvls,
        _collnet,
        _algorithms,
        _fallbacks,
        aspects_of_mpi,
        _variables,
    )
    return [aspect for maker in makers for aspect in maker(log)]


def _versions(log: JobLog) -> Iterator[Aspect]:
    found = log.facts.of("version")
    if found:
        doubts = unverified(log.facts)
        rows = [
            {
                "library": fact.words[0],
                "version": fact.words[1],
                "is_verified": not {fact.words[0], " ".join(fact.words)} & doubts.keys(),
            }
            for fact in found
        ]
        parts = [
            f"{row['library']} {row['version']}" + ("" if row["is_verified"] else " (unverified)")
            for row in rows
        ]
        yield Aspect("version", some(parts), rows)


def _ranks(log: JobLog) -> Iterator[Aspect]:
    hosts = list(dict.fromkeys(rank.host for rank in log.ranks if rank.host))
    states = log.values("communicator", 2)
    done = states.get("COMPLETE", frozenset())
    text = share(log, log.everyone) + (f" on {counted(len(hosts), 'host')}" if hosts else "")
    if states:
        text += f", {len(done):,} initialised"
    yield Aspect(
        "ranks",
        text,
        {
            "n_ranks": len(log.ranks),
            "n_expected": log.n_expected,
            "n_nodes": log.n_nodes,
            "n_initialised": len(done),
            "hosts": hosts[:1024],
        },
    )


def _plugins(log: JobLog) -> Iterator[Aspect]:
    parts = []
    values = []
    for kind, verb in (
        ("plugin_asked", "asked for"),
        ("plugin_missing", "not found"),
        ("plugin_refused", "refused"),
        ("plugin_failed", "not initialised"),
        ("plugin_loaded", "loaded"),
    ):
        for fact in log.facts.of(kind):
            values.append({"what": kind, "words": list(fact.words), "n_ranks": len(log.by(fact))})
            name = fact.words[0] if kind != "plugin_loaded" else _plugin(fact.words)
            if name:
                parts.append(f"{verb}: {name}")
    if values:
        yield Aspect("plug-in", some(list(dict.fromkeys(parts))), values)


def _plugin(words: tuple[str, ...]) -> str:
    kind, name, version = words
    return f"{kind} {name}" + (f" ({version})" if version else "")


def _networks(log: JobLog) -> Iterator[Aspect]:
    chosen = log.values("network")
    if chosen:
        yield Aspect(
            "network",
            some([f"{name} by {share(log, ranks)}" for name, ranks in chosen.items()]),
            {name: len(ranks) for name, ranks in chosen.items()},
        )
    providers = [" x ".join(filter(None, fact.words)) for fact in log.facts.of("provider")]
    if providers:
        yield Aspect("libfabric", some(list(dict.fromkeys(providers))), providers)


def _devices(log: JobLog) -> Iterator[Aspect]:
    devices = log.facts.of("nic")
    if not devices:
        return
    names = [
        f"[{fact.words[1]}]{fact.words[2]} {fact.words[3]}".rstrip()
        + (" SHARP" if fact.words[4] else "")
        for fact in devices
        if fact.words[0] != "NET/Socket"
    ] or [f"[{fact.words[1]}]{fact.words[2]} TCP" for fact in devices]
    yield Aspect(
        "NICs",
        some(names),
        [
            {
                "transport": fact.words[0],
                "index": int(fact.words[1]),
                "name": fact.words[2],
                "layer": fact.words[3],
                "sharp": bool(fact.words[4]),
                "n_ranks": len(log.by(fact)),
            }
            for fact in devices
        ],
    )


def _gpu_direct(log: JobLog) -> Iterator[Aspect]:
    """By NIC: channels that read and write GPUs directly, of all; what NCCL says of adapters."""
    counts: dict[tuple[str, int], list[int]] = {}
    for fact in log.channels():
        count = counts.setdefault((fact.words[0], int(fact.words[1])), [0, 0])
        count[0] += fact.n if fact.words[2] else 0
        count[1] += fact.n
    names: dict[tuple[str, int], set[str]] = {}
    for fact in log.facts.of("nic"):
        names.setdefault((fact.words[0], int(fact.words[1])), set()).add(fact.words[2])
    rows: list[dict[str, Any]] = [
        {
            "transport": way,
            "nic": nic,
            "names": sorted(names.get((way, nic), ())),
            "n_direct": n,
            "n_channel_ends": of,
        }
        for (way, nic), (n, of) in sorted(counts.items())
    ]
    if rows:
        parts = [
            " ".join([f"{row['transport']}/{row['nic']}", *row["names"][:2]])
            + f" {row['n_direct']} of {row['n_channel_ends']}"
            for row in rows
        ]
        yield Aspect("GPUDirect", some(parts) + " channel ends", rows)
    adapters = {
        fact.words[2]: {"adapter": fact.words[2], "state": fact.words[3]}
        for fact in log.facts.of("gpu_direct")
        if fact.words[2]
    }
    if adapters:
        parts = [f"{row['adapter']} {row['state']}" for row in adapters.values()]
        yield Aspect("GPUDirect of adapters", some(parts), list(adapters.values()))


def _channels(log: JobLog) -> Iterator[Aspect]:
    if log.n_channels:
        text = some([f"{name} {n:,}" for name, n in sorted(log.n_channels.items())])
        yield Aspect("channels", text, dict(sorted(log.n_channels.items())))


def _proxies(log: JobLog) -> Iterator[Aspect]:
    channels = [fact for fact in log.channels() if fact.words[4] == "send"]
    if channels:
        n = sum(fact.n for fact in channels if fact.words[3])
        text = f"{n:,} of {counted(sum(fact.n for fact in channels), 'sending channel')}"
        yield Aspect("PXN", text, {"n_channels": n})


def _nvls(log: JobLog) -> Iterator[Aspect]:
    support = log.values("nvls")
    trees = log.values("connected").get("NVLS tree", frozenset())
    if support or trees:
        parts = [f"multicast {state} on {share(log, ranks)}" for state, ranks in support.items()]
        parts += [f"NVLS tree connected by {share(log, trees)}"] if trees else []
        values = {f"multicast_{state}": len(ranks) for state, ranks in support.items()}
        yield Aspect("NVLS", ", ".join(parts), {**values, "tree": len(trees)})


def _collnet(log: JobLog) -> Iterator[Aspect]:
    used = log.with_collnet
    off = [fact.words[0] for fact in log.facts.of("collnet_off")]
    if used or off:
        text = f"used by {share(log, used)}" if used else f"off: {off[0]}"
        yield Aspect("CollNet", text, {"n_ranks": len(used), "off": off})


def _algorithms(log: JobLog) -> Iterator[Aspect]:
    rows = [
        {
            "collective": fact.words[0],
            "algorithm": fact.words[1],
            "protocol": fact.words[2],
            "n": fact.n,
            "least_bytes": fact.least,
            "most_bytes": fact.most,
        }
        for fact in log.facts.of("algorithm")
    ]
    if rows:
        parts = [
            " ".join(filter(None, fact.words)).lower()
            + f" {format_size(fact.least or 0)} to {format_size(fact.most or 0)}"
            for fact in log.facts.of("algorithm")
        ]
        yield Aspect("algorithms", some(parts), rows)


def _fallbacks(log: JobLog) -> Iterator[Aspect]:
    """What was wanted and is not, where the library does not warn of it."""
    facts = log.facts.of("fallback")
    if facts:
        yield Aspect(
            "fall-backs",
            some([f"{fact.words[0]} ({share(log, log.by(fact))})" for fact in facts], most=4),
            [{"text": fact.words[0], "n_ranks": len(log.by(fact))} for fact in facts],
        )


def _variables(log: JobLog) -> Iterator[Aspect]:
    if log.echoed:
        parts = []
        for name, values in sorted(log.echoed.items()):
            several = len(values) > 1
            parts += [
                f"{name}={value}" + (f" ({share(log, ranks)})" if several else "")
                for value, ranks in values.items()
            ]
        yield Aspect(
            "variables",
            some(parts, most=40),
            {
                name: {value: len(ranks) for value, ranks in values.items()}
                for name, values in sorted(log.echoed.items())
            },
        )
    by_plugin = [f"{'='.join(fact.words)}" for fact in log.facts.of("set_by_plugin")]
    if by_plugin:
        yield Aspect("set by the plug-in", some(list(dict.fromkeys(by_plugin))), by_plugin)
