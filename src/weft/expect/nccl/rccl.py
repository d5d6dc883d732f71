"""RCCL, which runs on AMD's GPUs: large buffers by rings, as fast as links carry. Between nodes its
tuner may take trees; of these no figure is known.

RCCL's tuner has tables of factors by size, fitted to AMD's machines: they rank algorithms and say
little of their times. So weft has figures only where RCCL takes rings and protocol Simple.

SOURCE: ROCm/rccl at commit 9e22c79d, src/graph/tuning.cc (tuning_model_5 and tuning_model_6: the
ranges of LL and LL128 end at 17.7 MB; the ring has the whole rate of its channels); and
src/graph/topo.h (GFX94X_XGMI_WIDTH).
"""

from weft.catalog.machine.platform import Platform
from weft.core.errors import InputError
from weft.core.units import format_size
from weft.expect.model import Conditions
from weft.expect.nccl.topology import GpuTopology
from weft.expect.nccl.tuner import USES, Candidate, Rate, steps_of

RCCL_SOURCE = "ROCm/rccl, src/graph/tuning.cc (baseLat, tuning_model_5), commit 9e22c79d"
SIMPLE_FROM_BYTES = 32 << 20
"""The next power of two."""
BASE_US, STEP_INSIDE_US, STEP_BETWEEN_US = 17.0, 2.1, 25.0
"""Latencies of protocol Simple: of any call, and of a step. SOURCE: baseLat and tuning_model_5, the
steps between nodes those of trees: those of rings (320 us) keep the tuner from taking rings."""
_WITH_MESH = ("cdna3",)
"""GPUs of which each has a link to every other one of its node."""


def rccl_ring(platform: Platform, conditions: Conditions, found: GpuTopology) -> Candidate:
    """The ring that RCCL takes for a large buffer. Raises InputError for a smaller buffer, another
    algorithm or protocol, and where no figure of the links is known."""
    asked = {conditions.algorithm.lower(), conditions.protocol.lower()} - {""}
    if conditions.benchmark not in USES or not asked <= {"ring", "simple"}:
        raise InputError(
            f"RCCL's {' '.join((conditions.benchmark, *sorted(asked)))} on '{platform.name}': no"
            " figure is known",
            expected=f"a ring with protocol Simple: {', '.join(USES)}",
        )
    if conditions.size_bytes < SIMPLE_FROM_BYTES:
        raise InputError(
            f"RCCL's {conditions.benchmark} of {format_size(conditions.size_bytes)}: for small"
            " buffers its tables say which protocol it takes, and not how long that takes",
            expected=f"{format_size(SIMPLE_FROM_BYTES)} or more (--size)",
        )
    steps = steps_of(conditions.benchmark, found.n_gpus)
    between = steps_of(conditions.benchmark, found.n_nodes) if found.n_nodes > 1 else 0
    if found.loopback:
        between = steps
    latency_us = BASE_US + (steps - between) * STEP_INSIDE_US + between * STEP_BETWEEN_US
    ring = Candidate(
        "ring", "simple", latency_us, _bus(platform, found).times(found.n_gpus / steps)
    )
    if latency_us > conditions.size_bytes / 1e3 / ring.rate.gb_s:
        raise InputError(
            f"RCCL's {conditions.benchmark} of {format_size(conditions.size_bytes)} on"
            f" {found.n_gpus:,} GPUs: a ring would mostly wait, and of RCCL's trees no figure is"
            " known",
            expected="a larger buffer (--size) or fewer GPUs",
        )
    return ring


def _bus(platform: Platform, found: GpuTopology) -> Rate:
    """Bus bandwidth of rings: xGMI inside a node, the adapters between nodes."""
    gpus = platform.gpus
    net = Rate(found.net, found.net_bound)
    if found.loopback:
        share = 1 / found.gpus_per_node
        return Rate(found.net * share, f"{found.net_bound}: every hop uses one")
    if found.gpus_per_node <= 1:
        return net
    if gpus is None or gpus.nvlink is None or found.architecture not in _WITH_MESH:
        if found.n_nodes == 1:
            raise InputError(
                f"RCCL inside a node of '{platform.name}': no figure of its links is known",
                expected="two nodes or more, or GPUs each of which has a link to every other one",
            )
        return net
    share = (found.gpus_per_node - 1) / (gpus.per_node.whole - 1)
    inside = Rate(gpus.nvlink.value * share, f"xGMI of {gpus.nvlink.value * share:.4g} GB/s")
    if found.n_nodes == 1:
        return inside
    # Of the GPUs of a ring all but the last send over xGMI.
    group = found.gpus_per_node
    return net.capped(inside.gb_s * group / (group - 1), inside.bound)
