"""The orders of Cazes (MUG 2020) on Frontera's twin: adaptive routing, and SHARP.

    frontera.py [--ar RUN] [--sharp RUN] [--write]

Runs `frontera-ar` and `frontera-sharp`, or reads runs of them, and a few launches more. Prints the
tables of docs/concepts/fidelity.md; --write puts them into the page.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from statistics import mean, median, stdev
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benches.page import print_tables

from weft.bench.model import Launch, Trial
from weft.bench.twin.backend import TwinBackend, simulate
from weft.catalog.load import platform
from weft.cli import run as weft
from weft.core.units import format_size
from weft.study.comparison.cells import cells_of
from weft.study.comparison.comparison import compare_arms
from weft.study.comparison.rows import ComparisonRow, RowOutcome
from weft.study.run.store import read_run

PAGE = Path(__file__).resolve().parent.parent / "docs" / "concepts" / "fidelity.md"
TASKS = (1, 2, 4, 8, 14, 28, 56)
MINHOP = "routing-tables=opensm-minhop"


@dataclass(frozen=True, slots=True)
class Order:
    """A row of the source's orders: its id, and what the twin says."""

    id: str
    found: str
    reason: str


def said(is_so: bool) -> str:
    """The word of an order that is tested."""
    return "reproduced" if is_so else "not reproduced"


class Gains:
    """The ratios off / on of a study's cells."""

    def __init__(self, run: Path) -> None:
        self.rows: tuple[ComparisonRow, ...] = tuple(compare_arms(read_run(run)).rows)
        self._by_cell = {row.cell: row for row in self.rows}
        self.values = cells_of(read_run(run)).values

    def gain(self, name: str, n_nodes: int, tasks: int, size: int, condition: str = "") -> float:
        """Off / on: above 1 where the feature helps."""
        for cell, row in self._by_cell.items():
            if (cell.benchmark, cell.n_nodes, cell.tasks_per_node) != (name, n_nodes, tasks):
                continue
            if cell.size_bytes == size and cell.condition == condition:
                return 1 / row.slowdown
        raise KeyError((name, n_nodes, tasks, size, condition))

    def spread(self, tasks: int, n_nodes: int, arm: str) -> float:
        """Standard deviation over mean of node sets, the mean of all sizes of allreduce."""
        by_size: dict[int, list[float]] = {}
        for value in self.values:
            cell = value.cell
            place = (cell.benchmark, cell.n_nodes, cell.tasks_per_node, value.arm)
            if place == ("allreduce", n_nodes, tasks, arm):
                by_size.setdefault(cell.size_bytes, []).append(value.value)
        return mean(stdev(values) / mean(values) for values in by_size.values())


def listed(values: Sequence[float]) -> str:
    """'1.20, 2.39'."""
    return ", ".join(f"{value:.2f}" for value in values)


def routing_lines(gains: Gains) -> Iterator[str]:
    """The ratios of `frontera-ar`, a row a collective and size, a column a job and its tables."""
    conditions = sorted({row.cell.condition for row in gains.rows})
    scales = sorted({row.cell.n_nodes for row in gains.rows})
    heads = [f"{n} nodes, {condition_words(one)}" for one in conditions for n in scales]
    yield "| off / on, median of seven node sets | " + " | ".join(heads) + " |"
    yield "|---|" + "---:|" * len(heads)
    marks = {RowOutcome.FASTER: " +", RowOutcome.SLOWER: " -", RowOutcome.EQUIVALENT: " ="}
    by = {(row.cell.text, row.cell.condition, row.cell.n_nodes): row for row in gains.rows}
    for text in dict.fromkeys(row.cell.text for row in sorted(gains.rows, key=lambda r: r.cell)):
        shown = []
        for condition in conditions:
            for n in scales:
                row = by[text, condition, n]
                shown.append(f"{1 / row.slowdown:.2f}{marks.get(row.outcome, ' ?')}")
        yield f"| {text} | " + " | ".join(shown) + " |"


def condition_words(condition: str) -> str:
    """'dmodk, packed'."""
    return ", ".join(part.partition("=")[2] for part in condition.split(","))


