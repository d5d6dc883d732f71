"""NCCL on Slingshot twins: published figures, the orders of the source, and how firm they are.

slingshot.py    print the tables of docs/concepts/fidelity.md
"""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from weft.bench.model import Launch, Trial
from weft.bench.twin.backend import TwinBackend, simulate
from weft.catalog.load import platform
from weft.catalog.machine.platform import Platform
from weft.catalog.machine.practice import practice_figures

ARMS = ("sockets", "ofi", "ofi-gpudirect")
NODES = (1, 2, 4, 8, 16, 32)
MIB = 1 << 20
BUFFER = 64 * MIB
FIRM_NODES = (2, 4)
"""Of the runs with figures of half and twice their value."""
CONGESTION_IMPACT = 1.0
"""SOURCE: "Fabric validation using GPCNet tests" (Slingshot, GPCNeT 1.3, 64 nodes)."""
ALIKE = 0.02
"""Shares of a gain within which two count as one: chosen."""


def measured(
    machine: Platform, benchmark: str, size: int, shape: tuple[int, int], arm: str
) -> dict[str, float]:
    """The metrics of one size between GPUs, `shape` nodes with so many each, on the first nodes."""
    nodes, gpus = shape
    options = {"iterations": 1, "warmup": 0, "gpu_network": arm}
    if benchmark == "training_step":
        options |= {"model": "resnet101", "framework": "horovod"}
    twin = TwinBackend(machine, nodes)
    trial = Trial("slingshot", benchmark, (size,), twin.nodes, gpus, {}, {}, options)
    (sample,) = twin.measure(Launch(trial, 0, 0))
    return dict(sample.metrics)


@cache
def busbw_gb_s(name: str, nodes: int, gpus: int, arm: str, size: int = BUFFER) -> float:
    """Bus bandwidth of an allreduce."""
    return measured(platform(name), "allreduce", size, (nodes, gpus), arm)["busbw_gb_s"]


@cache
def images_per_s(name: str, nodes: int, gpus: int, arm: str) -> tuple[float, float]:
    """(images a second of all GPUs, scaling efficiency) of Horovod's synthetic benchmark."""
    found = measured(platform(name), "training_step", 0, (nodes, gpus), arm)
    return found["images_per_s"], found["scaling_efficiency"]


def published_lines() -> Iterator[str]:
    """Published bus bandwidths of two nodes, next to the twins'."""
    yield "Allreduce of NCCL, two nodes with four GPUs each. No constant was fitted to these:"
    yield ""
    yield "| machine | published | buffer | GB/s | arm | twin GB/s | error |"
    yield "|---|---|---:|---:|---|---:|---:|"
    rows = (
        ("alps-gh200", "with the plug-in, CSCS", 128, 122.57, "ofi-gpudirect"),
        ("alps-gh200", "without it, CSCS", 128, 5.43, "sockets"),
        ("alps-a100", "reference of CSCS's tests", 1024, 66.0, "ofi-gpudirect"),
        ("alps-a100", "the same", 1024, 66.0, "ofi"),
    )
    for name, what, mib, value, arm in rows:
        twin = busbw_gb_s(name, 2, 4, arm, mib * MIB)
        error = f"{twin / value - 1:+.0%}"
        yield f"| {name} | {what} | {mib} MiB | {value:g} | {arm} | {twin:.1f} | {error} |"
    yield ""
    yield "The twin misses the 66 GB/s of the A100 nodes with GPUDirect: no document names what"
    yield "binds there. Without it, the figure rests on `gpus.host_memory`, which is assumed. The"
    yield "sockets are too fast: a TCP stream has the geometric mean of three published rates."


def allreduce_lines() -> Iterator[str]:
    """Bus bandwidth by arm and number of nodes."""
    yield f"alps-a100, allreduce of {BUFFER // MIB} MiB, four GPUs a node, bus bandwidth in GB/s:"
    yield ""
    yield "| nodes | sockets | ofi | ofi-gpudirect | gain of the plug-in | gain of GPUDirect |"
    yield "|---:|---:|---:|---:|---:|---:|"
    for nodes in NODES:
        by_arm = [busbw_gb_s("alps-a100", nodes, 4, arm) for arm in ARMS]
        gains = [after / before for before, after in pairwise(by_arm)]
        cells = [*(f"{one:.1f}" for one in by_arm), *(f"{gain:.2f}" for gain in gains)]
        yield f"| {nodes} | {' | '.join(cells)} |"
    yield ""
    yield "From 16 nodes on NCCL takes trees in the fast arms, rings over sockets: there the gain"
    yield "in this buffer falls. Up to 128 nodes all adapters are in one group, so that no figure"
    yield "here crosses cables between groups. With GPUs no law of congestion control acts."


