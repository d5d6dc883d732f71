"""`weft bench congestion-impact` and `--aggressor`: the same benchmarks alone and beside other
jobs."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from weft.bench.aggressor import Aggressor, in_words, parse_aggressor
from weft.cli.output import table_text
from weft.core.errors import InputError
from weft.core.units import format_significant, format_size
from weft.stats.ratio import PAIRS_FROM

if TYPE_CHECKING:
    from weft.study.comparison.impact import Impact, ImpactRow
    from weft.study.run.store import StudyRun

PRESET = ("congestion-impact", "congestion_impact")
VICTIMS = (
    {"name": "random_ring_latency", "sizes": "8"},
    {"name": "random_ring_bandwidth", "sizes": "128K"},
    {"name": "allreduce", "sizes": "8"},
)
AGGRESSORS = ("alltoall:4K@20%", "fan_in:4K@20%", "put_incast:4K@20%", "get_broadcast:4K@20%")
"""SOURCE: GPCNeT 1.3, network_load_test: its tests with their sizes, and its four congestors, on a
quarter of 80 % of the nodes each."""
FEWEST_NODES = 10
REPEATS = PAIRS_FROM
MOST_BLOCKS = 2
"""Arms with all of their figures; of more one line each."""


def load_factor(aggressors: Sequence[str]) -> dict[str, Any]:
    """The factor of a study whose settings are alone, and beside these. Raises InputError."""
    words = in_words([parse_aggressor(one) for one in aggressors])
    return {
        "name": "load",
        "settings": [
            {
                "name": "alone",
                "options": {"aggressors": []},
                "evidence": {"aggressors": "none"},
            },
            {
                "name": "beside",
                "options": {"aggressors": list(aggressors)},
                "evidence": {"aggressors": words},
            },
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
    others = sum(one.count(0, n_nodes) for one in asked)
    if any(one.share is None and one.n_nodes is None for one in asked):
        return (n_nodes - others) // (1 + sum(one.count(1, 0) == 1 for one in asked))
    return max(2, n_nodes - others)


_TAIL_NAMES = {"mean": "mean", "p99": "99 %", "p999": "99.9 %"}


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
    cells: list[tuple[str, ...]] = []
    for row in rows:
        unit = "us" if row.metric == "latency_us" else "MB/s"
        name = f"{_benchmark(row)}, {unit}"
        for tail, one in row.figures.items():
            shown = (format_significant(one.alone), format_significant(one.beside))
            cells.append((name, _TAIL_NAMES[tail], *shown, f"{one.impact:.3g}", _between(one)))
            name = ""
    return table_text(("", "", "alone", "beside", "impact", "95 %"), cells, left=2)


def _by_arm(rows: "Sequence[ImpactRow]") -> str:
    """Settings down, benchmarks across."""
    names = list(dict.fromkeys(map(_benchmark, rows)))
    scales = {row.cell.scale for row in rows}
    by_arm: dict[tuple[str, ...], dict[str, ImpactRow]] = {}
    for row in rows:
        settings = ",".join(part.partition("=")[2] for part in row.arm.split(","))
        place = () if len(scales) == 1 else (row.cell.scale,)
        by_arm.setdefault((settings, *place), {})[_benchmark(row)] = row
    cells = [
        (", ".join(place), *(_short(own[name]) if name in own else "-" for name in names))
        for place, own in by_arm.items()
    ]
    first = rows[0]
    where = f" on {first.cell.scale}" if len(scales) == 1 else ""
    factors = ",".join(part.partition("=")[0] for part in first.arm.split(","))
    lines = [f"# impact on the mean{where}, {first.n_units} {first.unit.value}, with its 95 %"]
    lines += [f"# beside {one}" for one in dict.fromkeys(row.aggressors for row in rows)]
    header = ("", *(name.replace("random_ring_", "ring ") for name in names))
    return "\n".join([*lines, f"# {factors}", table_text(header, cells)])


def _short(row: "ImpactRow") -> str:
    """'1.6 1.05-2.51'."""
    one = row.figures["mean"]
    between = "" if one.low is None or one.high is None else f" {one.low:.3g}-{one.high:.3g}"
    return f"{one.impact:.3g}{between}"


def _benchmark(row: "ImpactRow") -> str:
    return f"{row.cell.benchmark} {format_size(row.cell.size_bytes)}"


def _between(one: "Impact") -> str:
    if one.low is None or one.high is None:
        return "no interval"
    return f"{one.low:.3g} to {one.high:.3g}"


def _heading(row: "ImpactRow") -> str:
    arm = f", {row.arm}" if row.arm != "only" else ""
    first = f"# impact on {row.cell.scale}{arm}, {row.n_units} {row.unit.value}"
    return f"{first}\n# beside {row.aggressors}"


_GPCNET_NAMES = {
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

    rows = [row for row in impact_rows(run) if row.cell.benchmark in _GPCNET_NAMES]
    if not rows:
        raise InputError(
            "--gpcnet-text: nothing was measured that GPCNeT measures",
            expected=f"{', '.join(_GPCNET_NAMES)} beside aggressors",
        )
    n_job = rows[0].cell.n_nodes
    tasks = rows[0].cell.tasks_per_node
    asked = [parse_aggressor(one) for one in rows[0].aggressors.split()]
    n_all = len(run.meta.get("nodes", ())) or n_job
    counts = [one.count(n_job, n_all) for one in asked]
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
            f"{row.figures[tail].impact:.1f}X" if tail in row.figures else "-"
            for tail in ("mean", "p99")
        ]
        lines += [f"| {_name(row):>31} | {shown[0]:>20} | {shown[1]:>19} |", _KEY_LINE]
    return lines


def _name(row: "ImpactRow") -> str:
    return f"{_GPCNET_NAMES[row.cell.benchmark]} ({row.cell.size_bytes} B)"
