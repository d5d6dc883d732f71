"""Reports of a job's logs, one aspect a line: as text and as values."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from weft.bench.logs.log_facts import LogFact
from weft.bench.logs.ranks import JobLog
from weft.bench.logs.verification import unverified
from weft.core.units import format_size
from weft.core.words import counted
from weft.doctor.log.account import account
from weft.doctor.log.adapters import adapter_use
from weft.doctor.log.mpi import sharp_groups, sharp_trees
from weft.doctor.log.network import share, some


@dataclass(frozen=True, slots=True)
class Aspect:
    """One line of the picture: its name, its text and the same as values."""

    name: str
    text: str
    values: Any


def aspects(log: JobLog) -> list[Aspect]:
    """All aspects, in the order in which a job comes up."""
    makers = (
        _versions,
        _ranks,
        _hosts,
        _account,
        _plugins,
        _networks,
        _devices,
        _adapters,
        _gpu_direct,
        _channels,
        _proxies,
        _nvls,
        _collnet,
        _algorithms,
        _fallbacks,
        _components,
        _lanes,
        _fabrics,
        _sharp,
        _variables,
    )
    return [aspect for maker in makers for aspect in maker(log)]


def _rows_of(log: JobLog, facts: Iterable[LogFact], *names: str) -> list[dict[str, Any]]:
    """Each fact's words by these names, and how many ranks logged it."""
    return [
        {**dict(zip(names, fact.words, strict=False)), "n_ranks": len(log.by(fact))}
        for fact in facts
    ]


def _counts_of(name: str, log: JobLog, by_value: Mapping[str, frozenset[int]]) -> Iterator[Aspect]:
    """An aspect of values with the ranks of each; none without a value."""
    if by_value:
        text = some([f"{value} by {share(log, ranks)}" for value, ranks in by_value.items()])
        yield Aspect(name, text, {value: len(ranks) for value, ranks in by_value.items()})


def _versions(log: JobLog) -> Iterator[Aspect]:
    doubts = unverified(log.facts)
    rows, parts = [], []
    for fact in log.facts.of("version"):
        library, version = fact.words[0], fact.words[1]
        is_verified = not {library, " ".join(fact.words)} & doubts.keys()
        rows.append({"library": library, "version": version, "is_verified": is_verified})
        parts.append(f"{library} {version}" + ("" if is_verified else " (unverified)"))
    if rows:
        yield Aspect("version", some(parts), rows)


def _ranks(log: JobLog) -> Iterator[Aspect]:
    hosts = list(dict.fromkeys(rank.host for rank in log.ranks if rank.host))
    states = log.values("communicator", 2)
    done = states.get("COMPLETE", frozenset())
    text = share(log, log.everyone) + (f" on {counted(len(hosts), 'host')}" if hosts else "")
    if states:
        text += f", {len(done):,} initialised"
    values = {
        "n_ranks": len(log.ranks),
        "n_expected": log.n_expected,
        "n_nodes": log.n_nodes,
        "n_initialised": len(done),
        "hosts": hosts[:1024],
    }
    yield Aspect("ranks", text, values)


def _hosts(log: JobLog) -> Iterator[Aspect]:
    """How many there are, and the lines that say so."""
    hosts = log.host_count
    n = "unknown" if hosts.n is None else str(hosts.n)
    yield Aspect("hosts", f"{n}: {hosts.evidence}", {"n": hosts.n, "evidence": hosts.evidence})


def _account(log: JobLog) -> Iterator[Aspect]:
    text = account(log)
    if text:
        yield Aspect("used", text, text)


def _adapters(log: JobLog) -> Iterator[Aspect]:
    use = adapter_use(log)
    if use is not None:
        values = {"found": list(use.found), "used": list(use.used), "idle": list(use.idle)}
        yield Aspect("adapters used", use.sentence, values)


def _plugins(log: JobLog) -> Iterator[Aspect]:
    parts: dict[str, None] = {}
    values = []
    for kind, verb in PLUGIN_STATES.items():
        for fact in log.facts.of(kind):
            values.append({"what": kind, "words": list(fact.words), "n_ranks": len(log.by(fact))})
            name = fact.words[0]
            if kind == "plugin_loaded":
                interface, name, version = fact.words
                name = f"{interface} {name}" + (f" ({version})" if version else "")
            if name:
                parts[f"{verb}: {name}"] = None
    if values:
        yield Aspect("plug-in", some(list(parts)), values)


PLUGIN_STATES = {
    "plugin_asked": "asked for",
    "plugin_missing": "not found",
    "plugin_refused": "refused",
    "plugin_failed": "not initialised",
    "plugin_loaded": "loaded",
}


def _networks(log: JobLog) -> Iterator[Aspect]:
    yield from _counts_of("network", log, log.values("network"))
    providers = [" x ".join(filter(None, fact.words)) for fact in log.facts.of("provider")]
    if providers:
        yield Aspect("libfabric", some(list(dict.fromkeys(providers))), providers)


