"""Cases of Frontera's twin: ratios of a study's cells, and the orders about adaptive routing."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from weft.bench.model import Launch, Trial
from weft.bench.twin.backend import TwinBackend, simulate
from weft.catalog.load import platform
from weft.core.units import format_size
from weft.study.comparison.cells import cells_of
from weft.study.comparison.comparison import compare_arms
from weft.study.comparison.conclusion.anomalies import AnomalyFacts
from weft.study.comparison.headlines import Headlines
from weft.study.comparison.rows import ComparisonRow, RowOutcome
from weft.study.run.store import read_run

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


def where_so(held: Mapping[str, bool]) -> str:
    """The word of an order that is tested in several places."""
    places = [place for place, is_so in held.items() if is_so]
    if len(places) in {0, len(held)}:
        return said(bool(places))
    return f"holds only {', '.join(places)}"


class Gains:
    """The ratios off / on of a study's cells."""

    def __init__(self, run: Path) -> None:
        measured = read_run(run)
        found = compare_arms(measured)
        self.rows: tuple[ComparisonRow, ...] = found.rows
        facts = [one.facts for one in found.findings]
        self.anomalies = [one for one in facts if isinstance(one, AnomalyFacts)]
        self._by_cell = {row.cell: row for row in self.rows}
        self.values = cells_of(measured, Headlines([measured])).values

    def gain(self, name: str, n_nodes: int, tasks: int, size: int, condition: str = "") -> float:
        """Off / on: above 1 where the feature helps."""
        return 1 / self.row(name, n_nodes, tasks, size, condition).slowdown

    def row(
        self, name: str, n_nodes: int, tasks: int, size: int, condition: str = ""
    ) -> ComparisonRow:
        """The comparison of a cell."""
        for cell, row in self._by_cell.items():
            if (cell.benchmark, cell.n_nodes, cell.tasks_per_node) != (name, n_nodes, tasks):
                continue
            if cell.size_bytes == size and cell.condition == condition:
                return row
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


@cache
def alltoall(adaptive: str, tables: str) -> Any:
    """An alltoall of 32 KiB on 512 packed nodes."""
    options = {"iterations": 1, "warmup": 0, "adaptive_routing": adaptive}
    options |= {} if tables == "dmodk" else {"routing": tables}
    return launched(3696, "alltoall", 32768, n_nodes=512, options=options)


def between_switches() -> tuple[set[str], set[str]]:
    """Ports of leaves towards spines, and of spines towards leaves."""
    links = twin(3696).fabric_document["links"]
    # A switch's end has no adapter in its name; the generator writes the leaf first.
    pairs = [(link["a"], link["b"]) for link in links if "/" not in link["a"] + link["b"]]
    return {leaf for leaf, _ in pairs}, {spine for _, spine in pairs}


def uplink_imbalance(adaptive: str) -> float:
    """Fullest over mean up-link, OpenSM's minhop."""
    outcome, (ups, _) = alltoall(adaptive, "opensm-minhop"), between_switches()
    sent = [
        int(n_bytes)
        for name, n_bytes in zip(outcome["port_name"], outcome["xmit_bytes"], strict=True)
        if name in ups and n_bytes > 0
    ]
    return max(sent) / mean(sent)


def waiting_lines() -> Iterator[str]:
    """Where packets wait for credits, with and without adaptive routing."""
    yield "| alltoall 32 KiB, the first 512 nodes | adaptive | us | ports up wait, ms | down, ms |"
    yield "|---|---|---:|---:|---:|"
    for tables in ("opensm-minhop", "dmodk"):
        for adaptive in ("off", "on"):
            outcome = alltoall(adaptive, tables)
            waits = dict(zip(outcome["port_name"], outcome["xmit_wait_ps"], strict=True))
            up, down = (
                sum(int(waits.get(port, 0)) for port in ports) / 1e9 for ports in between_switches()
            )
            yield (
                f"| {tables} | {adaptive} | {int(outcome['duration_ps'][0]) / 1e6:,.0f} | "
                f"{up:.1f} | {down:.1f} |"
            )


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
        "holds only where switches notify each other",
        "[a cable that dies](#a-cable-that-dies): the flows that stall under the manager alone and "
        "under SHIELD, adaptive routing or not",
    )
    off, on = uplink_imbalance("off"), uplink_imbalance("on")
    yield Order(
        "ord-cz-ar-balance",
        said(on < off),
        f"alltoall of 32 KiB, 512 packed nodes, minhop: fullest over mean up-link {off:.3f}, with "
        f"adaptive routing {on:.3f}",
    )
    packed = f"{MINHOP},placement=packed"
    scattered = f"{MINHOP},placement=scattered"
    for name, n, size in (
        ("allgather", 512, 8192),
        ("alltoall", 512, 32768),
        ("alltoallv", 256, 32768),
    ):
        rows = {
            "packed": gains.row(name, n, 1, size, packed),
            "scattered": gains.row(name, n, 1, size, scattered),
        }
        yield Order(
            f"ord-cz-ar-{name}",
            where_so({one: row.outcome is RowOutcome.FASTER for one, row in rows.items()}),
            f"{n} nodes, {format_size(size)}, OpenSM's minhop: gain "
            + ", ".join(f"{1 / row.slowdown:.2f} {one}" for one, row in rows.items()),
        )
    slower = [row for row in gains.rows if row.outcome is RowOutcome.SLOWER]
    yield Order(
        "ord-cz-ar-degradation",
        said(bool(slower)),
        "; ".join(f"{row.cell.place} takes {row.slowdown:.2f} times as long" for row in slower),
    )
    yield Order(
        "ord-cz-ar-default",
        "a rule, applied",
        f"{'not to be' if slower else 'to be'} the default here: {len(slower)} of "
        f"{len(gains.rows)} cells slower, "
        f"{sum(row.outcome is RowOutcome.FASTER for row in gains.rows)} faster",
    )