@cache
def twin(n_nodes: int) -> TwinBackend:
    """Frontera's twin."""
    return TwinBackend(platform("frontera"), n_nodes)


def launched(n_all: int, name: str, size: int, **fields: Any) -> Any:
    """The outcome of one launch, off the study's matrix."""
    backend = twin(n_all)
    nodes = fields.pop("nodes", None) or backend.nodes[: fields.pop("n_nodes")]
    trial = Trial("t", name, (size,), tuple(nodes), fields.pop("tasks", 1), **fields)
    return simulate(backend.scenario(Launch(trial, 0, 0)))


def one_us(n_all: int, name: str, size: int, **fields: Any) -> float:
    """Its time in microseconds."""
    options = {"iterations": 1, "warmup": 0, **fields.pop("options", {})}
    return float(launched(n_all, name, size, options=options, **fields)["duration_ps"][0]) / 1e6


def uplink_imbalance(adaptive: str) -> float:
    """Fullest over mean up-link in an alltoall of 32 KiB on 512 packed nodes, OpenSM's minhop."""
    backend = twin(3696)
    options = {"iterations": 1, "warmup": 0, "routing": "opensm-minhop"}
    options["adaptive_routing"] = adaptive
    outcome = launched(3696, "alltoall", 32768, n_nodes=512, options=options)
    links = backend.fabric_document["links"]
    # A switch's end has no adapter in its name; the generator writes the leaf first.
    ups = {link["a"] for link in links if "/" not in link["a"] + link["b"]}
    sent = [
        int(n_bytes)
        for name, n_bytes in zip(outcome["port_name"], outcome["xmit_bytes"], strict=True)
        if name in ups and n_bytes > 0
    ]
    return max(sent) / mean(sent)


def leaf_share() -> float:
    """Bandwidth of each of 44 nodes of a leaf that all send out of it, over that of one alone."""
    backend = twin(3696)
    inside, outside = backend.nodes[:44], backend.nodes[44 * 3 : 44 * 47 : 44]
    size = 1 << 20

    def mean_us(n_pairs: int) -> float:
        nodes = (*inside[:n_pairs], *outside[:n_pairs])
        options = {
            "rounds": [[[k, n_pairs + k] for k in range(n_pairs)]],
            "phases": ["bandwidth"],
            "adaptive_routing": "on",
        }
        outcome = launched(3696, "pairs", size, nodes=nodes, options=options)
        return mean(int(ps) for ps in outcome["duration_ps"]) / 1e6

    return mean_us(1) / mean_us(44)


def routing_orders(gains: Gains) -> Iterator[Order]:
    """Orders about the fabric and adaptive routing."""
    share = leaf_share()
    yield Order(
        "ord-cz-taper",
        said(abs(share - 9 / 11) < 0.02),
        f"44 nodes of a leaf send 1 MiB messages out of it at {share:.1%} of one alone",
    )
    yield Order(
        "ord-cz-ar-recovery",
        "reproduced",
        "[a cable that dies](#a-cable-that-dies): the same tables stay, flows go on",
    )
    off, on = uplink_imbalance("off"), uplink_imbalance("on")
    yield Order(
        "ord-cz-ar-balance",
        said(on < off),
        f"alltoall of 32 KiB, 512 packed nodes, minhop: fullest over mean up-link {off:.2f}, with "
        f"adaptive routing {on:.2f}",
    )
    packed = f"{MINHOP},placement=packed"
    scattered = f"{MINHOP},placement=scattered"
    for name, n, size in (
        ("allgather", 512, 8192),
        ("alltoall", 512, 32768),
        ("alltoallv", 256, 32768),
    ):
        both = [gains.gain(name, n, 1, size, condition) for condition in (packed, scattered)]
        yield Order(
            f"ord-cz-ar-{name}",
            said(both[0] > 1.05),
            f"{n} nodes, {format_size(size)}, OpenSM's minhop: gain {both[0]:.2f} packed, "
            f"{both[1]:.2f} scattered",
        )
    slower = [row for row in gains.rows if row.outcome is RowOutcome.SLOWER]
    yield Order(
        "ord-cz-ar-degradation",
        said(bool(slower)),
        "; ".join(f"{row.cell.place} takes {row.slowdown:.2f} times as long" for row in slower),
    )
    yield Order(
        "ord-cz-ar-default",
        "reproduced" if slower else "not reproduced",
        f"by the rule adaptive routing is not to be the default: {len(slower)} of "
        f"{len(gains.rows)} cells slower, "
        f"{sum(row.outcome is RowOutcome.FASTER for row in gains.rows)} faster",
    )


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
        f"64 nodes, 4 KiB, 1 to 56 tasks: {listed(at_4k)}; 56 gain least, but gain: the twin's "
        "hosts reduce 4 KiB of 56 tasks slowly in both arms",
    )
    yield from node_orders(gains)


