"""GPCNeT: network_test and network_load_test, plain and verbose (v1.0 to v1.3).

Its 99 % of a bandwidth is the value that 99 % of the samples exceed, counted from the top: it bears
the name `bandwidth_mb_s_p99` here as well. `..._worst_rank` is the verbose table's Avg(Worst): the
mean over measurements of the worst rank. MiB/s/rank counts what one rank sends to all neighbours.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from weft.results.lines.cursor import Cursor
from weft.results.lines.number import counted, measured
from weft.results.model import Row, Table

MIB_IN_MB = 2**20 / 1e6
_VERSION = re.compile(r"Network(?:Load)? Tests v([0-9.]{1,8})")
_RANKS = re.compile(r"Test with ([0-9]{1,9}) MPI ranks? \(([0-9]{1,9}) nodes?\)")
_TEST_NODES = re.compile(r"([0-9]{1,9}) nodes? running Network Tests")
_CONGESTOR_NODES = re.compile(
    r"([0-9]{1,9}) nodes? running Congestion Tests \(min ([0-9]{1,9}) nodes? per congestor\)"
)
_NAME = re.compile(r"([^()|]{1,40}?) *\( *([0-9]{1,12}) B\)?")
_VICTIM = re.compile(r"\( *([^()|]{1,40}) Network Test\)")
_DECORATION = re.compile(
    r"\+[-+]*|Legend|(?:RR|Nat|Lat|BW|BW\+Sync) = (?:random|natural|latency|bandwidth).*"
)
_COLUMNS = {
    "Min": "_min",
    "Max": "_max",
    "Avg": "",
    "Avg(Worst)": "_worst_rank",
    "99%": "_p99",
    "99.9%": "_p999",
}
_UNITS = {"usec": ("latency_us", 1.0), "MiB/s/rank": ("bandwidth_mb_s", MIB_IN_MB)}
_IMPACT_COLUMNS = {"Avg": "impact", "99%": "impact_p99"}
_PLAIN = ("Name", "Avg", "99%", "Units")
_IMPACT = ("Name", "Avg", "99%")


@dataclass(frozen=True, slots=True)
class _Test:
    """What weft calls one of GPCNeT's tests, and who runs it."""

    benchmark: str
    conditions: Mapping[str, str] = field(default_factory=dict)
    is_congestor: bool = False


_TESTS = {
    "RR Two-sided Lat": _Test("random_ring_latency"),
    "RR Get Lat": _Test("random_ring_latency", {"op": "get"}),
    "RR Two-sided BW": _Test("random_ring_bandwidth"),
    "RR Put BW": _Test("random_ring_bandwidth", {"op": "put"}),
    "RR Two-sided BW+Sync": _Test("random_ring_bandwidth", {"sync": "barrier"}),
    "Nat Two-sided BW": _Test("natural_ring_bandwidth"),
    "Multiple Allreduce": _Test("allreduce", {"communicator": "one rank a node, all at once"}),
    "Multiple Alltoall": _Test("alltoall", {"communicator": "one rank a node, all at once"}),
    "Alltoall": _Test("alltoall", is_congestor=True),
    "Two-sided Incast": _Test("fan_in", is_congestor=True),
    "Put Incast": _Test("fan_in", {"op": "put"}, is_congestor=True),
    "Get Bcast": _Test("broadcast", {"op": "get"}, is_congestor=True),
    "Two-sided Bcast": _Test("broadcast", is_congestor=True),
    "Allreduce": _Test("allreduce", is_congestor=True),
}


def opens(line: str) -> bool:
    """A heading of the program or of one of its tables."""
    if "Network" not in line and "Congest" not in line:
        return False
    return _VERSION.search(line) is not None or _title(line) is not None


def _title(line: str) -> str | None:
    """The state that a table's title announces: "isolated", "congested" or "impact"."""
    if not line.lstrip().startswith("|"):
        return None
    if "Key Results" in line or "Congestion Impact Factor" in line:
        return "impact"
    if "Isolated Network Tests" in line or "Isolated Congestion Tests" in line:
        return "isolated"
    if "Network Tests running with Congestion" in line or "Network Tests with Congest" in line:
        return "congested"
    return None


@dataclass(slots=True)
class _Run:
    """The part of one run that was read."""

    first_line: int
    version: str = ""
    counts: dict[str, int] = field(default_factory=dict)
    state: str = ""
    victim: str = ""
    columns: tuple[str, ...] = ()
    rows: dict[tuple[str, bool], list[Row]] = field(default_factory=dict)


def read(cursor: Cursor) -> list[Table]:
    """One run: the `state` of their rows distinguishes its tables, not their place."""
    line = cursor.take()
    run = _Run(line.number)
    _heading(run, line.text)
    while (at := cursor.look()) is not None:
        if cursor.peek() is None and _title(at.text) is None:
            break
        text = at.text.strip()
        if text.startswith("|"):
            reason = _table_line(run, at.number, text)
            if reason:
                cursor.refuse(reason)
                continue
        elif not _heading(run, text):
            cursor.refuse("no line of GPCNeT")
            continue
        cursor.take()
    return _tables(run)


