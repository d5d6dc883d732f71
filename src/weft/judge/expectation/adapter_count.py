"""On an unknown machine: how many adapters of each generation a result of NCCL takes.

Generations of links have no GPUs, so nothing is expected on them; but what must pass between nodes
is arithmetic, and so is what one adapter carries.
"""

import math
from collections.abc import Sequence

from weft.catalog.machine.platform import Platform
from weft.catalog.tools import NCCL_TOOLS
from weft.core.units import format_significant, format_size
from weft.expect.model import Conditions
from weft.expect.nccl.collectives import busbw_factor, least_between_nodes
from weft.expect.nccl.tuner import USES
from weft.expect.wire import line_ceiling
from weft.judge.rules import Rules
from weft.results.model import Row, Table

METRIC = "busbw_gb_s"
REDUCING = ("allreduce", "reduce_scatter", "reduce")
"""Collectives in which switches that add up could save traffic."""


def through_adapters(
    table: Table, row: Row, conditions: Conditions, links: Sequence[Platform], rules: Rules
) -> tuple[str, ...]:
    """For each of some generations of links, how many adapters a node the bus bandwidth takes.

    Empty where nothing passes between nodes, where the buffer is too small, and for
    point-to-point patterns, where that depends on which ranks are neighbours.
    """
    measured = row.metrics.get(METRIC, 0.0)
    between = conditions.n_nodes > 1 and conditions.benchmark in USES
    large = (row.size_bytes or 0) >= rules.adapters_from_bytes
    if table.tool not in NCCL_TOOLS or not (between and large) or measured <= 0:
        return ()
    gain = _gain(conditions)
    name = f"{table.test or table.tool} at {format_size(row.size_bytes or 0)}"
    rate = f"{_short(measured)} GB/s between {conditions.n_nodes} nodes"
    sharp = conditions.benchmark in REDUCING and conditions.n_nodes > 2
    most = "at most without SHARP" if sharp else "at most"
    lines = [
        f"{name}, {platform.name}: {rate} {_taken(measured, one_gb_s, gain, most, rules)}"
        for platform in links
        if (one_gb_s := _payload_gb_s(platform)) > 0
    ]
    return (*lines, *_on_two_nodes(name, conditions, gain))


def _gain(conditions: Conditions) -> float:
    """The greatest bus bandwidth over what the adapters carry, without SHARP. A ring over all ranks
    crosses each node's border with just the bus bandwidth."""
    if conditions.algorithm.lower() == "ring":
        return 1.0
    benchmark, n_nodes = conditions.benchmark, conditions.n_nodes
    least = least_between_nodes(benchmark, n_nodes, reduces_in_net=False)
    return max(1.0, busbw_factor(benchmark, conditions.n_ranks) / least)


def _payload_gb_s(platform: Platform) -> float:
    """What one adapter carries at most, headers taken off."""
    return platform.links.host.most_gbps / 8 * line_ceiling(platform) if platform.links else 0.0


def _taken(measured: float, one_gb_s: float, gain: float, most_word: str, rules: Rules) -> str:
    as_ring = measured / one_gb_s / (1 + rules.limit_slack)
    most, least = math.ceil(as_ring), math.ceil(as_ring / gain)
    if most == 1:
        share = f"{100 * measured / one_gb_s:.0f} %"
        return f"is {share} of what one adapter a node carries ({_short(one_gb_s)})"
    count = f"{least} to {most}" if least < most else f"{most}"
    at_most = f", {_short(one_gb_s * gain)} {most_word}" if gain > 1 else ""
    return f"needs {count} adapters on each node ({_short(one_gb_s)} each as a ring{at_most})"


def _on_two_nodes(name: str, conditions: Conditions, gain: float) -> tuple[str, ...]:
    if conditions.n_nodes != 2 or conditions.benchmark != "allreduce" or gain <= 1:
        return ()
    return (
        f"{name}: a tree between two nodes moves the buffer once through the adapters, which bus"
        f" bandwidth counts {_short(gain)} times: more than their rate is no error"
        " (NCCL_ALGO=Ring shows the rate itself)",
    )


def _short(value: float) -> str:
    return format_significant(value, 4)
