"""The text of an expectation: the value, the binding limit, the parts of the time, the figures."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from weft.catalog.machine.platform import Platform, figures
from weft.cli.output import table_text
from weft.core.units import format_significant, format_size
from weft.expect.model import Conditions, Expectation
from weft.expect.nccl.collectives import EXTRAPOLATED, busbw_factor
from weft.expect.nccl.topology import is_of_amd

Found = Sequence[tuple[Conditions, Expectation]]

METRICS = {
    "busbw_gb_s": "bus bandwidth",
    "bandwidth_mb_s": "",
    "latency_us": "",
    "msg_rate_mps": "messages",
}
LIBRARIES = {"mpi": "MPI", "verbs": "verbs", "nccl": "NCCL"}
EXPECTED = (
    *("metric", "unit", "value", "low", "high", "limit", "bound", "limit_name"),
    *("algorithm", "formula", "source"),
)
"""Columns of an expectation in a row."""
USED = ("links.", "packets.", "switch.", "node.hca", "node.hcas", "gpus.", "host.", "fabric.")
"""Sections of a platform that expectations use."""


def answer_text(platform: Platform, found: Found, explained: list[dict[str, Any]]) -> str:
    """Each library's answer, the GPUs' own first; the figures last."""
    groups: dict[tuple[str, str], list[tuple[Conditions, Expectation]]] = {}
    for conditions, one in found:
        groups.setdefault((conditions.library, conditions.memory), []).append((conditions, one))
    texts = [
        one_text(platform, *group[0]) if len(group) == 1 else curve_text(platform, group)
        for group in groups.values()
    ]
    return "\n".join(["\n\n".join(texts), *_figure_lines(explained)])


def overview_text(platform: Platform, found: Found, explained: list[dict[str, Any]]) -> str:
    """The usual values of a machine, a row each."""
    cells = [
        [
            what(platform, conditions),
            where(platform, conditions).partition(", ")[2],
            f"{number(one.value)} {one.unit}",
            f"{number(one.low)} to {number(one.high)}",
            number(one.limit) if one.limit is not None else "-",
            one.bound.split(" - ")[0],
        ]
        for conditions, one in found
    ]
    headers = ["what", "where", "expected", "between", "limit", "binding limit"]
    head = f"EXPECT   the usual values of {platform.name}"
    table = table_text(headers, cells, left=2, last=4)
    return "\n".join([head, "", table, *_figure_lines(explained)])


def one_text(platform: Platform, conditions: Conditions, found: Expectation) -> str:
    """One size: value, bound, limit, parts, formula, sources."""
    lines = [
        f"EXPECT   {number(found.value)} {found.unit}{_metric(found)}"
        f" ({number(found.low)} to {number(found.high)}):"
        f" {what(platform, conditions)} on {where(platform, conditions)}",
        f"BINDS    {found.bound}",
        f"LIMIT    {limit(found)}",
    ]
    time_us = _time_us(conditions, found)
    if time_us is not None:
        lines.append(f"TIME     {number(time_us)} us a call")
    if found.algorithm:
        lines.append(f"BY       {found.algorithm}")
    if found.others:
        listed = [f"{name} {number(value)} {found.unit}" for name, value in found.others]
        lines.append(f"OTHERS   {', '.join(listed)}")
    lines += ["", _parts(found), "", f"formula  {found.formula}", f"sources  {found.source}"]
    return "\n".join(lines)


def curve_text(platform: Platform, found: Found) -> str:
    """Several sizes: a row each."""
    first, last = found[0][0], found[-1][0]
    top = found[-1][1]
    sizes = f"{format_size(first.size_bytes)} to {format_size(last.size_bytes)}"
    head = (
        f"EXPECT   {number(top.value)} {top.unit}{_metric(top)} at {format_size(last.size_bytes)}:"
        f" {what(platform, replace(last, size_bytes=0))} of {sizes} on {where(platform, last)}"
    )
    cells = [
        [
            format_size(conditions.size_bytes),
            number(one.value),
            number(one.low),
            number(one.high),
            number(one.limit) if one.limit is not None else "-",
            one.unit,
            one.bound.split(" - ")[0],
        ]
        for conditions, one in found
    ]
    headers = ["size", "expected", "low", "high", "limit", "unit", "binding limit"]
    spent_us = [_time_us(conditions, one) for conditions, one in found]
    if any(spent_us):
        # A rate of a few bytes says little to a reader; the time does.
        headers.insert(1, "time us")
        for row, time_us in zip(cells, spent_us, strict=True):
            row.insert(1, "-" if time_us is None else number(time_us))
    beyond = next((one.bound for _, one in found if EXTRAPOLATED in one.bound), "")
    if beyond:
        head += f"\nBEYOND   {beyond.rpartition(' - ')[2]}"
    sources = list(dict.fromkeys(f"sources  {one.source}" for _, one in found))
    return "\n".join(
        [
            head,
            "",
            table_text(headers, cells, left=0, last=2),
            "",
            *sources[-1:],
        ]
    )


def _time_us(conditions: Conditions, found: Expectation) -> float | None:
    """The time behind a bus bandwidth; None for other metrics."""
    if found.metric != "busbw_gb_s" or found.value <= 0:
        return None
    factor = busbw_factor(conditions.benchmark, conditions.n_ranks)
    return conditions.size_bytes * factor / found.value / 1e3


def what(platform: Platform, conditions: Conditions) -> str:
    """'NCCL allreduce of 1 GiB'."""
    library = LIBRARIES[conditions.library]
    if conditions.library == "nccl" and is_of_amd(platform):
        library = "RCCL"
    size = f" of {format_size(conditions.size_bytes)}" if conditions.size_bytes else ""
    memory = ""
    if conditions.memory == "gpu" and conditions.library != "nccl":
        memory = " in GPU memory"
    version = f" {conditions.library_version}" if conditions.library_version else ""
    return f"{library}{version} {conditions.benchmark}{size}{memory}"


def where(platform: Platform, conditions: Conditions) -> str:
    """'azure-ndv5, 4 nodes x 8 GPUs'."""
    unit = "GPU" if conditions.library == "nccl" else "task"
    tasks = conditions.tasks_per_node
    ranks = f" x {tasks} {unit}s" if tasks > 1 else ""
    nodes = "1 node" if conditions.n_nodes == 1 else f"{conditions.n_nodes} nodes"
    return f"{platform.name}, {nodes}{ranks}"


def limit(found: Expectation) -> str:
    """The value that no measurement can beat, in words."""
    if found.limit is None:
        return "none known"
    word = "less" if found.lower_is_better else "more"
    return f"{number(found.limit)} {found.unit}; {word} is impossible: {found.limit_name}"


def number(value: float) -> str:
    """Four significant digits."""
    return format_significant(value) if value < 1e6 else f"{value:.0f}"


def _metric(found: Expectation) -> str:
    name = METRICS.get(found.metric, found.metric)
    return f" {name}" if name else ""


def _parts(found: Expectation) -> str:
    total = sum(term.time_ns for term in found.terms)
    cells = [
        [
            term.name,
            number(term.time_ns / 1e3),
            f"{100 * term.time_ns / total:.0f} %" if total > 0 else "-",
            f"{number(term.low_ns / 1e3)} to {number(term.high_ns / 1e3)}",
            term.class_.value,
        ]
        for term in found.terms
    ]
    return table_text(["part of the time", "us", "share", "between", "class"], cells)


def figures_of(platform: Platform, found: Found) -> list[dict[str, Any]]:
    """The platform's figures and the ranges of practice that the expectations use."""
    rows = [
        {
            "key": key,
            "value": figure.value,
            "unit": figure.unit,
            "class": figure.class_.value,
            "source": figure.source,
        }
        for key, figure in figures(platform)
        if key.startswith(USED)
    ]
    sources: dict[str, tuple[str, str]] = {}
    for _, one in found:
        for term in one.terms:
            if term.source:
                sources.setdefault(term.source, (term.name, term.class_.value))
    rows += [
        {"key": name, "value": "", "unit": "", "class": class_, "source": source}
        for source, (name, class_) in sources.items()
    ]
    return rows


