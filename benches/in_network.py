"""Published figures of switches that reduce, and the twin's: a part of scripts/fidelity.py.

Hosts are those of the platform, and for the host's own figure also bare machines whose messages
take 0.7 us below one switch: the class of an EDR adapter, assumed, as no table of bare EDR
hosts could be read. What an
aggregation node takes is what a multicast of results saved where two levels of switches reduce
(Bloch et al. 2017): one node's work.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from weft.bench.model import Launch, Trial
from weft.bench.twin.backend import TwinBackend
from weft.catalog.load import facts, platform
from weft.catalog.machine.platform import HostRegime, Platform
from weft.catalog.published_figures import Fact
from weft.topology.fabric_spec import Document, fabric_spec

FACTS = "fact-sharp-"
SMALL, LARGE = "8-b-allreduce-128-hosts-", "4096-b-allreduce-128-hosts-"
HOSTS = 128
BARE_LATENCY_NS = 700
"""Between two hosts below one switch. Assumed."""
BARE_OVERHEAD_NS = 150
"""Of it, each processor's part. Assumed."""
SAT_HEADER_BYTES = 16
"""Of a packet of a stream, added to payload and the usual headers. Assumed."""
STREAM_NODES = 16
STREAM_SIZES = (1 << 20, 4 << 20)
TASKS = (1, 2, 4, 14, 28, 56)
TASK_NODES = 128


@dataclass(frozen=True, slots=True)
class Row:
    """A published figure, and the twin's with the hosts of its platform, and bare."""

    what: str
    published: float
    twin: float
    bare: float
    source: str


def fact(name: str) -> Fact:
    """A published figure of SHARP by the end of its id, `up-to` and the like cut off."""
    return next(one for one in facts() if one.id.startswith(FACTS + name))


def number(name: str) -> float:
    """The value of a published figure."""
    value = fact(name).value
    assert value is not None
    return value


def reduction_ns() -> float:
    """The saving of a multicast of results: one aggregation node fewer of two on the path down."""
    saved = number("ud-multicast-result-distribution") / 100
    return round(saved * number(SMALL + "sharp-on") * 1e3)


def switches(scale: float = 1.0, **more: Any) -> dict[str, Any]:
    """Switch-IB 2 with its published payload, or other keys."""
    payload = number("resources-payload-per-outstanding-operation-switch-ib-2")
    return {"reduction_ns": scale * reduction_ns(), "payload_bytes": round(payload), **more}


def bare(of: Platform, scale: float = 1.0) -> Platform:
    """A platform whose hosts are bare machines of the EDR generation."""
    assert of.host is not None
    assert of.switch is not None
    assert of.links.host.delay is not None
    wires_ns = 2 * of.links.host.delay.value + of.switch.delay.value
    regime = HostRegime.model_validate(
        {
            "protocol": "eager",
            "send_overhead_ns": scale * BARE_OVERHEAD_NS,
            "recv_overhead_ns": scale * BARE_OVERHEAD_NS,
            "latency_ns": scale * (BARE_LATENCY_NS - 2 * BARE_OVERHEAD_NS - wires_ns),
            "class": "assumed",
            "source": "assumed: the class of an EDR adapter",
        }
    )
    adapter = of.host.adapter_latency.model_copy(update={"value": 0.0})
    host = of.host.model_copy(update={"regimes": (regime,), "adapter_latency": adapter})
    return of.model_copy(update={"host": host})


def latency_us(
    on: Platform,
    n_nodes: int,
    benchmark: str,
    size: int,
    *,
    tasks_per_node: int = 1,
    fabric: Document | None = None,
    **options: Any,
) -> float:
    """The time of a collective of all tasks of so many nodes, on a fabric of its own or not."""
    twin = TwinBackend(on, n_nodes, fabric=fabric)
    counts = {"iterations": 1, "warmup": 0, **options}
    trial = Trial("sharp", benchmark, (size,), tuple(twin.nodes), tasks_per_node, {}, {}, counts)
    (sample,) = twin.measure(Launch(trial, 0, 0))
    return float(sample.metrics["latency_us"])