def training_lines() -> Iterator[str]:
    """Images a second and scaling efficiency by arm, as the source draws them."""
    yield "alps-a100, a step of Horovod's synthetic benchmark with ResNet-101: images a second, and"
    yield "in brackets the share of as many GPUs alone:"
    yield ""
    yield "| nodes x GPUs | sockets | ofi | ofi-gpudirect | gain of the plug-in |"
    yield "|---:|---:|---:|---:|---:|"
    for gpus in (1, 4):
        for nodes in NODES:
            if nodes * gpus < 2:
                continue
            found = [images_per_s("alps-a100", nodes, gpus, arm) for arm in ARMS]
            cells = [f"{rate:,.0f} ({share:.0%})" for rate, share in found]
            gain = found[1][0] / found[0][0]
            yield f"| {nodes} x {gpus} | {' | '.join(cells)} | {gain:.2f} |"


def rises(values: Sequence[float]) -> bool:
    """Whether the last value is above the first, and none below an earlier one by more than
    ALIKE."""
    most = accumulate(values, max)
    kept = all(value >= top * (1 - ALIKE) for value, top in zip(values, most, strict=True))
    return values[-1] > values[0] and kept


def plugin_gains(gpus: int) -> list[float]:
    """The plug-in's gain in images a second, by number of nodes."""
    nodes = [n for n in NODES if n * gpus > 1]
    rates = [[images_per_s("alps-a100", n, gpus, arm)[0] for arm in ARMS] for n in nodes]
    return [by_arm[1] / by_arm[0] for by_arm in rates]


