"""GPU nodes on rails: published figures, formulas and the twin's: a part of scripts/fidelity.py."""

from collections.abc import Iterator
from statistics import median

from benches.nv_switches import ndv5_figure

from weft.bench.model import Launch, Sample, Trial
from weft.bench.twin.backend import TwinBackend
from weft.bench.twin.fault import parse_fault
from weft.bench.twin.gpu.rails import rail_conditions
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
ADAPTIVE = {"adaptive_routing": "on"}
TREE = {"algorithm": "nvlstree", "nccl_version": VERSION, **ADAPTIVE}


def samples(
    twin: TwinBackend, size: int, *, benchmark: str = "allreduce", **options: object
) -> list[Sample]:
    """The samples of a launch on all nodes of a twin."""
    chosen = {"gpu_network": "rails", "iterations": 1, "warmup": 0, **options}
    trial = Trial("t", benchmark, (size,), twin.nodes, GPUS, {}, {}, chosen)
    return list(twin.measure(Launch(trial, 0, 0)))


def busbw(twin: TwinBackend, size: int, **options: object) -> float:
    """Bus bandwidth in GB/s of an allreduce on all nodes of a twin."""
    (sample,) = samples(twin, size, **options)
    return sample.metrics["busbw_gb_s"]


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


FORMULAS = (
    ("azure-ndv5", 1, 256 << 20, "nvls"),
    ("azure-ndv5", 4, 1 << 30, "nvlstree"),
    ("azure-ndv5", 1, 1 << 30, "ring"),
    ("azure-ndv5", 4, 1 << 30, "ring"),
    ("azure-ndv5", 4, 8 << 20, "tree"),
    ("azure-ndv4", 4, 1 << 30, "ring"),
)
"""(platform, nodes, size, algorithm)."""


def formula_rows() -> Iterator[tuple[str, int, int, str, float, float]]:
    """(platform, nodes, size, algorithm, expected, the twin's GB/s), all rails simulated."""
    for name, n_nodes, size, algorithm in FORMULAS:
        options = {"algorithm": algorithm, "nccl_version": VERSION}
        twin = twin_of(name, n_nodes)
        trial = Trial("t", "allreduce", (size,), twin.nodes, GPUS, {}, {}, options)
        expected = nccl(platform(name), rail_conditions(trial, size)).value
        yield name, n_nodes, size, algorithm, expected, busbw(twin, size, **options)


def pair_rates() -> list[float]:
    """Eight times the slowest rail of each pair of nodes in GB/s, sorted: all at once."""
    twin = twin_of("azure-ndv4", ALL_PAIRS_NODES)
    options = {"matchings": 1, "phases": ["bandwidth"], "window": 1, **ADAPTIVE}
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
    yield "under way (16 and 64 were tried), and two packets simulated as one (1 and 4 were tried)."
    yield "Source: Affaticati et al., Azure HPC blog, Table 2."
    yield ""
    yield "| GPUs | published GB/s | twin | error | extrapolation may be off by |"
    yield "|---:|---:|---:|---:|---:|"
    for n_nodes, published, twin, error in published_rows():
        cells = [f"{GPUS * n_nodes:,}", f"{published:g}", f"{twin:.1f}"]
        yield f"| {' | '.join([*cells, f'{twin / published - 1:+.1%}', f'{error:.0%}'])} |"
    yield ""
    yield "All rails against the formula of weft expect, where nothing contends. A ring's formula"
    yield "has NCCL's latency of each step, which the twin leaves out: on four nodes the twin is up"
    yield "to 7 % faster. NVLS takes its share of NVLink from the formula."
    yield ""
    yield "| platform | nodes x GPUs | size | algorithm | expected GB/s | twin | difference |"
    yield "|---|---:|---:|---|---:|---:|---:|"
    for name, n_nodes, size, algorithm, expected, twin in formula_rows():
        cells = [name, f"{n_nodes} x {GPUS}", format_size(size), algorithm]
        cells += [f"{expected:.1f}", f"{twin:.1f}", f"{twin / expected - 1:+.1%}"]
        yield f"| {' | '.join(cells)} |"
    yield ""
    rates = pair_rates()
    yield f"{ALL_PAIRS_NODES} nodes of azure-ndv4, {ALL_PAIRS_NODES // 2} random pairs at the same"
    yield f"time, {format_size(PAIR_BYTES)} from each GPU to the GPU of its number, by adaptive"
    yield f"routing. Eight times the slowest rail of a pair: {rates[0]:.1f} to"
    yield f"{rates[-1]:.1f} GB/s, median {median(rates):.1f}. Published: NCCL's allreduce of every"
    yield "pair above 186 (Jose & Shainer, UCF 2022)."
    yield ""
    yield from _alltoall_lines()


ALLTOALL_NODES = 32


def _alltoall_lines() -> Iterator[str]:
    yield f"Alltoall on {ALLTOALL_NODES} nodes of azure-ndv4 by adaptive routing: direct sends"
    yield "against 2D, in ms. The source has 256 nodes and gains of 6.7 at 128 KiB and 1.9 at 256"
    yield "KiB a pair of GPUs (Jose & Shainer, UCF 2022). It does not say what a message costs"
    yield "there; with 2 us of a sender's time (`nccl-message`, assumed) the gains are not"
    yield "reproduced."
    yield ""
    yield "| a pair of GPUs | linear | 2D | gain |"
    yield "|---|---:|---:|---:|"
    twin = twin_of("azure-ndv4", ALLTOALL_NODES)
    for size in (128 << 10, 256 << 10):
        times = [_alltoall_ms(twin, size, name) for name in ("linear", "hierarchical")]
        cells = [format_size(size), *(f"{time:.2f}" for time in times)]
        yield f"| {' | '.join([*cells, f'{times[0] / times[1]:.2f}'])} |"


def _alltoall_ms(twin: TwinBackend, size: int, algorithm: str) -> float:
    (sample,) = samples(twin, size, benchmark="alltoall", algorithm=algorithm, **ADAPTIVE)
    return sample.metrics["latency_us"] / 1e3