def by_switches(
    on: Platform, n_nodes: int, benchmark: str, size: int, model: Mapping[str, Any], **more: Any
) -> float:
    """The same by `sharp`."""
    options = {"algorithm": "sharp", "in_network": dict(model)}
    return latency_us(on, n_nodes, benchmark, size, **options, **more)


def rows() -> Iterator[Row]:
    """Graham et al. 2016: 128 hosts."""
    edr = platform("generic-edr")
    hosts = (edr, bare(edr))
    for name, size in ((SMALL, 8), (LARGE, 4096)):
        one = fact(name + "sharp-on")
        times = [by_switches(on, HOSTS, "allreduce", size, switches()) for on in hosts]
        yield Row(one.what, number(name + "sharp-on"), times[0], times[1], one.source)
    for name, size in ((SMALL, 8), (LARGE, 4096)):
        one = fact(name + "without")
        algorithm = "recursive_doubling"
        times = [latency_us(on, HOSTS, "allreduce", size, algorithm=algorithm) for on in hosts]
        yield Row(one.what, number(name + "without"), times[0], times[1], one.source)


def anchor_lines() -> Iterator[str]:
    """The table of 128 hosts."""
    yield "### Switches that reduce: 128 hosts below Switch-IB 2"
    yield ""
    yield f"An aggregation node takes {reduction_ns():g} ns for an operation, up or down, and"
    yield "does one at a time. A multicast of results saved as much: 16 % of 2.83 us, one of"
    yield "three nodes' work (Bloch et al. 2017). Payload (256 B) and operations in flight (8)"
    yield "are NVIDIA's. Hosts are those of `generic-edr`, a virtual machine's; or bare, with"
    yield "messages of 0.7 us below one switch (assumed: an EDR adapter's class). The last row is"
    yield "no gate: it is two to five times these hosts' time."
    yield ""
    yield "| figure | published us | generic-edr | error | bare hosts | error | source |"
    yield "|---|---:|---:|---:|---:|---:|---|"
    for row in rows():
        cells = [row.what, f"{row.published:g}"]
        for twin in (row.twin, row.bare):
            cells += [f"{twin:.2f}", f"{twin / row.published - 1:+.0%}"]
        yield f"| {' | '.join([*cells, row.source])} |"


def frontera_speed_ups(on: Platform, *, boards: bool) -> dict[str, tuple[float, float]]:
    """By benchmark, the published bound and the twin's speed-up at 7,861 nodes; with `boards` its
    directors have the inside that the catalogue takes them to have.
    """
    n_nodes = round(number("on-frontera-nodes"))
    fabric = fabric_spec(on, n_nodes, cabled=True) if boards else None
    model = switches(
        payload_bytes=round(number("resources-payload-per-outstanding-operation-quantum"))
    )
    found = {}
    for benchmark, size in (("allreduce", 8), ("barrier", 0)):
        hosts = latency_us(on, n_nodes, benchmark, size, fabric=fabric)
        reduced = by_switches(on, n_nodes, benchmark, size, model, fabric=fabric)
        found[benchmark] = (number(f"on-frontera-{benchmark}-improvement"), hosts / reduced)
    return found


