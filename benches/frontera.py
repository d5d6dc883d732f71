"""The orders of Cazes (MUG 2020) on Frontera's twin: adaptive routing, and SHARP.

    frontera.py [--ar RUN] [--sharp RUN] [--write]

Runs `frontera-ar` and `frontera-sharp`, or reads runs of them, and a few launches more. Prints the
tables of docs/concepts/fidelity.md; --write puts them into the page.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benches.frontera_routing import (
    Gains,
    Order,
    launched,
    listed,
    one_us,
    routing_lines,
    routing_orders,
    said,
    waiting_lines,
)
from benches.page import print_tables

from weft.cli import run as weft
from weft.study.comparison.rows import ComparisonRow

PAGE = Path(__file__).resolve().parent.parent / "docs" / "concepts" / "fidelity.md"
TASKS = (1, 2, 4, 8, 14, 28, 56)


def sharp_orders(gains: Gains) -> Iterator[Order]:
    """Orders about SHARP and allreduce."""
    off, on = (
        launched(2048, "allreduce", 1024, n_nodes=512, options=options)
        for options in ({}, {"in_network": "platform"})
    )
    sent = [sum(int(n) for n in one["xmit_bytes"]) for one in (off, on)]
    yield Order(
        "ord-cz-sharp-offload",
        said(sent[1] < sent[0] and gains.gain("allreduce", 512, 1, 1024) > 1),
        f"512 nodes, 1 KiB: {sent[1] / sent[0]:.0%} of the bytes on all links, gain "
        f"{gains.gain('allreduce', 512, 1, 1024):.2f}",
    )
    beyond = [
        one_us(2048, "allreduce", 8192, n_nodes=64, options=options)
        for options in ({}, {"in_network": "platform"})
    ]
    yield Order(
        "ord-cz-sharp-4k",
        said(beyond[0] == beyond[1]),
        f"64 nodes, 8 KiB: {beyond[0]:.1f} and {beyond[1]:.1f} us; 4 KiB: gain "
        f"{gains.gain('allreduce', 64, 1, 4096):.2f}",
    )
    others = {
        name: [
            one_us(2048, name, 1024, n_nodes=64, options=options)
            for options in ({}, {"in_network": "platform"})
        ]
        for name in ("broadcast", "reduce", "alltoall", "allgather")
    }
    yield Order(
        "ord-cz-sharp-ops",
        said(all(a == b for a, b in others.values())),
        f"{', '.join(others)} of 1 KiB on 64 nodes take the same time",
    )
    few = [gains.gain("allreduce", n, 1, 64) for n in (2, 4, 8)]
    yield Order(
        "ord-cz-sharp-small",
        said(1 < few[1] < 1.5),
        f"64 B, one task a node, 2, 4, 8 nodes: {listed(few)}; at 2 nodes one exchange is less "
        "than the way through switches",
    )
    at_4k = [gains.gain("allreduce", 64, tasks, 4096) for tasks in TASKS]
    yield Order(
        "ord-cz-sharp-56-4k",
        said(min(at_4k[:-1]) > 1 >= at_4k[-1]),
        f"64 nodes, 4 KiB, 1 to 56 tasks: {listed(at_4k)}; 56 gain least, but gain",
    )
    yield from node_orders(gains)


def node_orders(gains: Gains) -> Iterator[Order]:
    """Orders about speed-ups of allreduce by nodes and tasks."""
    upto = (4, 16, 64, 256)
    by_nodes = {tasks: [gains.gain("allreduce", n, tasks, 64) for n in upto] for tasks in TASKS}
    rising = [tasks for tasks, line in by_nodes.items() if all(a < b for a, b in pairwise(line))]
    yield Order(
        "ord-cz-sharp-nodes",
        said(len(rising) >= 5),
        f"64 B, 4, 16, 64, 256 nodes, one task: {listed(by_nodes[1])}; 28 tasks: "
        f"{listed(by_nodes[28])}. It rises throughout with {', '.join(map(str, rising))} tasks",
    )
    fewer = [gains.gain("allreduce", 64, tasks, 64) for tasks in TASKS]
    yield Order(
        "ord-cz-sharp-56-b",
        said(min(fewer[:-1]) > 1 and fewer[-1] < min(fewer[:-1])),
        f"64 nodes, 64 B, 1 to 56 tasks: {listed(fewer)}; 56 gain least",
    )
    twice = [gains.gain("allreduce", 128, tasks, 4096) for tasks in TASKS]
    yield Order(
        "ord-cz-sharp-2x28",
        said(all(value > 1.8 for value in twice[:-1])),
        f"128 nodes, 4 KiB, 1 to 28 tasks: {listed(twice[:-1])}, 56: {twice[-1]:.2f}; at 64 B 28 "
        f"tasks reach {gains.gain('allreduce', 128, 28, 64):.2f}",
    )
    spreads = [gains.spread(tasks, 256, "sharp=off") for tasks in TASKS]
    spreads_on = [gains.spread(tasks, 256, "sharp=on") for tasks in TASKS]
    yield Order(
        "ord-cz-sharp-56-c",
        said(spreads_on[-1] > max(spreads_on[:-1])),
        f"256 nodes, standard deviation over mean with SHARP, 1 to 56 tasks: {listed(spreads_on)}. "
        "A launch is one operation here, not the mean of hundreds",
    )
    large = [gains.gain("allreduce", 512, tasks, 4096) for tasks in TASKS]
    yield Order(
        "ord-cz-sharp-28-d",
        said(min(large[:6]) > 1.5 and large[6] < min(large[:6])),
        f"512 nodes, 4 KiB, 1 to 56 tasks: {listed(large)}",
    )
    larger = [gains.gain("allreduce", 1024, tasks, 4096) for tasks in TASKS]
    yield Order(
        "ord-cz-sharp-14-e",
        said(min(larger[:5]) > 2 and max(larger[5:]) < 2),
        f"1,024 nodes, 4 KiB, 1 to 56 tasks: {listed(larger)}",
    )
    most = [max(gains.gain("allreduce", n, tasks, 64) for tasks in TASKS) for n in (4, 16, 64, 256)]
    highest = max(1 / row.slowdown for row in gains.rows if row.cell.benchmark == "allreduce")
    yield Order(
        "ord-cz-sharp-trend",
        said(all(a < b for a, b in pairwise(most)) and highest < 14),
        f"largest gain at 64 B, 4, 16, 64, 256 nodes: {listed(most)}; of all {highest:.1f}",
    )
    yield Order(
        "ord-cz-variability",
        said(spreads[-1] > max(spreads[:-1])),
        f"256 nodes, hosts alone, standard deviation over mean, 1 to 56 tasks: {listed(spreads)}",
    )


def barrier_orders(gains: Gains) -> Iterator[Order]:
    """Orders about SHARP and barrier, and what no twin shows."""
    nodes = sorted({row.cell.n_nodes for row in gains.rows})
    upto = [n for n in nodes if n <= 256]
    by_tasks = {tasks: [gains.gain("barrier", n, tasks, 0) for n in upto] for tasks in TASKS}
    one = by_tasks[1]
    yield Order(
        "ord-cz-barrier-grow",
        said(all(a <= b for a, b in pairwise(one))),
        f"one task, 2 to 256 nodes: {listed(one)}; 8 tasks: {listed(by_tasks[8])}",
    )
    at = {
        tasks: [str(n) for n, gain in zip(upto, line, strict=True) if gain < 1]
        for tasks, line in by_tasks.items()
    }
    below = [f"{tasks} tasks on {', '.join(where)}" for tasks, where in at.items() if where]
    yield Order(
        "ord-cz-barrier-always",
        said(not below),
        f"below 1 with {'; '.join(below)} nodes",
    )
    whole = [gains.gain("barrier", n, 1, 0) for n in nodes]
    eight = [gains.gain("barrier", n, 8, 0) for n in nodes]
    yield Order(
        "ord-cz-barrier-256",
        said(whole[nodes.index(256)] > whole[nodes.index(128)] and whole[-1] < max(whole)),
        f"one task, {nodes[0]} to {nodes[-1]} nodes: {listed(whole)}; 8 tasks: {listed(eight)}",
    )
    high = [gains.gain("barrier", 1024, tasks, 0) for tasks in TASKS]
    yield Order(
        "ord-cz-barrier-56",
        said(1 < high[-1] < min(high[:-1])),
        f"1,024 nodes, 1 to 56 tasks: {listed(high)}",
    )
    odd = [
        (row.cell, ratios)
        for row in gains.rows
        if row.cell.benchmark == "barrier" and (ratios := set_ratios(gains, row)) is not None
    ]
    yield Order(
        "ord-cz-barrier-anomaly",
        said(bool(odd)),
        f"in {len(odd)} cells of barrier one node set of nine is slower with SHARP while the "
        "median gains, by the noise of hosts; `weft compare` names such launches",
    )
    for name, why in (
        ("ord-cz-sharp-hang", "a defect of a pre-release; a twin's library has none"),
        ("ord-cz-apps", "a statement about a library's log (`weft doctor log` reads it)"),
        ("ord-cz-untuned", "states no times"),
    ):
        yield Order(name, "not simulated", why)


def set_ratios(gains: Gains, row: ComparisonRow) -> list[float] | None:
    """Gains of the node sets of a cell, where exactly one is below 1 and the median above."""
    by_arm: dict[str, dict[int, float]] = {}
    for value in gains.values:
        if value.cell == row.cell:
            by_arm.setdefault(value.arm, {})[value.node_set] = value.value
    off, on = by_arm["sharp=off"], by_arm["sharp=on"]
    ratios = [off[number] / on[number] for number in sorted(off)]
    return ratios if sum(r < 1 for r in ratios) == 1 and median(ratios) > 1 else None


CLAIMS = {
    "ord-cz-taper": "a full leaf gets 9/11 of its link rate upwards",
    "ord-cz-ar-recovery": "flows go on past a dead cable before a new sweep",
    "ord-cz-ar-balance": "adaptive routing loads up-links more evenly",
    "ord-cz-ar-allgather": "it makes allgather on 512 nodes faster",
    "ord-cz-ar-alltoall": "it makes alltoall on 512 nodes faster",
    "ord-cz-ar-alltoallv": "it makes alltoallv on 256 nodes faster",
    "ord-cz-ar-degradation": "somewhere it is slower",
    "ord-cz-ar-default": "it becomes the default only if no workload is slower",
    "ord-cz-sharp-offload": "SHARP sends fewer bytes and is faster",
    "ord-cz-sharp-4k": "no effect above 4 KiB",
    "ord-cz-sharp-ops": "only allreduce and barrier are offloaded",
    "ord-cz-sharp-small": "few nodes, small messages: a small gain",
    "ord-cz-sharp-56-4k": "it gains at all task counts but 56 at 4 KiB",
    "ord-cz-sharp-nodes": "the gain grows with nodes",
    "ord-cz-sharp-56-b": "it gains with fewer than 56 tasks",
    "ord-cz-sharp-2x28": "about twice as fast up to 28 tasks",
    "ord-cz-sharp-56-c": "56 tasks scatter more than fewer",
    "ord-cz-sharp-28-d": "impressive up to 28 tasks, not with 56",
    "ord-cz-sharp-14-e": "at most nodes impressive up to 14 tasks only",
    "ord-cz-sharp-trend": "the largest gain grows with nodes and stays below 14",
    "ord-cz-variability": "times scatter most with a task on every core",
    "ord-cz-barrier-grow": "barrier's gain grows with nodes",
    "ord-cz-barrier-always": "barrier always gains",
    "ord-cz-barrier-256": "it grows up to 256 nodes, not beyond",
    "ord-cz-barrier-56": "at many nodes 56 tasks gain less, but gain",
    "ord-cz-barrier-anomaly": "one of nine runs is slower, by an anomaly",
    "ord-cz-sharp-hang": "some task counts hung, and 1,024 nodes failed",
    "ord-cz-apps": "applications did not trigger SHARP",
    "ord-cz-untuned": "the configuration may be untuned",
}
"""What the source says, in a clause."""


def page_lines(routing: Gains, sharp: Gains) -> Iterator[str]:
    """The tables."""
    yield "`weft study run frontera-ar --twin frontera`, adaptive routing off over on: `+` faster,"
    yield "`-` slower, `=` equal within 5 %, `?` not decided."
    yield ""
    yield from routing_lines(routing)
    yield ""
    yield from waiting_lines()
    yield ""
    yield "Each order of the source on the twin. Gains are times off over on, medians of the node"
    yield "sets of `frontera-ar` (seven) and `frontera-sharp` (nine, with the assumed noise)."
    yield ""
    yield "| order | the source says | found | on the twin |"
    yield "|---|---|---|---|"
    for orders in (routing_orders(routing), sharp_orders(sharp), barrier_orders(sharp)):
        for order in orders:
            yield f"| `{order.id}` | {CLAIMS[order.id]} | {order.found} | {order.reason} |"


def main() -> None:
    """Print the tables, or write them into the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ar", type=Path)
    parser.add_argument("--sharp", type=Path)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        runs = []
        for name, run in (("frontera-ar", given.ar), ("frontera-sharp", given.sharp)):
            runs.append(run or Path(folder) / name)
            if run is None:
                weft(["study", "run", name, "--twin", "frontera", "--dir", str(runs[-1])])
        routing, sharp = map(Gains, runs)
        print_tables(PAGE, "benches/frontera.py", page_lines(routing, sharp), write=given.write)


if __name__ == "__main__":
    main()
