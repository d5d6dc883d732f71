"""Published figures compared with the twin's: prints the tables of docs/concepts/fidelity.md.

.venv/bin/python scripts/fidelity.py            print the tables
.venv/bin/python scripts/fidelity.py --write    put them into the page
"""

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benches.page import print_tables

from benches import (
    dct,
    flow_error,
    gpu_rails,
    in_network,
    nv_switches,
    slingshot,
    steady_state,
    training_steps,
)
from weft.bench.model import Launch, Sample, Trial
from weft.bench.twin.backend import TwinBackend, simulate
from weft.bench.twin.scenario import scenario
from weft.catalog.document import SourceClass
from weft.catalog.load import platform, platform_names
from weft.catalog.machine.platform import Platform, PublishedTable, figures
from weft.core.units import format_size
from weft.expect.fit.platform_fit import HALVES, HeldOutHalf, fit_platform
from weft.expect.fit.tables import METRICS
from weft.study.fit_tables import published_tables as published_tables_of
from weft.topology.fabric import Fabric
from weft.topology.fabric_spec import fabric_spec

PAGE = Path(__file__).resolve().parent.parent / "docs" / "concepts" / "fidelity.md"
ALL_PAIRS_NODES = 470
PAIR_BYTES = 4 << 20


@dataclass(frozen=True)
class Comparison:
    """One row: what, published, the twin's; `error` is twin / published - 1."""

    what: str
    published: float
    twin: float

    @property
    def error(self) -> float:
        """Relative error with its sign."""
        return self.twin / self.published - 1


def measure(
    twin: TwinBackend,
    benchmark: str,
    sizes: Sequence[int],
    *,
    nodes: Sequence[str],
    tasks_per_node: int = 1,
    window: int | None = None,
) -> list[Sample]:
    """The samples of one launch of a benchmark, one iteration a size."""
    options = {"iterations": 1, "warmup": 0}
    if window is not None:
        options["window"] = window
    trial = Trial(
        "fidelity", benchmark, tuple(sizes), tuple(nodes), tasks_per_node, {}, {}, options
    )
    return list(twin.measure(Launch(trial, 0, 0)))


def table_rows(document: Platform, table: PublishedTable) -> list[Comparison]:
    """A published table, compared with what two nodes of the twin give."""
    twin = TwinBackend(document, 2)
    sizes = [size for size, _ in table.rows]
    samples = measure(twin, table.benchmark, sizes, nodes=twin.nodes)
    return [
        Comparison(format_size(size), value, sample.metrics[table.metric])
        for (size, value), sample in zip(table.rows, samples, strict=True)
    ]


@dataclass(frozen=True, slots=True)
class Single:
    """One figure. `relation` says what is published: the value (=), or a bound on it."""

    name: str
    unit: str
    published: float
    twin: float
    source: str
    relation: str = "="

    @property
    def verdict(self) -> str:
        """The relative error; of a bound, whether the twin keeps it."""
        if self.relation == "=":
            return f"{self.twin / self.published - 1:+.1%}"
        above = self.twin >= self.published
        return "kept" if above == (self.relation == ">=") else "broken"


def single_figures() -> Iterator[Single]:
    """The figures outside tables."""
    ndv4 = platform("azure-ndv4")
    twin = TwinBackend(ndv4, 2)
    (pair,) = measure(twin, "bandwidth", [8 << 20], nodes=twin.nodes, window=8)
    gbps = pair.metrics["bandwidth_mb_s"] * 8 / 1e3
    for memory in ("host", "gpu"):
        for end in ("min", "max"):
            fact = ndv4.facts[f"pair-bandwidth-{memory}-{end}"]
            name = f"NDv4, one pair of adapters, 8 MiB, {memory} memory, {end} of 16"
            yield Single(name, "Gb/s", fact.value, gbps, fact.source)
    (rails,) = measure(
        twin, "message_rate", [1 << 20], nodes=twin.nodes, tasks_per_node=8, window=8
    )
    bound = ndv4.facts["all-pairs-allreduce-bound"]
    name = "NDv4, eight adapters of a pair at once (published: NCCL, every pair above)"
    rails_gb_s = rails.metrics["bandwidth_mb_s"] / 1e3
    yield Single(name, "GB/s", bound.value, rails_gb_s, bound.source, relation=">=")
    frontera = platform("frontera")
    leaves = TwinBackend(frontera, 88)
    (out,) = measure(leaves, "message_rate", [1 << 18], nodes=leaves.nodes, window=8)
    share = out.metrics["bandwidth_mb_s"] / 1e3 / (44 * 12.5)
    taper = frontera.facts["oversubscription"]
    name = (
        "Frontera, share of injection that leaves a full leaf (published: 9/11, a bound; d-mod-k"
        " puts three of 44 flows on some of 18 cables, and the slowest pair ends the window: 2/3)"
    )
    yield Single(name, "1", 1 / taper.value, share, taper.source, relation="<=")


