"""GPU nodes on rails: published figures, formulas and the twin's: a part of scripts/fidelity.py."""

from collections.abc import Iterator
from dataclasses import replace
from statistics import median

import numpy as np
from benches.nv_switches import ndv5_figure

from weft.bench.model import Launch, Sample, Trial
from weft.bench.twin.backend import TwinBackend, simulate
from weft.bench.twin.fault import parse_fault
from weft.bench.twin.gpu.rails import joined_packets, rail_conditions
from weft.catalog.load import platform
from weft.core.units import format_size
from weft.expect.nccl.collectives import nccl

GPUS = 8
PUBLISHED_BYTES = 16 << 30
NODES = {4: "af-t2-32", 8: "af-t2-64", 16: "af-t2-128", 32: "af-t2-256"}
NODES |= {64: "af-t2-512", 128: "af-t2-1024"}
"""The published figure of so many nodes."""
TOLERANCE = 0.05
VERSION = "2.26.5"
PAIR_BYTES = 16 << 20
ALL_PAIRS_NODES = 470
STATIC, ADAPTIVE = {"adaptive_routing": "off"}, {"adaptive_routing": "on"}
TREE = {"algorithm": "nvlstree", "nccl_version": VERSION, **ADAPTIVE}


def samples(
    twin: TwinBackend, size: int, *, benchmark: str = "allreduce", **options: object
) -> list[Sample]:
    """The samples of a launch on all nodes of a twin."""
    chosen = {"gpu_network": "rails", "iterations": 1, "warmup": 0, **options}
    trial = Trial("t", benchmark, (size,), twin.nodes, GPUS, {}, {}, chosen)
    return list(twin.measure(Launch(trial, 0, 0)))


def twin_of(name: str, n_nodes: int, *faults: str, extrapolate: float | None = None) -> TwinBackend:
    """A twin of a platform, cabled by rails."""
    planted = [parse_fault(text) for text in faults]
    return TwinBackend(platform(name), n_nodes, planted, cabled=True, extrapolate=extrapolate)


def published_rows() -> Iterator[tuple[int, float, float, float]]:
    """(nodes, published, the twin's GB/s, estimated error) of NVLSTree by one rail."""
    for n_nodes, figure in NODES.items():
        twin = twin_of("azure-ndv5", n_nodes, extrapolate=TOLERANCE)
        (sample,) = samples(twin, PUBLISHED_BYTES, **{**TREE, "gpu_network": "one-rail"})
        error = float(sample.evidence.get("estimated_error", 0.0))
        yield n_nodes, ndv5_figure(figure).value, sample.metrics["busbw_gb_s"], error


JOINED_NODES = 128