def _devices(log: JobLog) -> Iterator[Aspect]:
    devices = log.facts.of("nic")
    names = [
        f"[{fact.words[1]}]{fact.words[2]} {fact.words[3]}".rstrip()
        + (" SHARP" if fact.words[4] else "")
        for fact in devices
        if fact.words[0] != "NET/Socket"
    ] or [f"[{fact.words[1]}]{fact.words[2]} TCP" for fact in devices]
    without = dict.fromkeys(fact.words[0] for fact in log.facts.of("no_device"))
    names += [f"{transport} found no device" for transport in without]
    if not names:
        return
    rows = _rows_of(log, devices, "transport", "index", "name", "layer", "sharp")
    for row in rows:
        row |= {"index": int(row["index"]), "sharp": bool(row["sharp"])}
    yield Aspect("NICs", some(names), rows)


def _gpu_direct(log: JobLog) -> Iterator[Aspect]:
    """By NIC: channels that read and write GPUs directly, of all; the state of each adapter."""
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
            "transport": transport,
            "nic": nic,
            "names": sorted(names.get((transport, nic), ())),
            "n_direct": n,
            "n_channel_ends": of,
        }
        for (transport, nic), (n, of) in sorted(counts.items())
    ]
    if rows:
        parts = [
            " ".join([f"{row['transport']}/{row['nic']}", *row["names"][:2]])
            + f" {row['n_direct']} of {row['n_channel_ends']}"
            for row in rows
        ]
        yield Aspect("GPUDirect", some(parts) + " channel ends", rows)
    states = {fact.words[2]: fact.words[3] for fact in log.facts.of("gpu_direct") if fact.words[2]}
    if states:
        rows = [{"adapter": adapter, "state": state} for adapter, state in states.items()]
        parts = [" ".join(one) for one in states.items()]
        yield Aspect("GPUDirect of adapters", some(parts), rows)


def _channels(log: JobLog) -> Iterator[Aspect]:
    counts = dict(sorted(log.n_channels.items()))
    if counts:
        yield Aspect("channels", some([f"{name} {n:,}" for name, n in counts.items()]), counts)


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
    facts = log.facts.of("algorithm")
    rows = [
        {
            **dict(zip(("collective", "algorithm", "protocol"), fact.words, strict=False)),
            "n": fact.n,
            "least_bytes": fact.least,
            "most_bytes": fact.most,
        }
        for fact in facts
    ]
    if rows:
        parts = [
            " ".join(filter(None, fact.words)).lower()
            + f" {format_size(fact.least or 0)} to {format_size(fact.most or 0)}"
            for fact in facts
        ]
        yield Aspect("algorithms", some(parts), rows)


def _fallbacks(log: JobLog) -> Iterator[Aspect]:
    """Things that ranks asked for and did not get, without a warning of the library."""
    facts = log.facts.of("fallback")
    if facts:
        parts = [f"{fact.words[0]} ({share(log, log.by(fact))})" for fact in facts]
        yield Aspect("fall-backs", some(parts, most=4), _rows_of(log, facts, "text"))


def _variables(log: JobLog) -> Iterator[Aspect]:
    parts, counts = [], {}
    for name, values in sorted(log.echoed.items()):
        counts[name] = {value: len(ranks) for value, ranks in values.items()}
        for value, ranks in values.items():
            who = f" ({share(log, ranks)})" if len(values) > 1 else ""
            parts.append(f"{name}={value}{who}")
    if counts:
        yield Aspect("variables", some(parts, most=40), counts)
    by_plugin = ["=".join(fact.words) for fact in log.facts.of("set_by_plugin")]
    if by_plugin:
        yield Aspect("set by the plug-in", some(list(dict.fromkeys(by_plugin))), by_plugin)


def _components(log: JobLog) -> Iterator[Aspect]:
    facts = log.facts.of("component")
    if facts:
        rows = _rows_of(log, facts, "framework", "component", "state")
        yield Aspect("components", some([" ".join(fact.words) for fact in facts]), rows)


def _lanes(log: JobLog) -> Iterator[Aspect]:
    facts = log.facts.of("lanes")
    if facts:
        parts = [
            f"{fact.words[0]} {fact.words[1]}".strip() + f" ({share(log, log.by(fact))})"
            for fact in facts
        ]
        yield Aspect("UCX lanes", some(parts), _rows_of(log, facts, "between", "lanes"))


def _fabrics(log: JobLog) -> Iterator[Aspect]:
    yield from _counts_of("fabric", log, log.values("fabric"))
    adapters = list(log.values("adapter"))
    if adapters:
        yield Aspect("adapters", some(adapters), adapters)


def _sharp(log: JobLog) -> Iterator[Aspect]:
    """Triggered is a communicator of several members in a tree; a tree by itself is an offer."""
    groups = sharp_groups(log)
    trees = [fact.words[0] for fact in log.facts.of("sharp_tree")]
    errors = [fact.words[1] for fact in log.facts.of("sharp_error")]
    if not (groups or trees or errors):
        return
    made = sharp_trees(log)
    text = f"triggered: {some(made)}" if made else "not triggered"
    text += f"; trees {some(trees)}" if trees else ""
    text += f"; {counted(len(errors), 'error')}" if errors else ""
    yield Aspect(
        "SHARP",
        f"{text} (unverified)",
        {
            "is_triggered": bool(made),
            "groups": [{"tree": f.words[0], "n_members": int(f.words[1])} for f in groups],
            "trees": trees,
            "errors": errors,
        },
    )