def _heading(run: _Run, text: str) -> bool:
    """Note a line outside the bars; whether it is GPCNeT's."""
    if (title := _title(text)) is not None:
        _enter_section(run, text, title)
    elif match := _VERSION.search(text):
        run.version = match[1]
    elif match := _RANKS.search(text):
        run.counts |= {"ranks": int(match[1]), "nodes": int(match[2])}
    elif match := _TEST_NODES.search(text):
        run.counts["test_nodes"] = int(match[1])
    elif match := _CONGESTOR_NODES.search(text):
        run.counts |= {"congestor_nodes": int(match[1]), "min_per_congestor": int(match[2])}
    else:
        return _DECORATION.fullmatch(text) is not None
    return True


def _enter_section(run: _Run, text: str, state: str) -> None:
    run.state = state
    match = _VICTIM.search(text)
    run.victim = match[1].strip() if match else ""
    run.columns = _IMPACT if state == "impact" else _PLAIN


def _table_line(run: _Run, number: int, text: str) -> str:
    """Take one line between bars; why it is refused, or ""."""
    if (title := _title(text)) is not None:
        _enter_section(run, text, title)
        return ""
    cells = [cell.strip() for cell in text.strip("|").split("|")]
    if cells[0] in ("Name", "") and "Avg" in cells:
        run.columns = ("Name", *cells[1:])
        return ""
    if len(cells) != len(run.columns):
        return f"{len(cells)} columns where the heading has {len(run.columns)}"
    match = _NAME.fullmatch(cells[0])
    if match is None:
        return "no test with a size in bytes"
    size_bytes = counted(match[2])
    values = _metrics(run, cells)
    if isinstance(values, str):
        return values
    metrics, other = values
    labels = {} if run.state == "impact" else {"state": run.state}
    if run.victim:
        labels["victim"] = run.victim
    row = Row(number, size_bytes, metrics, labels, other)
    run.rows.setdefault((match[1], run.state == "impact"), []).append(row)
    return ""


_Values = tuple[dict[str, float], dict[str, str]]


def _metrics(run: _Run, cells: list[str]) -> _Values | str:
    """Metrics and unknown columns of a row, or why there are none: figures with a unit, or
    congestion impact factors."""
    is_impact = run.state == "impact"
    unit = _UNITS.get(dict(zip(run.columns, cells, strict=True)).get("Units", ""))
    if unit is None and not is_impact:
        return "no unit that GPCNeT prints"
    name, factor = unit if unit and not is_impact else ("", 1.0)
    known = _IMPACT_COLUMNS if is_impact else _COLUMNS
    metrics: dict[str, float] = {}
    other: dict[str, str] = {}
    for column, cell in zip(run.columns[1:], cells[1:], strict=True):
        if column == "Units" and not is_impact:
            continue
        if column not in known:
            other[column] = cell
            continue
        value = measured(cell.removesuffix("X") if is_impact else cell)
        if value is None or (is_impact and not cell.endswith("X")):
            what = "congestion impact factor" if is_impact else "measurement"
            return f"'{cell[:40]}' is no {what}"
        metrics[name + known[column]] = value * factor
    return metrics, other


def _tables(run: _Run) -> list[Table]:
    return [
        _table(run, name, is_impact, rows) for (name, is_impact), rows in run.rows.items() if rows
    ]


def _table(run: _Run, name: str, is_impact: bool, rows: list[Row]) -> Table:
    test = _TESTS.get(name, _Test(""))
    conditions = dict(test.conditions)
    counts = run.counts
    if "congestor_nodes" in counts:
        conditions["nodes_total"] = str(counts.get("nodes", ""))
        conditions["congestor_nodes"] = str(counts["congestor_nodes"])
        conditions["nodes_per_congestor_min"] = str(counts["min_per_congestor"])
    n_ranks, n_nodes = counts.get("ranks") or None, counts.get("nodes") or None
    per_node = n_ranks // n_nodes if n_ranks and n_nodes and n_ranks % n_nodes == 0 else None
    if test.is_congestor:
        n_nodes = n_ranks = None
    elif "test_nodes" in counts:
        n_nodes = counts["test_nodes"] or None
        n_ranks = n_nodes * per_node if n_nodes and per_node else None
    return Table(
        tool="gpcnet",
        test=name,
        benchmark="congestion_impact" if is_impact else test.benchmark,
        rows=tuple(rows),
        first_line=run.first_line,
        version=run.version,
        memory="host",
        n_ranks=n_ranks,
        n_nodes=n_nodes,
        tasks_per_node=per_node,
        conditions=MappingProxyType(conditions),
    )
