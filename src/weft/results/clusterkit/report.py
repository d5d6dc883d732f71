"""ClusterKit (HPC-X): the report of extremes, the matrices of pairs, and its JSON.

Sizes are the documented defaults (32 MB for bandwidth in both directions, 0 B for latency), which
the files do not hold: the conditions name them so. `bandwidth.txt` is relative to the fastest pair
(`bandwidth_of_max`). SOURCE: NVIDIA HPC-X documentation, "Test descriptions and options"; samples
in the fixtures.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from weft.results.clusterkit.node_names import node_names
from weft.results.lines.cursor import Cursor, Line
from weft.results.lines.number import measured
from weft.results.model import Row, Table

_DEFAULT_SIZES = {"bandwidth": 32 * 2**20, "latency": 0}
_METRICS = {"bandwidth": "bandwidth_mb_s", "latency": "latency_us"}
Cells = dict[tuple[int, int], tuple[int, float]]
"""(rank, other rank) -> (line, value)."""
_FASTEST_OF_MAX = 1.0
_LEAST_MB_S = 100.0
"""Cells above are MB/s, not microseconds: no pair of nodes takes so long for an empty message."""

_UNITS = {"bandwidth": ("MB/sec", "MB/s"), "latency": ("usec",), "efficiency": ()}
_LONGEST_EXTREME = 1000
_EXTREME_STARTS = tuple(
    f"{which} {what}:"
    for which in ("Minimum", "Maximum", "Average")
    for what in ("bandwidth", "latency", "efficiency")
)
_FIRST_LETTERS = frozenset("REMAC")
_SUFFIXES = {"Minimum": "_min", "Maximum": "_max", "Average": ""}
_MATRIX = re.compile(r"Rank: +[0-9]{1,7}(?: +[0-9]{1,7})*")
_MATRIX_ROW = re.compile(r"([0-9]{1,7}) *(?:\(([^()]{1,255})\) *)?: +(\S.*)")
_POOR = re.compile(r"minimal bandwidth of (\S{1,40}) MB/s")
_SECTIONS = ("Bandwidth", "Latency", "Noise")
_KNOWN = ("Color Legend:", "Output directory:", "Nodes exhibited poor", "=====")


def opens(line: str) -> bool:
    """The heading of a report, one of its extremes, or the heading of a matrix."""
    text = line.lstrip()
    if text[:1] not in _FIRST_LETTERS:
        return False
    if text.startswith("Rank: "):
        return _MATRIX.fullmatch(text) is not None
    if text.startswith(("Examined nodes: ", "Color Legend:")):
        return True
    return text.startswith(_EXTREME_STARTS) and _extreme_in(text) is not None


class _Extreme(NamedTuple):
    """A line of a report in its parts; `nodes` are the names behind the value."""

    which: str
    what: str
    value: str
    nodes: str


def _extreme_in(text: str) -> _Extreme | None:
    """The extreme of a line, whose unit distinguishes it from prose."""
    head, _, figures = text[:_LONGEST_EXTREME].partition(":")
    which, _, what = head.partition(" ")
    if which not in _SUFFIXES or what not in _UNITS:
        return None
    # Behind the nodes stands a remark in brackets.
    tokens = figures.partition("(")[0].split()
    units = _UNITS[what]
    if not tokens or (units and (len(tokens) == 1 or tokens[1] not in units)):
        return None
    return _Extreme(which, what, tokens[0], " ".join(tokens[2 if units else 1 :]))


@dataclass(slots=True)
class _Report:
    """The part of a report that was read."""

    first_line: int
    hosts: tuple[str, ...] = ()
    n_nodes: int | None = None
    conditions: dict[str, str] = field(default_factory=dict)
    expects_poor: bool = False
    figures: dict[str, "_Figures"] = field(default_factory=dict)
    matrices: list[Table] = field(default_factory=list)


@dataclass(slots=True)
class _Figures:
    """The extremes of one quantity."""

    line: int
    metrics: dict[str, float] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    other: dict[str, str] = field(default_factory=dict)


def read(cursor: Cursor) -> list[Table]:
    """The matrices and the extremes from here to where something else opens."""
    report: _Report | None = None
    while (line := cursor.look()) is not None:
        text = line.text.strip()
        if cursor.peek() is None and not opens(text):
            break
        if report is not None and text.startswith("Examined nodes: "):
            break
        report = report or _Report(line.number)
        if text.startswith("Rank: ") and _MATRIX.fullmatch(text):
            report.matrices.extend(_read_matrix(cursor))
            continue
        reason = _report_line(report, line, text)
        if reason:
            cursor.refuse(reason)
        else:
            cursor.take()
    return _tables(report) if report else []


def _report_line(report: _Report, line: Line, text: str) -> str:
    """Take one line of a report; why it is refused, or ""."""
    if report.expects_poor:
        report.expects_poor = False
        if " " not in text:
            report.conditions["poor_nodes"] = text[:2000]
            return ""
    if text.startswith("Examined nodes: "):
        report.hosts, report.n_nodes = node_names(text[len("Examined nodes: ") :])
        return ""
    if text.startswith(_EXTREME_STARTS):
        extreme = _extreme_in(text)
        return _note(report, line.number, extreme) if extreme else "no unit that it prints"
    if match := _POOR.fullmatch(text):
        report.expects_poor = True
        report.conditions["poor_nodes_mb_s"] = match[1]
        return ""
    is_known = text in _SECTIONS or text.startswith(_KNOWN)
    return "" if is_known else "no line of ClusterKit"


def _note(report: _Report, number: int, extreme: _Extreme) -> str:
    """Take an extreme into the report; why it is refused, or ""."""
    which, what, token, nodes = extreme
    figures = report.figures.setdefault(what, _Figures(number))
    if what == "efficiency":
        figures.other[f"{which} efficiency"] = f"{token} {nodes}".strip()
        return ""
    value = measured(token)
    if value is None:
        return f"'{token[:40]}' is no measurement"
    figures.metrics[_METRICS[what] + _SUFFIXES[which]] = value
    if nodes:
        names = [name.strip() for name in nodes.split(",")]
        figures.labels[f"pair_{which.lower()[:3]}"] = "-".join(names)
    return ""


def _tables(report: _Report) -> list[Table]:
    tables = list(report.matrices)
    for what, figures in report.figures.items():
        row = Row(
            figures.line, _DEFAULT_SIZES.get(what), figures.metrics, figures.labels, figures.other
        )
        conditions = dict(report.conditions) if what == "bandwidth" else {}
        scale = (report.first_line, report.hosts, report.n_nodes)
        tables.append(_table(what, (row,), scale, conditions))
    return tables


def _table(
    what: str,
    rows: tuple[Row, ...],
    scale: tuple[int, tuple[str, ...], int | None],
    conditions: dict[str, str],
) -> Table:
    """`scale`: the first line, the hosts, and how many nodes."""
    first_line, hosts, n_nodes = scale
    if what in _DEFAULT_SIZES:
        conditions["size"] = "documented default, not in the file"
    if what == "bandwidth":
        conditions["directions"] = "2"
    return Table(
        tool="clusterkit",
        test=what,
        benchmark="pairs" if what in _METRICS else "",
        rows=rows,
        first_line=first_line,
        n_nodes=n_nodes,
        tasks_per_node=1 if what in _METRICS else None,
        hosts=hosts,
        conditions=MappingProxyType(conditions),
    )


def _read_matrix(cursor: Cursor) -> list[Table]:
    """The pairs of one matrix: rows as long as its heading."""
    heading = cursor.take()
    ranks = heading.text.split()[1:]
    cells: Cells = {}
    hosts: dict[int, str] = {}
    while (line := cursor.look()) is not None:
        match = _MATRIX_ROW.fullmatch(line.text.strip())
        if match is None:
            break
        tokens = match[3].split()
        values = [measured(token) for token in tokens]
        if len(values) != len(ranks) or None in values:
            cursor.refuse(f"no {len(ranks)} measurements")
            continue
        if not line.ended and _decimals(tokens[-1]) < max(map(_decimals, tokens)):
            cursor.refuse("the file ends within this line")
            continue
        cursor.take()
        rank = int(match[1])
        if match[2]:
            hosts[rank] = match[2]
        for other, value in zip(ranks, values, strict=True):
            if value and int(other) != rank:
                cells[rank, int(other)] = (line.number, value)
    return matrix_tables(heading.number, cells, hosts) if cells else []


def _decimals(token: str) -> int:
    return len(token.partition(".")[2])


def matrix_tables(
    first_line: int,
    cells: Cells,
    hosts: dict[int, str],
    what: str = "",
) -> list[Table]:
    """One table of pairs. Of two equal directions one row is kept; `what` is guessed where it is
    "" (MB/s are large, microseconds are not, and nothing relative to a maximum is above it)."""
    values = [value for _, value in cells.values()]
    metric = _METRICS.get(what, "") or _metric(values)
    what = "latency" if metric == "latency_us" else "bandwidth"
    rows = []
    for (rank, other), (line, value) in cells.items():
        back = cells.get((other, rank))
        if rank > other and back is not None and back[1] == value:
            continue
        labels = {"pair": f"{rank}-{other}"}
        if rank in hosts and other in hosts:
            labels["hosts"] = f"{hosts[rank]} {hosts[other]}"
        rows.append(Row(line, _DEFAULT_SIZES[what], {metric: value}, labels))
    names = tuple(hosts[rank] for rank in sorted(hosts))
    n_nodes = len({rank for pair in cells for rank in pair})
    return [_table(what, tuple(rows), (first_line, names, n_nodes), {})]


def _metric(values: Sequence[float]) -> str:
    if max(values) <= _FASTEST_OF_MAX:
        return "bandwidth_of_max"
    return "bandwidth_mb_s" if max(values) >= _LEAST_MB_S else "latency_us"