def frontera_lines() -> Iterator[str]:
    """Frontera's bounds."""
    yield "### Switches that reduce: Frontera, 7,861 nodes"
    yield ""
    yield "Published is the best of all sizes and tasks a node, so no figure should exceed it."
    yield "Slow hosts make the ratio large. A director is one switch, as in a twin of the"
    yield "platform, or line and spine boards, as the catalogue assumes: the tree then has two"
    yield "levels more."
    yield ""
    yield "| benchmark | directors | published, up to | platform's hosts | kept | bare | kept |"
    yield "|---|---|---:|---:|---|---:|---|"
    frontera = platform("frontera")
    for boards in (False, True):
        ups = [frontera_speed_ups(on, boards=boards) for on in (frontera, bare(frontera))]
        for benchmark, (bound, _) in ups[0].items():
            cells = [benchmark, "boards" if boards else "one switch", f"{bound:g}"]
            for up in ups:
                kept = up[benchmark][1] <= bound
                cells += [f"{up[benchmark][1]:.1f}", "yes" if kept else "no"]
            yield f"| {' | '.join(cells)} |"


def task_speed_ups(
    on: Platform, task_ns: float = 0, *, scale: float = 1.0, tasks: Sequence[int] = TASKS
) -> dict[int, float]:
    """By tasks a node, the gain of switches for 8 B."""
    model = switches(scale, task_ns=task_ns)
    return {
        n: latency_us(on, TASK_NODES, "allreduce", 8, tasks_per_node=n)
        / by_switches(on, TASK_NODES, "allreduce", 8, model, tasks_per_node=n)
        for n in tasks
    }


def in_node(of: Platform, scale: float) -> Platform:
    """A platform whose channel inside nodes has another latency."""
    assert of.host is not None
    latency = of.host.intra_node.latency
    latency = latency.model_copy(update={"value": scale * latency.value})
    channel = of.host.intra_node.model_copy(update={"latency": latency})
    return of.model_copy(update={"host": of.host.model_copy(update={"intra_node": channel})})


def routed(of: Platform, scale: float) -> Platform:
    """A platform whose switches have another delay."""
    assert of.switch is not None
    delay = of.switch.delay.model_copy(update={"value": scale * of.switch.delay.value})
    return of.model_copy(update={"switch": of.switch.model_copy(update={"delay": delay})})


def scaled_task_speed_ups() -> dict[str, dict[int, float]]:
    """The gain of switches at few and many tasks a node, by the assumption that is varied."""
    frontera, some = platform("frontera"), (1, 28, 56)
    found = {"as above, task_ns 100": task_speed_ups(frontera, 100, tasks=some)}
    for scale in (0.5, 2):
        by = f"x {scale:g}"
        found[f"task_ns {by}"] = task_speed_ups(frontera, 100 * scale, tasks=some)
        found[f"reduction {by}"] = task_speed_ups(frontera, 100, scale=scale, tasks=some)
        found[f"channel in nodes {by}"] = task_speed_ups(in_node(frontera, scale), 100, tasks=some)
        found[f"delay of switches {by}"] = task_speed_ups(routed(frontera, scale), 100, tasks=some)
    return found


def stream_ups(on: Platform, scale: float, header_bytes: int) -> dict[int, float]:
    """By size, the time of a ring over that of a stream (SAT)."""
    payload = round(number("resources-user-data-per-ost-in-field-logs"))
    sat = {"payload_bytes": payload}
    model = switches(scale, payload_bytes=payload, header_bytes=header_bytes, sat=sat)
    return {
        size: latency_us(on, STREAM_NODES, "allreduce", size, algorithm="ring")
        / by_switches(on, STREAM_NODES, "allreduce", size, model)
        for size in STREAM_SIZES
    }


def scaled_stream_ups() -> dict[str, dict[int, float]]:
    """The gain of streams on rings, by the assumption that is varied."""
    hdr = platform("generic-hdr")
    hosts = {"generic-hdr": hdr, "bare": bare(hdr), "bare x 0.5": bare(hdr, 0.5)}
    hosts["bare x 2"] = bare(hdr, 2)
    found = {name: stream_ups(on, 1, SAT_HEADER_BYTES) for name, on in hosts.items()}
    for scale in (0.5, 2):
        by = f"bare, x {scale:g}"
        own = round(scale * SAT_HEADER_BYTES)
        found[f"{by} bytes of the protocol"] = stream_ups(bare(hdr), 1, own)
        found[f"{by} reduction"] = stream_ups(bare(hdr), scale, SAT_HEADER_BYTES)
        found[f"{by} delay of switches"] = stream_ups(routed(bare(hdr), scale), 1, SAT_HEADER_BYTES)
    return found