def congestion_impact(law: str) -> float:
    """How many times as long a small allreduce of eight nodes takes beside an incast of 24."""
    machine = platform("alps-a100")
    twin = TwinBackend(machine, 32)
    options = {"congestion_control": law}
    trial = Trial("impact", "allreduce", (8,), twin.nodes, 1, {}, {}, options)
    made = twin.scenario(Launch(trial, 0, 0))
    made = {key: value for key, value in made.items() if key not in ("placement", "work")}
    victim = {
        "name": "victim",
        "placement": {"nodes": list(twin.nodes[::4]), "tasks_per_node": 1},
        "work": [{"benchmark": "allreduce", "size_bytes": 8, "iterations": 200, "warmup": 20}],
    }
    aggressor: dict[str, Any] = {
        "name": "aggressor",
        "repeat": True,
        "placement": {
            "nodes": [node for i, node in enumerate(twin.nodes) if i % 4],
            "tasks_per_node": 1,
        },
        "work": [{"benchmark": "incast", "size_bytes": MIB // 8, "iterations": 20, "window": 4}],
    }
    times = []
    for tenants in ([victim], [victim, aggressor]):
        outcome = simulate({**made, "tenants": tenants})
        own = [
            float(time)
            for time, tenant in zip(outcome["duration_ps"], outcome["tenant"], strict=True)
            if tenant == 0
        ]
        times.append(sum(own[len(own) // 2 :]))
    return times[1] / times[0]


@dataclass(frozen=True, slots=True)
class Order:
    """A row of the source's orders: its id, and what a twin says of it."""

    id: str
    found: str
    reason: str


def orders() -> Iterator[Order]:
    """The source's orders, each reproduced or not, and why."""
    name = "alps-a100"
    container = "about files and variables of a container: `weft doctor` reads those"
    for row in ("libfabric", "plugin", "selection", "no-libfabric"):
        yield Order(f"ord-md-{row}", "not simulated", container)
    yield Order("ord-md-connection", "not simulated", "states an interface, no order of times")
    eight = [busbw_gb_s(name, 8, 4, arm) for arm in ARMS]
    yield Order(
        "ord-md-faster",
        said(eight[1] > eight[0]),
        f"8 nodes, 32 GPUs: {eight[1]:.1f} over {eight[0]:.1f} GB/s",
    )
    gains, alone = plugin_gains(4), plugin_gains(1)
    yield Order(
        "ord-md-scale",
        said(gains[0] == 1.0 and rises(gains) and rises(alone)),
        f"images a second, 1 to 32 nodes of 4 GPUs: gains {listed(gains)}; 2 to 32 nodes of one"
        f" GPU: {listed(alone)}. In the allreduce above it falls from 16 nodes on",
    )
    spread = [
        images_per_s(name, nodes, gpus, "ofi")[0] / images_per_s(name, nodes, gpus, "sockets")[0]
        for nodes, gpus in ((32, 1), (8, 4))
    ]
    yield Order(
        "ord-md-intranode",
        said(spread[0] > spread[1]),
        f"32 GPUs as 32 x 1 and 8 x 4: gains {listed(spread)}",
    )
    yield Order(
        "ord-md-horovod",
        said(all(gain >= 1 for gain in gains) and rises(gains)),
        f"ResNet-101, gains {listed(gains)}",
    )
    yield Order(
        "ord-md-gdr",
        said(eight[2] > eight[1] > eight[0]),
        f"8 nodes, 32 GPUs: {listed([eight[2], eight[1], eight[0]], 1)} GB/s",
    )
    impact = [congestion_impact(law) for law in ("endpoint", "off")]
    yield Order(
        "ord-md-congestion",
        said(abs(impact[0] - CONGESTION_IMPACT) < 0.1),
        f"a small allreduce beside an incast takes {impact[0]:.2f} times its own time, without"
        f" congestion control {impact[1]:.2f} times",
    )
    yield Order("ord-md-early", "not simulated", "recipes carry dates instead")


def said(is_so: bool) -> str:
    """The word of the table."""
    return "reproduced" if is_so else "**not reproduced**"


def listed(values: Sequence[float], digits: int = 2) -> str:
    """Values in a row."""
    return ", ".join(f"{value:.{digits}f}" for value in values)


def order_lines() -> Iterator[str]:
    """The table of orders."""
    yield "Orders that the source states (Madonna, CANOPIE-HPC at SC23; its plots have no numbers)."
    yield f"Gains within {ALIKE:.0%} count as equal:"
    yield ""
    yield "| order | found | why |"
    yield "|---|---|---|"
    for order in orders():
        yield f"| `{order.id}` | {order.found} | {order.reason} |"


VARIED = (
    *("host.adapter_latency", "host.message_gap", "links.host.delay", "links.switch.delay"),
    *("switch.delay", "switch.buffer", "packets.mtu", "node.hca_pcie", "gpus.host_memory"),
    *("fabric.adaptive.grade", "fabric.group_cables"),
)
"""Assumed and unverified figures of alps-a100 that a run between its GPUs rests on."""
PRACTICE = ("tcp-stream", "tcp-latency")
"""Figures of practice that stand for sockets."""


def scaled(machine: Platform, path: str, factor: float) -> Platform:
    """A platform with one figure times `factor`."""
    document = machine.model_dump(mode="python", by_alias=True, exclude_none=True)
    part: Any = document
    for key in path.split("."):
        part = part[key]
    part["value"] *= factor
    return Platform.model_validate(document)


def claims(machine: Platform) -> Mapping[str, bool]:
    """What the study claims, on a machine: by claim, whether it holds."""
    found = {
        (nodes, arm): measured(machine, "allreduce", BUFFER, (nodes, 4), arm)["busbw_gb_s"]
        for nodes in (1, *FIRM_NODES)
        for arm in ARMS
    }
    gain = {nodes: found[nodes, "ofi"] / found[nodes, "sockets"] for nodes in (1, *FIRM_NODES)}
    return {
        "1 on one node": gain[1] == 1.0,
        "more on two": gain[2] > 1.0,
        "more on four than on two": gain[4] > gain[2],
        "GPUDirect above it": all(
            found[nodes, "ofi-gpudirect"] > found[nodes, "ofi"] for nodes in FIRM_NODES
        ),
    }


def with_practice(name: str, factor: float, run: Callable[[], Mapping[str, bool]]) -> list[bool]:
    """Claims with a figure of practice times `factor`."""
    table = practice_figures()
    before = table[name]
    bounds = {key: getattr(before, key) * factor for key in ("low", "value", "high")}
    table[name] = before.model_copy(update=bounds)
    try:
        return list(run().values())
    finally:
        table[name] = before


def firm_lines() -> Iterator[str]:
    """The claims at half and twice each assumed figure."""
    machine = platform("alps-a100")
    names = list(claims(machine))
    yield "The claims with each assumed figure at half and at twice its value, for"
    yield f"{BUFFER // MIB} MiB, four GPUs a node, one, two and four nodes:"
    yield ""
    yield f"| figure | {' | '.join(names)} |"
    yield f"|---|{'---|' * len(names)}"
    for path in VARIED:
        halves = [list(claims(scaled(machine, path, factor)).values()) for factor in (0.5, 2.0)]
        yield f"| `{path}` | {_held(halves)} |"
    for name in PRACTICE:
        halves = [with_practice(name, factor, lambda: claims(machine)) for factor in (0.5, 2.0)]
        yield f"| `{name}` (practice) | {_held(halves)} |"


def _held(halves: Sequence[Sequence[bool]]) -> str:
    words = {(True, True): "holds", (False, True): "not at half", (True, False): "not at twice"}
    return " | ".join(words.get(pair, "fails") for pair in zip(*halves, strict=True))


def lines() -> Iterator[str]:
    """All tables."""
    yield "### NCCL on Slingshot: sockets, the plug-in, GPUDirect"
    parts = (published_lines, allreduce_lines, training_lines, order_lines, firm_lines)
    for part in parts:
        yield ""
        yield from part()


if __name__ == "__main__":
    sys.stdout.write("\n".join(lines()) + "\n")