def node_orders(gains: Gains) -> Iterator[Order]:
    """Orders about speed-ups of allreduce by nodes and tasks."""
    upto = (4, 16, 64, 256)
    by_nodes = {tasks: [gains.gain("allreduce", n, tasks, 256) for n in upto] for tasks in TASKS}
    rising = [tasks for tasks, line in by_nodes.items() if all(a < b for a, b in pairwise(line))]
    yield Order(
        "ord-cz-sharp-nodes",
        said(len(rising) >= 5),
        f"256 B, 4, 16, 64, 256 nodes, one task: {listed(by_nodes[1])}; 28 tasks: "
        f"{listed(by_nodes[28])}. It rises throughout with {', '.join(map(str, rising))} tasks",
    )
    fewer = [gains.gain("allreduce", 64, tasks, 256) for tasks in TASKS]
    yield Order(
        "ord-cz-sharp-56-b",
        said(min(fewer[:-1]) > 1 and fewer[-1] < min(fewer[:-1])),
        f"64 nodes, 256 B, 1 to 56 tasks: {listed(fewer)}; 56 gain least",
    )
    twice = [gains.gain("allreduce", 128, tasks, 4096) for tasks in TASKS]
    yield Order(
        "ord-cz-sharp-2x28",
        said(all(value > 1.8 for value in twice[:-1])),
        f"128 nodes, 4 KiB, 1 to 28 tasks: {listed(twice[:-1])}, 56: {twice[-1]:.2f}; at 256 B 28 "
        f"tasks reach {gains.gain('allreduce', 128, 28, 256):.2f}",
    )
    spreads = [gains.spread(tasks, 256, "sharp=off") for tasks in TASKS]
    spreads_on = [gains.spread(tasks, 256, "sharp=on") for tasks in TASKS]
    yield Order(
        "ord-cz-sharp-56-c",
        said(spreads_on[-1] > max(spreads_on[:-1])),
        f"256 nodes, standard deviation over mean with SHARP, 1 to 56 tasks: {listed(spreads_on)}: "
        "with few tasks a rare interruption is many times the time of the operation",
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
    most = [
        max(gains.gain("allreduce", n, tasks, 256) for tasks in TASKS) for n in (4, 16, 64, 256)
    ]
    highest = max(1 / row.slowdown for row in gains.rows if row.cell.benchmark == "allreduce")
    yield Order(
        "ord-cz-sharp-trend",
        said(all(a < b for a, b in pairwise(most)) and highest < 14),
        f"largest gain at 256 B, 4, 16, 64, 256 nodes: {listed(most)}; of all {highest:.1f}",
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
        f"from 16 nodes on it gains at all task counts but 56; below 1: {'; '.join(below)} nodes",
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


def page_lines(routing: Gains, sharp: Gains) -> Iterator[str]:
    """The tables."""
    yield "`weft study run frontera-ar --twin frontera`, adaptive routing off over on: `+` faster,"
    yield "`-` slower, `=` equal within 5 %, `?` not decided."
    yield ""
    yield from routing_lines(routing)
    yield ""
    yield "Each order of the source on the twin. Gains are times off over on, medians of the node"
    yield "sets of `frontera-ar` (seven) and `frontera-sharp` (nine, with the assumed noise)."
    yield ""
    yield "| order | | on the twin |"
    yield "|---|---|---|"
    for orders in (routing_orders(routing), sharp_orders(sharp), barrier_orders(sharp)):
        for order in orders:
            yield f"| `{order.id}` | {order.found} | {order.reason} |"


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
