"""NCCL on Slingshot twins: published figures, the orders of the source, and how firm they are.

slingshot.py    print the tables of docs/concepts/fidelity.md
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benches.slingshot_claims import ARMS, BUFFER, MIB, firm_lines, measured
from benches.slingshot_container import container_orders

from weft.bench.model import Launch, Trial
from weft.bench.twin.backend import TwinBackend, simulate
from weft.catalog.load import platform

NODES = (1, 2, 4, 8, 16, 32)
FRAMEWORKS = {"training_step": "Horovod's", "training_step_ddp": "PyTorch's"}
"""By benchmark whose synthetic benchmark it is."""
CONGESTION_IMPACT = 1.0
"""To the digit that GPCNeT prints. SOURCE: "Fabric validation using GPCNet tests" (Slingshot,
GPCNeT 1.3, 64 nodes)."""


@cache
def busbw_gb_s(name: str, nodes: int, gpus: int, arm: str, size: int = BUFFER) -> float:
    """Bus bandwidth of an allreduce."""
    return measured(platform(name), "allreduce", size, (nodes, gpus), arm)["busbw_gb_s"]


@cache
def images_per_s(
    nodes: int, gpus: int, arm: str, benchmark: str = "training_step"
) -> tuple[float, float]:
    """(images a second of all GPUs, scaling efficiency) of a step on alps-a100."""
    found = measured(platform("alps-a100"), benchmark, 0, (nodes, gpus), arm)
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


def training_lines(benchmark: str) -> Iterator[str]:
    """Images a second and scaling efficiency by arm."""
    yield f"alps-a100, a step of {FRAMEWORKS[benchmark]} synthetic benchmark with ResNet-101:"
    yield "images a second, and in brackets the share of as many GPUs alone:"
    yield ""
    yield "| nodes x GPUs | sockets | ofi | ofi-gpudirect | gain of the plug-in |"
    yield "|---:|---:|---:|---:|---:|"
    for gpus in (1, 4):
        for nodes in NODES:
            if nodes * gpus < 2:
                continue
            found = [images_per_s(nodes, gpus, arm, benchmark) for arm in ARMS]
            cells = [f"{rate:,.0f} ({share:.1%})" for rate, share in found]
            gain = found[1][0] / found[0][0]
            yield f"| {nodes} x {gpus} | {' | '.join(cells)} | {gain:.3f} |"


def rises(values: Sequence[float]) -> bool:
    """Whether every value is above the one before."""
    return all(before < after for before, after in pairwise(values))


def plugin_gains(gpus: int, benchmark: str = "training_step") -> list[float]:
    """The plug-in's gain in images a second, by number of nodes."""
    return [ofi / sockets for sockets, ofi in _rates(gpus, benchmark)]


def _rates(gpus: int, benchmark: str) -> list[tuple[float, float]]:
    """Images a second over sockets and with the plug-in, by number of nodes."""
    found = []
    for nodes in NODES:
        if nodes * gpus > 1:
            by_arm = [images_per_s(nodes, gpus, arm, benchmark)[0] for arm in ARMS[:2]]
            found.append((by_arm[0], by_arm[1]))
    return found


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
    """A row of the source's orders: its id, and what a twin or `weft doctor container` says."""

    id: str
    found: str
    reason: str


def orders() -> Iterator[Order]:
    """The source's orders, each reproduced or not, and why."""
    name = "alps-a100"
    for row, is_so, reason in container_orders():
        yield Order(row, said(is_so), f"`weft doctor container`, {reason}")
    yield Order("ord-md-connection", "not simulated", "states an interface, no order of times")
    eight = [busbw_gb_s(name, 8, 4, arm) for arm in ARMS]
    yield Order(
        "ord-md-faster",
        said(eight[1] > eight[0]),
        f"8 nodes, 32 GPUs: {eight[1]:.1f} over {eight[0]:.1f} GB/s",
    )
    gains, alone = plugin_gains(4), plugin_gains(1)
    ddp = plugin_gains(4, "training_step_ddp")
    yield Order(
        "ord-md-scale",
        said(gains[0] == 1.0 and rises(gains) and rises(alone)),
        f"Horovod, 1 to 32 nodes of 4 GPUs: gains {listed(gains, 3)}; 2 to 32 nodes of one GPU:"
        f" {listed(alone)}. PyTorch, 4 GPUs: {listed(ddp, 3)}. In the allreduce above the gain"
        " falls from 16 nodes on",
    )
    spread = [alone[-1], gains[NODES.index(8)]]
    yield Order(
        "ord-md-intranode",
        said(spread[0] > spread[1]),
        f"32 GPUs as 32 x 1 and 8 x 4: gains {listed(spread)}",
    )
    gaps = [ofi - sockets for sockets, ofi in _rates(4, "training_step")]
    yield Order(
        "ord-md-horovod",
        said(gaps[0] == 0 and rises(gaps)),
        f"ResNet-101, 4 to 128 GPUs: images/s more than over sockets {listed(gaps, 0)}",
    )
    yield Order(
        "ord-md-gdr",
        said(eight[2] > eight[1] > eight[0]),
        f"8 nodes, 32 GPUs: {listed([eight[2], eight[1], eight[0]], 1)} GB/s",
    )
    impact = [congestion_impact(law) for law in ("endpoint", "off")]
    yield Order(
        "ord-md-congestion",
        said(round(impact[0], 1) == CONGESTION_IMPACT),
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
    yield ""
    yield "| order | found | why |"
    yield "|---|---|---|"
    for order in orders():
        yield f"| `{order.id}` | {order.found} | {order.reason} |"


def lines() -> Iterator[str]:
    """All tables."""
    yield "### NCCL on Slingshot: sockets, the plug-in, GPUDirect"
    training = (training_lines(benchmark) for benchmark in FRAMEWORKS)
    parts = (published_lines(), allreduce_lines(), *training, order_lines(), firm_lines())
    for part in parts:
        yield ""
        yield from part


if __name__ == "__main__":
    sys.stdout.write("\n".join(lines()) + "\n")