def scaled_hosts(of: Platform) -> dict[str, Platform]:
    """A platform, and bare hosts of its own, at half and twice, and below other switches."""
    found = {"generic-edr": of, "bare": bare(of)}
    for scale in (0.5, 2):
        found[f"bare x {scale:g}"] = bare(of, scale)
        found[f"bare, delay of switches x {scale:g}"] = routed(bare(of), scale)
    return found


def claim_lines() -> Iterator[str]:
    """Ordinal claims with assumed constants at half and twice."""
    edr = platform("generic-edr")
    yield "### Switches that reduce: assumed constants at half and twice"
    yield ""
    yield f"{HOSTS} hosts as above; speed-up is the hosts' recursive doubling over `sharp`."
    yield ""
    yield "| reduction | hosts | 8 B speed-up | 4 KiB speed-up | multicast results save at 8 B |"
    yield "|---:|---|---:|---:|---:|"
    for scale in (0.5, 1, 2):
        for name, on in scaled_hosts(edr).items():
            times = []
            for size in (8, 4096):
                slow = latency_us(on, HOSTS, "allreduce", size, algorithm="recursive_doubling")
                times.append((slow, by_switches(on, HOSTS, "allreduce", size, switches(scale))))
            ups = [slow / fast for slow, fast in times]
            model = switches(scale, result="multicast")
            saved = 1 - by_switches(on, HOSTS, "allreduce", 8, model) / times[0][1]
            yield f"| x {scale:g} | {name} | {ups[0]:.2f} | {ups[1]:.2f} | {saved:.0%} |"
    yield ""
    yield f"By tasks a node ({TASK_NODES} nodes of Frontera, 8 B; `task_ns` 0, 100 and 200)."
    yield "Hosts take MVAPICH2's choice there: node by node from 2 tasks a node on."
    yield ""
    yield f"| task_ns | {' | '.join(str(tasks) for tasks in TASKS)} |"
    yield f"|---:|{'---:|' * len(TASKS)}"
    for task_ns in (0, 100, 200):
        ups_of = task_speed_ups(platform("frontera"), task_ns)
        yield f"| {task_ns} | {' | '.join(f'{ups_of[tasks]:.2f}' for tasks in TASKS)} |"
    yield ""
    yield "More tasks a node gain less: true with each of these at half and twice. That 56 gain"
    yield "little depends on `task_ns`."
    yield ""
    yield "| scaled | 1 | 28 | 56 |"
    yield "|---|---:|---:|---:|"
    for what, ups_of in scaled_task_speed_ups().items():
        yield f"| {what} | {' | '.join(f'{up:.2f}' for up in ups_of.values())} |"
    yield ""
    most = 2 * (STREAM_NODES - 1) / STREAM_NODES
    yield f"Streams (SAT, payload 1024 B) against rings, {STREAM_NODES} hosts of HDR: their"
    yield f"adapters send {most:g} times less, and results do not wait for one another."
    yield "Published: 2 to 5 times as fast as hosts' algorithms (Graham et al., ISC 2020)."
    yield ""
    yield "| hosts, scaled constant | 1 MiB | 4 MiB |"
    yield "|---|---:|---:|"
    for what, ups_of in scaled_stream_ups().items():
        yield f"| {what} | {' | '.join(f'{up:.2f}' for up in ups_of.values())} |"


def lines() -> Iterator[str]:
    """All tables."""
    yield from anchor_lines()
    yield ""
    yield from frontera_lines()
    yield ""
    yield from claim_lines()


if __name__ == "__main__":
    sys.stdout.write("\n".join(lines()) + "\n")
