"""The orders of Cazes (MUG 2020) on Frontera's twin: adaptive routing, and SHARP.

    frontera.py [--ar RUN] [--sharp RUN] [--write]

Runs `frontera-ar` and `frontera-sharp`, or reads runs of them, and a few launches more. Prints the
tables of docs/concepts/fidelity.md; --write puts them into the page.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

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
    where_so,
)
from benches.page import print_tables

from weft.cli import run as weft
from weft.core.units import format_size
from weft.study.comparison.rows import RowOutcome

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
        f"as the platform sets it; 64 nodes, 8 KiB: {beyond[0]:.1f} and {beyond[1]:.1f} us; 4 KiB: "
        f"gain {gains.gain('allreduce', 64, 1, 4096):.2f}",
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
        f"as the platform sets it; {', '.join(others)} of 1 KiB on 64 nodes take the same time",
    )
    few = {n: gains.gain("allreduce", n, 1, 64) for n in (2, 4, 8)}
    yield Order(
        "ord-cz-sharp-small",
        where_so({f"on {n} nodes": gain > 1 for n, gain in few.items()}),
        f"64 B, one task a node, 2, 4, 8 nodes: {listed(tuple(few.values()))}; at 2 nodes one "
        "exchange is less than the way through switches",
    )
    at_4k = [gains.gain("allreduce", 64, tasks, 4096) for tasks in TASKS]
    yield Order(
        "ord-cz-sharp-56-4k",
        said(min(at_4k[:-1]) > 1 >= at_4k[-1]),
        f"64 nodes, 4 KiB, 1 to 56 tasks: {listed(at_4k)}; 56 gain least, but gain",
    )
    yield from node_orders(gains)


def _rises_to(line: Sequence[float]) -> int:
    """The last place up to which each value is above the one before."""
    rising = (at for at, (a, b) in enumerate(pairwise(line)) if a >= b)
    return next(rising, len(line) - 1)


def node_orders(gains: Gains) -> Iterator[Order]:
    """Orders about speed-ups of allreduce by nodes and tasks."""
    nodes = sorted({row.cell.n_nodes for row in gains.rows})
    by_nodes = {tasks: [gains.gain("allreduce", n, tasks, 64) for n in nodes] for tasks in TASKS}
    peaks = {tasks: nodes[_rises_to(line)] for tasks, line in by_nodes.items()}
    yield Order(
        "ord-cz-sharp-nodes",
        f"holds only {', '.join(f'to {peak} nodes with {n}' for n, peak in peaks.items())}",
        f"64 B, {nodes[0]} to {nodes[-1]} nodes, one task: {listed(by_nodes[1])}; 28 tasks: "
        f"{listed(by_nodes[28])}",
    )
    fewer = [gains.gain("allreduce", 64, tasks, 64) for tasks in TASKS]
    yield Order(
        "ord-cz-sharp-56-b",
        said(min(fewer[:-1]) > 1 and fewer[-1] < min(fewer[:-1])),
        f"64 nodes, 64 B, 1 to 56 tasks: {listed(fewer)}; 56 gain least",
    )
    twice = {
        size: [gains.gain("allreduce", 128, tasks, size) for tasks in TASKS] for size in (64, 4096)
    }
    yield Order(
        "ord-cz-sharp-2x28",
        where_so({f"at {format_size(size)}": min(line[:6]) >= 2 for size, line in twice.items()}),
        "at least twice as fast; 128 nodes, 1 to 56 tasks: "
        + "; ".join(f"{format_size(size)} {listed(line)}" for size, line in twice.items()),
    )
    spreads = [gains.spread(tasks, 256, "sharp=off") for tasks in TASKS]
    spreads_on = [gains.spread(tasks, 256, "sharp=on") for tasks in TASKS]
    yield Order(
        "ord-cz-sharp-56-c",
        said(spreads_on[-1] > max(spreads_on[:-1])),
        f"256 nodes, standard deviation over mean with SHARP, 1 to 56 tasks: {listed(spreads_on)}. "
        "A launch is one operation here, not the mean of hundreds",
    )
    for name, n, impressive in (("28-d", 512, 6), ("14-e", 1024, 5)):
        line = [gains.gain("allreduce", n, tasks, 4096) for tasks in TASKS]
        scatter = [gains.spread(tasks, n, "sharp=on") for tasks in TASKS]
        held = {
            "as to gains": min(line[:impressive]) > 2,
            "as to scatter": min(scatter[impressive:]) > max(scatter[:impressive]),
        }
        yield Order(
            f"ord-cz-sharp-{name}",
            where_so(held),
            f"{n:,} nodes, 1 to 56 tasks: gains at 4 KiB {listed(line)}; standard deviation over "
            f"mean with SHARP {listed(scatter)}",
        )
    most = [max(gains.gain("allreduce", n, tasks, 64) for tasks in TASKS) for n in nodes]
    highest = max(1 / row.slowdown for row in gains.rows if row.cell.benchmark == "allreduce")
    peak = nodes[_rises_to(most)]
    grows = "reproduced" if peak == nodes[-1] else f"holds only to {peak} nodes"
    yield Order(
        "ord-cz-sharp-trend",
        grows if highest < 14 else "not reproduced",
        f"largest gain at 64 B, {nodes[0]} to {nodes[-1]} nodes: {listed(most)}; of all "
        f"{highest:.1f}",
    )
    yield Order(
        "ord-cz-variability",
        said(spreads[-1] > max(spreads[:-1])),
        f"256 nodes, hosts alone, standard deviation over mean, 1 to 56 tasks: {listed(spreads)}",
    )


def barrier_orders(gains: Gains) -> Iterator[Order]:
    """Orders about SHARP and barrier, and what no twin shows."""
    nodes = sorted({row.cell.n_nodes for row in gains.rows})
    by_tasks = {tasks: [gains.gain("barrier", n, tasks, 0) for n in nodes] for tasks in TASKS}
    peaks = {tasks: nodes[_rises_to(line)] for tasks, line in by_tasks.items()}
    yield Order(
        "ord-cz-barrier-grow",
        f"holds only {', '.join(f'to {peak} nodes with {n}' for n, peak in peaks.items())}",
        f"one task, {nodes[0]} to {nodes[-1]} nodes: {listed(by_tasks[1])}; 8 tasks: "
        f"{listed(by_tasks[8])}",
    )
    at = {
        tasks: [str(n) for n, gain in zip(nodes, line, strict=True) if gain < 1]
        for tasks, line in by_tasks.items()
    }
    below = [f"{tasks} tasks on {', '.join(where)}" for tasks, where in at.items() if where]
    yield Order(
        "ord-cz-barrier-always",
        said(not below),
        f"below 1 with {'; '.join(below)} nodes",
    )
    at_256 = nodes.index(256)
    yield Order(
        "ord-cz-barrier-256",
        where_so(
            {
                f"with {tasks}": _rises_to(line) >= at_256 and max(line[at_256:]) == line[at_256]
                for tasks, line in by_tasks.items()
            }
        ),
        "the largest gain is at "
        + ", ".join(
            f"{nodes[line.index(max(line))]} nodes with {n}" for n, line in by_tasks.items()
        ),
    )
    high = [gains.row("barrier", 1024, tasks, 0) for tasks in TASKS]
    ups = [1 / row.slowdown for row in high]
    decided = high[-1].outcome is RowOutcome.FASTER
    yield Order(
        "ord-cz-barrier-56",
        said(decided and ups[-1] < min(ups[:-1])) if decided else "not decided",
        f"1,024 nodes, 1 to 56 tasks: {listed(ups)}",
    )
    odd = [one for one in gains.anomalies if one.benchmark == "barrier"]
    yield Order(
        "ord-cz-barrier-anomaly",
        said(bool(odd)),
        f"`weft compare` names {len(odd)} cases of barrier in which one node set of nine lies off",
    )
    for name, why in (
        ("ord-cz-sharp-hang", "a defect of a pre-release; a twin's library has none"),
        ("ord-cz-apps", "a statement about a library's log (`weft doctor log` reads it)"),
        ("ord-cz-untuned", "states no times"),
    ):
        yield Order(name, "not simulated", why)


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
