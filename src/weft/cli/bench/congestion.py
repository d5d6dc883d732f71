"""`weft bench congestion-impact` and `--aggressor`: the same benchmarks alone and beside other
jobs."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from weft.bench.aggressor import Aggressor, in_words, parse_aggressor
from weft.bench.live.aggressor_ranks import ranks_on_one_host
from weft.cli.output import table_text
from weft.core.errors import InputError
from weft.core.units import format_significant, format_size
from weft.core.words import counted
from weft.stats.ratio import PAIRS_FROM

if TYPE_CHECKING:
    from weft.study.comparison.impact import Impact, ImpactRow
    from weft.study.run.store import StudyRun

PRESET = ("congestion-impact", "congestion_impact")
VICTIMS: tuple[dict[str, Any], ...] = (
    {"name": "random_ring_latency", "sizes": "8"},
    {"name": "random_ring_bandwidth", "sizes": "128K", "options": {"closing_barrier": True}},
    {"name": "allreduce", "sizes": "8"},
)
AGGRESSORS = ("alltoall:4K@20%", "fan_in:4K@20%", "put_incast:4K@20%", "get_broadcast:4K@20%")
"""SOURCE: GPCNeT 1.3, network_load_test: its tests with their sizes, and its four congestors, on a
quarter of 80 % of the nodes each."""
FEWEST_NODES = 10
FEWEST_OF_JOB = 2
REPEATS = PAIRS_FROM
MOST_BLOCKS = 2
"""Arms with all of their figures; of more one line each."""


AGGRESSOR = click.option(
    "--aggressor",
    "aggressors",
    multiple=True,
    metavar="PATTERN[:SIZE]@NODES",
    help="Measure alone, and beside a job on other nodes that repeats a pattern: alltoall:1M@20%, "
    "fan_in:4K@8, put_incast@n[1-4] ... Repeatable; twins: ,sl=1 ,pkey=0x21 ,start=1ms ,law=rtt "
    ",routing=adaptive.",
)
EACH = click.option(
    "--each-aggressor",
    is_flag=True,
    help="With several --aggressor: also beside each of them alone, for who hurts whom.",
)


def require_aggressors(aggressors: Sequence[str], *, each: bool) -> None:
    """Raises InputError for --each-aggressor where none is named."""
    if each and not aggressors:
        raise InputError("--each-aggressor without --aggressor", expected="--aggressor, twice")


def load_factor(aggressors: Sequence[str], *, each: bool = False) -> dict[str, Any]:
    """The factor of a study whose settings are alone, beside all of these, and beside `each` of
    them. Raises InputError."""
    loads: dict[str, Sequence[str]] = {"alone": (), "beside": aggressors}
    if each:
        if len(aggressors) < 2:
            raise InputError("--each-aggressor with fewer than two aggressors", expected="several")
        loads |= {f"beside-{number}": [one] for number, one in enumerate(aggressors, 1)}
    return {
        "name": "load",
        "settings": [
            {
                "name": name,
                "options": {"aggressors": list(load)},
                "evidence": {"aggressors": in_words([parse_aggressor(one) for one in load])},
            }
            for name, load in loads.items()
        ],
    }


def job_size(aggressors: Sequence[str], n_nodes: int) -> int:
    """How many nodes the measured job has: those that the aggressors leave. Raises InputError."""
    asked: list[Aggressor] = [parse_aggressor(one) for one in aggressors]
    if n_nodes == 1:
        return 2
    if tuple(aggressors) == AGGRESSORS and n_nodes < FEWEST_NODES:
        raise InputError(
            f"congestion-impact on {n_nodes} nodes",
            expected=f"{FEWEST_NODES} or more: two that measure, two for each of four patterns",
            hint="--aggressor PATTERN@NODES --job-nodes N for fewer; on one host ranks stand for "
            "nodes",
        )
    as_many = sum(one.share is None and one.n_nodes is None and not one.nodes for one in asked)
    left = n_nodes - sum(one.count(0, n_nodes) for one in asked)
    if left // (1 + as_many) < FEWEST_OF_JOB:
        raise InputError(
            f"the aggressors leave {counted(max(left, 0), 'node')} of {n_nodes} for the job"
            + (" and for those that have as many" if as_many else ""),
            expected="two for each",
            hint="more nodes, or fewer of them for aggressors",
        )
    return left // (1 + as_many)


def impact_text(rows: "Sequence[ImpactRow]") -> str:
    """The impact of each benchmark; of several arms a line each, with the impact on the mean."""
    headings = list(dict.fromkeys(map(_heading, rows)))
    if len(headings) > MOST_BLOCKS:
        return _by_arm(rows)
    return "\n\n".join(
        f"{heading}\n{_block([row for row in rows if _heading(row) == heading])}"
        for heading in headings
    )


def _block(rows: "Sequence[ImpactRow]") -> str:
    from weft.study.comparison.impact import TAIL_NAMES

    cells: list[tuple[str, ...]] = []
    for row in rows:
        unit = "us" if row.metric == "latency_us" else "MB/s"
        name = f"{_benchmark(row)}, {unit}"
        for tail, one in row.figures.items():
            shown = (format_significant(one.alone), format_significant(one.beside))
            cells.append((name, TAIL_NAMES[tail], *shown, one.text, one.between()))
            name = ""
    return table_text(("", "", "alone", "beside", "impact", "95 %"), cells, left=2)


def _by_arm(rows: "Sequence[ImpactRow]") -> str:
    """Settings down, benchmarks across."""
    names = list(dict.fromkeys(map(_benchmark, rows)))
    scales, besides = ({row.cell.scale for row in rows}, {row.aggressors for row in rows})
    by_arm: dict[tuple[str, ...], dict[str, ImpactRow]] = {}
    for row in rows:
        place = () if len(scales) == 1 else (row.cell.scale,)
        load = () if len(besides) == 1 else (row.aggressors,)
        by_arm.setdefault((*filter(None, [row.settings]), *place, *load), {})[_benchmark(row)] = row
    cells = [
        (", ".join(place), *(_short(own[name]) if name in own else "-" for name in names))
        for place, own in by_arm.items()
    ]
    first = rows[0]
    where = f" on {first.cell.scale}" if len(scales) == 1 else ""
    lines = [f"# impact on the mean{where}, {first.units}, with its 95 %"]
    lines += [f"# beside {first.aggressors}"] if len(besides) == 1 else []
    lines += [f"# {first.factors}"] if first.factors else []
    header = ("", *(name.replace("random_ring_", "ring ") for name in names))
    return "\n".join([*lines, table_text(header, cells)])


def _short(row: "ImpactRow") -> str:
    """'1.6 1.05-2.51'."""
    one = row.figures["mean"]
    return one.text if one.low is None else f"{one.text} {one.between('-')}"


def _benchmark(row: "ImpactRow") -> str:
    size = f" {format_size(row.cell.size_bytes)}" if row.cell.size_bytes else ""
    return f"{row.cell.benchmark}{size}"


def _heading(row: "ImpactRow") -> str:
    arm = f", {row.arm}" if row.settings else ""
    first = f"# impact on {row.cell.scale}{arm}, {row.units}"
    return f"{first}\n# beside {row.aggressors}"


GPCNET_NAMES = {
    "random_ring_latency": "RR Two-sided Lat",
    "random_ring_bandwidth": "RR Two-sided BW+Sync",
    "allreduce": "Multiple Allreduce",
}
_MIB_IN_MB = 2**20 / 1e6
_LINE = f"+{'-' * 33}+{'-' * 14}+{'-' * 14}+{'-' * 14}+"
_KEY_LINE = f"+{'-' * 33}+{'-' * 22}+{'-' * 21}+"


def gpcnet_text(run: "StudyRun") -> str:
    """The tables that GPCNeT's network_load_test prints. Raises InputError for a run without its
    three tests."""
    from weft.study.comparison.impact import impact_rows

    rows = [row for row in impact_rows(run) if row.cell.benchmark in GPCNET_NAMES]
    if not rows:
        raise InputError(
            "--gpcnet-text: nothing was measured that GPCNeT measures",
            expected=f"{', '.join(GPCNET_NAMES)} beside aggressors",
        )
    nodes = [str(node) for node in run.meta.get("nodes", ())]
    n_job, tasks = rows[0].cell.n_nodes, rows[0].cell.tasks_per_node
    asked = [parse_aggressor(one) for one in rows[0].aggressors.split()]
    counts = [one.count(n_job, len(nodes)) for one in asked]
    if len(nodes) == 1:
        # Ranks of one host stand for nodes.
        counts, n_job, tasks = ranks_on_one_host(asked, tasks), tasks, 1
    n_used = n_job + sum(counts)
    lines = [
        "NetworkLoad Tests v1.3",
        f"  Test with {n_used * tasks} MPI ranks ({n_used} nodes)",
        f"  {n_job} nodes running Network Tests",
        f"  {sum(counts)} nodes running Congestion Tests "
        f"(min {min(counts, default=0)} nodes per congestor)",
        "",
        "  Legend",
        "   RR = random ring communication pattern",
        "   Lat = latency",
        "   BW = bandwidth",
        "   BW+Sync = bandwidth with barrier",
        *_table("Isolated Network Tests", rows, is_alone=True),
        "",
        *_table("Network Tests running with Congestion Tests", rows, is_alone=False),
        "",
        *_key_results(rows),
    ]
    return "\n".join(lines)


def _table(title: str, rows: "Sequence[ImpactRow]", *, is_alone: bool) -> list[str]:
    lines = [f"+{'-' * 78}+", f"|{title:^78}|", _LINE]
    lines += [f"| {'Name':>31} | {'Avg':>12} | {'99%':>12} | {'Units':>12} |", _LINE]
    for row in rows:
        scale, unit = (1.0, "usec")
        if row.metric == "bandwidth_mb_s":
            scale, unit = (1 / _MIB_IN_MB, "MiB/s/rank")
        shown = []
        for tail in ("mean", "p99"):
            one = row.figures.get(tail)
            value = None if one is None else (one.alone if is_alone else one.beside) * scale
            shown.append("-" if value is None else f"{value:.1f}")
        lines += [f"| {_name(row):>31} | {shown[0]:>12} | {shown[1]:>12} | {unit:>12} |", _LINE]
    return lines


def _key_results(rows: "Sequence[ImpactRow]") -> list[str]:
    title = "Network Tests running with Congestion Tests - Key Results"
    lines = [f"+{'-' * 78}+", f"|{title:^78}|", f"+{'-' * 33}+{'-' * 44}+"]
    lines += [f"| {'Name':>31} | {'Congestion Impact Factor':>42} |", _KEY_LINE]
    lines += [f"| {'':>31} | {'Avg':>20} | {'99%':>19} |", _KEY_LINE]
    for row in rows:
        shown = [
            f"{_quotient(row, row.figures[tail]):.1f}X" if tail in row.figures else "-"
            for tail in ("mean", "p99")
        ]
        lines += [f"| {_name(row):>31} | {shown[0]:>20} | {shown[1]:>19} |", _KEY_LINE]
    return lines


def _quotient(row: "ImpactRow", one: "Impact") -> float:
    """Of the two figures as they are printed."""
    return one.beside / one.alone if row.metric == "latency_us" else one.alone / one.beside


def _name(row: "ImpactRow") -> str:
    return f"{GPCNET_NAMES[row.cell.benchmark]} ({row.cell.size_bytes} B)"