def published_tables() -> Iterator[tuple[Platform, PublishedTable, str]]:
    """The tables the twin can compute, and whether they were fitted to."""
    a9 = platform("azure-a9")
    in_sample = "the host costs are fitted to this table: the errors are the fit's"
    for name, unused in (("latency", ""), ("bidirectional", "; 8 KiB was left out as an anomaly")):
        table = a9.table(name)
        if table is not None:
            yield a9, table, in_sample + unused
    fat_tree = platform("fat-tree")
    table = fat_tree.table("hbv2-latency")
    if table is not None:
        yield fat_tree, table, in_sample


@dataclass(frozen=True)
class Unseen:
    """How the twins fitted to half of a table's rows give the other half: rows by size, errors."""

    rows: Mapping[str, Comparison]
    errors: str


def unseen_tables() -> dict[str, Unseen]:
    """By table of the A9: each row by the twin that has not seen it."""
    a9 = platform("azure-a9")
    fitted = fit_platform(published_tables_of(a9).tables, name="a9", base=a9)
    twins = dict(zip(HALVES, (TwinBackend(half, 2) for half in fitted.halves), strict=True))
    benchmarks = dict.fromkeys(half.table.benchmark for half in fitted.held_out)
    return {
        benchmark: _unseen(
            [half for half in fitted.held_out if half.table.benchmark == benchmark], twins
        )
        for benchmark in benchmarks
    }


def _unseen(halves: Sequence[HeldOutHalf], twins: Mapping[str, TwinBackend]) -> Unseen:
    table = halves[0].table
    metric = METRICS[table.benchmark]
    rows: dict[str, Comparison] = {}
    said = []
    for half in halves:
        unseen = (*half.rows, *half.named)
        twin, sizes = twins[half.fitted_on], [row.size_bytes for row in unseen]
        samples = measure(twin, table.benchmark, sizes, nodes=twin.nodes)
        compared = [
            Comparison(format_size(row.size_bytes), row.measured, sample.metrics[metric])
            for row, sample in zip(unseen, samples, strict=True)
        ]
        rows |= {row.what: row for row in compared}
        counted = _errors_said(compared[: len(half.rows)])
        named = (
            f"; with {compared[-1].what} counted: {_errors_said(compared)}" if half.named else ""
        )
        said.append(f"fitted on {half.fitted_on}: {counted}{named}")
    return Unseen(rows, "; ".join(said))


def _errors_said(rows: Sequence[Comparison]) -> str:
    errors = [abs(row.error) for row in rows]
    worst = max(rows, key=lambda row: abs(row.error))
    return f"median {median(errors):.1%}, largest {max(errors):.1%} ({worst.what})"


def random_pairs(n_nodes: int, seed: int) -> list[tuple[int, int]]:
    """A random perfect matching; one node of an odd number stays alone."""
    order = [int(node) for node in np.random.default_rng(seed).permutation(n_nodes)]
    return list(zip(order[::2], order[1::2], strict=False))


def pair_rates(document: Platform, n_nodes: int, adaptive: str, seed: int) -> list[float]:
    """GB/s each way of the pairs of a random matching, all at once, every adapter in use.

    An adapter talks to the partner's adapter of the same rail, as NCCL's rings between two nodes
    do; a pair is as fast as the slowest of its flows.
    """
    rails = document.hcas_per_node
    spec = fabric_spec(document, n_nodes)
    nodes = Fabric.from_document(spec).nodes
    options = {"adaptive_routing": adaptive}
    trial = Trial("fidelity", "message_rate", (PAIR_BYTES,), nodes, rails, {}, {}, options)
    pairs = random_pairs(n_nodes, seed)
    messages = [
        {"src": a * rails + rail, "dst": b * rails + rail, "size_bytes": PAIR_BYTES}
        for pair in pairs
        for a, b in (pair, pair[::-1])
        for rail in range(rails)
    ]
    made = scenario(document, spec, [], trial, seed)
    made["work"] = [{"benchmark": "messages", "messages": messages}]
    durations = np.asarray(simulate(made)["duration_ps"]).reshape(len(pairs), 2 * rails)
    return [float(rate) for rate in rails * PAIR_BYTES * 1e3 / durations.max(axis=1)]


def permutation_lines() -> Iterator[str]:
    """The published test of all pairs of a large cluster, adaptive routing off and on."""
    ndv4 = platform("azure-ndv4")
    bound = ndv4.facts["all-pairs-allreduce-bound"]
    yield f"### {ndv4.name}: {ALL_PAIRS_NODES} nodes in random pairs, all at once"
    yield ""
    yield f"Published: every pair above {bound.value:g} GB/s ({bound.source}; {bound.conditions})."
    size = f"{PAIR_BYTES >> 20} MiB"
    yield f"Here, {size} each way and adapter, rail to rail; a pair is its slowest flow."
    yield ""
    yield "| adaptive routing | matching | slowest pair GB/s | mean | pairs above the bound |"
    yield "|---|---|---:|---:|---:|"
    for setting, seed in (("off", 1), ("on", 1), ("on", 2)):
        rates = pair_rates(ndv4, ALL_PAIRS_NODES, setting, seed)
        above = sum(rate > bound.value for rate in rates)
        figures = f"{min(rates):.1f} | {mean(rates):.1f} | {above} of {len(rates)}"
        yield f"| {setting} | {seed} | {figures} |"