def joined_busbw(joined: int) -> float:
    """Bus bandwidth in GB/s of the published allreduce, so many packets simulated as one."""
    twin = twin_of("azure-ndv5", JOINED_NODES, extrapolate=TOLERANCE)
    options = {"gpu_network": "one-rail", "iterations": 1, "warmup": 0, **TREE}
    trial = Trial("t", "allreduce", (PUBLISHED_BYTES,), twin.nodes, GPUS, {}, {}, options)
    (document,) = twin.parts(Launch(trial, 0, 0))
    packets = document["packets"]
    packets["mtu_bytes"] = packets["mtu_bytes"] // joined_packets(JOINED_NODES) * joined
    nvls = document["in_network"]["nvls"]
    under_way = nvls["outstanding"] * nvls["payload_bytes"]
    nvls |= {"payload_bytes": packets["mtu_bytes"]}
    nvls |= {"outstanding": under_way // nvls["payload_bytes"]}
    document["in_network"]["sat"] = {"payload_bytes": packets["mtu_bytes"]}
    (time_ps,) = simulate(document)["duration_ps"]
    n_ranks = GPUS * JOINED_NODES
    return 2 * (n_ranks - 1) / n_ranks * PUBLISHED_BYTES / time_ps * 1e3


FORMULAS = (
    ("azure-ndv5", 1, "allreduce", 256 << 20, "nvls"),
    ("azure-ndv5", 4, "allreduce", 1 << 30, "nvlstree"),
    ("azure-ndv5", 1, "allreduce", 1 << 30, "ring"),
    ("azure-ndv5", 4, "allreduce", 1 << 30, "ring"),
    ("azure-ndv5", 4, "allreduce", 8 << 20, "tree"),
    ("azure-ndv4", 4, "allreduce", 1 << 30, "ring"),
    ("azure-ndv5", 1, "sendrecv", 64 << 20, ""),
    ("azure-ndv5", 4, "sendrecv", 64 << 20, ""),
    ("azure-ndv4", 2, "sendrecv", 64 << 20, ""),
    ("azure-ndv4", 2, "alltoall", 1 << 20, ""),
)
"""(platform, nodes, benchmark, size, algorithm)."""


def formula_rows() -> Iterator[tuple[str, int, str, int, float, float]]:
    """(platform, nodes, what, size, expected GB/s, the twin's), all rails simulated."""
    for name, n_nodes, benchmark, size, algorithm in FORMULAS:
        options = {"nccl_version": VERSION} | ({"algorithm": algorithm} if algorithm else {})
        twin = twin_of(name, n_nodes)
        trial = Trial("t", benchmark, (size,), twin.nodes, GPUS, {}, {}, options)
        # The formula counts all that a rank of an alltoall sends, not its blocks.
        whole = size * (GPUS * n_nodes if benchmark == "alltoall" else 1)
        asked = replace(rail_conditions(trial, whole), benchmark=benchmark)
        (sample,) = samples(twin, size, benchmark=benchmark, **options)
        found = sample.metrics
        rate = found["bandwidth_mb_s"] / 1e3 if benchmark == "sendrecv" else found["busbw_gb_s"]
        what = f"{benchmark} {algorithm}".rstrip()
        yield name, n_nodes, what, size, nccl(platform(name), asked).value, rate


def pair_rates(routing: dict[str, str]) -> list[float]:
    """Eight times the slowest rail of each pair of nodes in GB/s, sorted: all at once."""
    twin = twin_of("azure-ndv4", ALL_PAIRS_NODES)
    options = {"matchings": 1, "phases": ["bandwidth"], "window": 1, **routing}
    of_nodes: dict[str, list[float]] = {}
    for sample in samples(twin, PAIR_BYTES, benchmark="pairs", **options):
        assert sample.pair is not None
        node = sample.pair.a.partition(":")[0]
        of_nodes.setdefault(node, []).append(sample.metrics["bandwidth_mb_s"] / 1e3)
    return sorted(GPUS * min(rails) for rails in of_nodes.values())


def rails_lines() -> Iterator[str]:
    """The part of the page."""
    yield "### GPU nodes by rails: NCCL's traffic"
    yield ""
    yield f"Allreduce of 16 GiB by NVLSTree, NCCL {VERSION}, on packed nodes of azure-ndv5,"
    yield "adaptive routing."
    yield "One rail stands for all; the buffer is extrapolated from a part, with the engine's"
    yield "estimate of that error. Two figures were chosen with these in sight: 32 MiB of a GPU"
    yield "under way (16 and 64 were tried), and two packets simulated as one (the table below)."
    yield "Source: Affaticati et al., Azure HPC blog, Table 2."
    yield ""
    yield "| GPUs | published GB/s | twin | error | extrapolation may be off by |"
    yield "|---:|---:|---:|---:|---:|"
    for n_nodes, published, twin, error in published_rows():
        cells = [f"{GPUS * n_nodes:,}", f"{published:g}", f"{twin:.1f}"]
        yield f"| {' | '.join([*cells, f'{twin / published - 1:+.1%}', f'{error:.0%}'])} |"
    yield ""
    yield f"The same on {GPUS * JOINED_NODES:,} GPUs with other numbers of packets simulated as"
    yield "one. Jobs of more GPUs take four."
    yield ""
    yield "| packets as one | twin GB/s | against each packet alone |"
    yield "|---:|---:|---:|"
    rates = {joined: joined_busbw(joined) for joined in (1, 2, 4, 8)}
    for joined, rate in rates.items():
        yield f"| {joined} | {rate:.1f} | {rate / rates[1] - 1:+.1%} |"
    yield ""
    yield "All rails against the formula of weft expect, where nothing contends. A ring begins as"
    yield "late as NCCL's latency of all its steps takes, and NVLS takes its share of NVLink, both"
    yield "as in the formula."
    yield ""
    yield "| platform | nodes x GPUs | what | size | expected GB/s | twin | difference |"
    yield "|---|---:|---|---:|---:|---:|---:|"
    for name, n_nodes, what, size, expected, twin in formula_rows():
        cells = [name, f"{n_nodes} x {GPUS}", what, format_size(size)]
        cells += [f"{expected:.1f}", f"{twin:.1f}", f"{twin / expected - 1:+.1%}"]
        yield f"| {' | '.join(cells)} |"
    yield ""
    yield f"{ALL_PAIRS_NODES} nodes of azure-ndv4, {ALL_PAIRS_NODES // 2} random pairs at the same"
    yield f"time, {format_size(PAIR_BYTES)} from each GPU to the GPU of its number. Eight times the"
    yield "slowest rail of a pair in GB/s. Published: NCCL's allreduce of every pair above 186"
    yield "(Jose & Shainer, UCF 2022)."
    yield ""
    yield "| routing | least | median | most | pairs above 186 |"
    yield "|---|---:|---:|---:|---:|"
    for name, routing in (("static", STATIC), ("adaptive", ADAPTIVE)):
        rates = pair_rates(routing)
        cells = [name, *(f"{rate:.1f}" for rate in (rates[0], median(rates), rates[-1]))]
        yield f"| {' | '.join([*cells, f'{sum(rate > 186 for rate in rates)} of {len(rates)}'])} |"
    yield ""
    yield from _order_lines()
    yield ""
    yield from _alltoall_lines()


JOB_NODES, TWIN_NODES, JOB_BYTES = 16, 64, 64 << 20
NEIGHBOUR = "alltoall:1M@70%"
JOBS: tuple[tuple[str, int, dict[str, object]], ...] = (
    ("packed", 0, {}),
    ("10 random orders", 10, {}),
    ("3 of them, spines 2:1", 3, {"oversubscription": "2:1"}),
    (
        "3 of them, spines 2:1, a neighbour",
        3,
        {"oversubscription": "2:1", "aggressors": [NEIGHBOUR]},
    ),
)
"""(job, orders of nodes that are drawn, options)."""


def job_busbw(options: dict[str, object], order: int | None) -> float:
    """Bus bandwidth in GB/s of rings on some nodes of a twin: the first, or those of a drawn
    order."""
    twin = twin_of("azure-ndv4", TWIN_NODES)
    nodes = twin.nodes
    if order is not None:
        nodes = tuple(map(str, np.random.default_rng(order).permutation(nodes)))
    chosen = {"gpu_network": "rails", "iterations": 1, "warmup": 0, "algorithm": "ring"}
    trial = Trial(
        "t",
        "allreduce",
        (JOB_BYTES,),
        nodes[:JOB_NODES],
        GPUS,
        {},
        {},
        chosen | options,
    )
    (sample,) = twin.measure(Launch(trial, 0, 0))
    return sample.metrics["busbw_gb_s"]


def _order_lines() -> Iterator[str]:
    yield f"Rings of {JOB_NODES} of {TWIN_NODES} nodes of azure-ndv4, {format_size(JOB_BYTES)}, bus"
    yield "bandwidth in GB/s: of drawn orders the slowest and the fastest. The neighbour is"
    yield f"{NEIGHBOUR} on the other nodes."
    yield ""
    yield "| job | static | adaptive |"
    yield "|---|---:|---:|"
    for name, n_orders, options in JOBS:
        cells = [_of_orders(options | routing, n_orders) for routing in (STATIC, ADAPTIVE)]
        yield f"| {name} | {' | '.join(cells)} |"


def _of_orders(options: dict[str, object], n_orders: int) -> str:
    if not n_orders:
        return f"{job_busbw(options, None):.1f}"
    rates = [job_busbw(options, order) for order in range(n_orders)]
    return f"{min(rates):.1f} to {max(rates):.1f}"


ALLTOALL_NODES = 32


def _alltoall_lines() -> Iterator[str]:
    yield f"Alltoall on {ALLTOALL_NODES} nodes of azure-ndv4: direct sends against 2D, in ms. The"
    yield "source has 256 nodes and gains of 6.7 at 128 KiB and 1.9 at 256 KiB a pair of GPUs (Jose"
    yield "& Shainer, UCF 2022). It does not say what a message costs there; with 2 us of a"
    yield "sender's time (`nccl-message`, assumed) the gains are not reproduced."
    yield ""
    yield "| a pair of GPUs | routing | linear | 2D | gain |"
    yield "|---|---|---:|---:|---:|"
    twin = twin_of("azure-ndv4", ALLTOALL_NODES)
    for size in (128 << 10, 256 << 10):
        for routing_name, routing in (("static", STATIC), ("adaptive", ADAPTIVE)):
            names = ("linear", "hierarchical")
            times = [_alltoall_ms(twin, size, name, routing) for name in names]
            cells = [format_size(size), routing_name, *(f"{time:.2f}" for time in times)]
            yield f"| {' | '.join([*cells, f'{times[0] / times[1]:.2f}'])} |"


def _alltoall_ms(twin: TwinBackend, size: int, algorithm: str, routing: dict[str, str]) -> float:
    (sample,) = samples(twin, size, benchmark="alltoall", algorithm=algorithm, **routing)
    return sample.metrics["latency_us"] / 1e3