def _figure_lines(rows: list[dict[str, Any]]) -> list[str]:
    if not rows:
        return []
    lines = ["", "FIGURES"]
    for row in rows:
        value = f"{row['value']:.10g} {row['unit']}" if row["unit"] else "a range"
        lines.append(f"{row['key']:<32} {value:>16}  {row['class']:<10}  {row['source']}")
    return lines


def row_of(platform: Platform, conditions: Conditions, found: Expectation) -> dict[str, Any]:
    """One size as a flat row."""
    return {
        "platform": platform.name,
        "benchmark": conditions.benchmark,
        "library": conditions.library,
        "nodes": conditions.n_nodes,
        "tasks_per_node": conditions.tasks_per_node,
        "size_bytes": conditions.size_bytes,
        **{name: getattr(found, name) for name in EXPECTED},
    }


def record_of(platform: Platform, found: Found, explained: list[dict[str, Any]]) -> dict[str, Any]:
    """Everything, with the parts of each time."""
    rows = []
    for conditions, one in found:
        parts = [
            {
                "name": term.name,
                "time_us": term.time_ns / 1e3,
                "low_us": term.low_ns / 1e3,
                "high_us": term.high_ns / 1e3,
                "class": term.class_.value,
                "source": term.source,
            }
            for term in one.terms
        ]
        others = [{"algorithm": name, "value": value} for name, value in one.others]
        rows.append({**row_of(platform, conditions, one), "others": others, "parts": parts})
    return {"expectations": rows, "figures": explained}