def compared_lines(
    document: Platform, table: PublishedTable, note: str, unseen: Unseen | None
) -> Iterator[str]:
    """One published table and the twin's, with the errors of twins that had not seen a row."""
    rows = table_rows(document, table)
    errors = [abs(row.error) for row in rows]
    yield f"### {document.name}: published `{table.name}` and the twin's"
    yield ""
    yield f"{table.source}; {table.conditions}. Here, {note}."
    yield f"Error: median {median(errors):.1%}, largest {max(errors):.1%}."
    if unseen is not None:
        yield f"Unseen, {unseen.errors}."
    yield ""
    last = ("error | unseen |", "---:|---:|") if unseen else ("error |", "---:|")
    yield f"| size | published {table.unit} | twin {table.unit} | {last[0]}"
    yield f"|---|---:|---:|{last[1]}"
    for row in rows:
        cells = [row.what, f"{row.published:.2f}", f"{row.twin:.2f}", f"{row.error:+.1%}"]
        if unseen is not None:
            cells.append(f"{unseen.rows[row.what].error:+.1%}")
        yield f"| {' | '.join(cells)} |"


def pair_rows_line(twin_gbps: float) -> str:
    """How many of the published rows of adapter pairs lie near the twin, and which do not."""
    ndv4 = platform("azure-ndv4")
    rows = [row for row in ndv4.figures if re.fullmatch(r"js-ibw-.*-bw", row.id)]
    far = sorted((row for row in rows if row.value < twin_gbps / 1.02), key=lambda row: row.value)
    memories = " and ".join(sorted({row.conditions.split(",")[0] for row in far}))
    return (
        f"Of the {len(rows)} published rows of adapter pairs, {len(rows) - len(far)} lie within 2 %"
        f" of the twin; the other {len(far)}, all with {memories}, are"
        f" {far[0].value:g} to {far[-1].value:g} Gb/s."
    )


def single_lines() -> Iterator[str]:
    """The table of single figures."""
    yield "### Single figures"
    yield ""
    yield from ["| figure | unit | published | twin | error | source |"]
    yield "|---|---|---:|---:|---:|---|"
    singles = list(single_figures())
    for one in singles:
        published = f"{'' if one.relation == '=' else one.relation + ' '}{one.published:.4g}"
        cells = (one.name, one.unit, published, f"{one.twin:.4g}", one.verdict, one.source)
        yield f"| {' | '.join(cells)} |"
    yield ""
    yield pair_rows_line(singles[0].twin)


def assumed_lines() -> Iterator[str]:
    """Every assumed or unverified figure of the catalogue, with the platforms that share it."""
    users: dict[tuple[str, str, str, str], list[str]] = {}
    for name in platform_names():
        for key, figure in figures(platform(name)):
            if figure.class_ in (SourceClass.ASSUMED, SourceClass.UNVERIFIED):
                reason = figure.source.removeprefix("assumed: ")
                value = f"{figure.value:,.10g} {figure.unit}"
                row = (f"`{key}`", value, figure.class_.value, reason)
                users.setdefault(row, []).append(name)
    yield "### Figures without a published value"
    yield ""
    yield from ["| figure | value | class | reason | platforms |", "|---|---:|---|---|---|"]
    for row in sorted(users):
        yield f"| {' | '.join(row)} | {', '.join(users[row])} |"


def published_lines() -> Iterator[str]:
    """Every published table of latencies and rates, compared with the twin."""
    unseen = unseen_tables()
    for i, (document, table, note) in enumerate(published_tables()):
        if i > 0:
            yield ""
        mine = unseen.get(table.name) if document.name == "azure-a9" else None
        yield from compared_lines(document, table, note, mine)


PARTS: dict[str, Callable[[], Iterable[str]]] = {
    "single figures": single_lines,
    "in-network": in_network.lines,
    "NVLS": nv_switches.slices_lines,
    "rails": gpu_rails.rails_lines,
    "steady state": steady_state.lines,
    "DCT": dct.lines,
    "flows": flow_error.lines,
    "permutations": permutation_lines,
    "Slingshot": slingshot.lines,
    "published tables": published_lines,
    "assumed figures": assumed_lines,
    "training": training_steps.lines,
}
"""What prints the page's tables, in its order; an empty line stands between two."""


def page_lines() -> Iterator[str]:
    """All tables of the page, in its order."""
    for i, part in enumerate(PARTS.values()):
        if i > 0:
            yield ""
        yield from part()


def main(argv: list[str]) -> None:
    """Print the tables, or write them into the page."""
    print_tables(PAGE, "scripts/fidelity.py", page_lines(), write=argv == ["--write"])


if __name__ == "__main__":
    main(sys.argv[1:])
