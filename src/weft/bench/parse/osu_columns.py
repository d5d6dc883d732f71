"""Column names of the OSU micro-benchmarks, and what they mean in weft's words."""

import re
from functools import lru_cache
from typing import NamedTuple

_PIECES = re.compile(r"\s{2,}|\t")
_PARTS = re.compile(r"Size\b|[^()]{1,60}\([^()]{1,20}\)|[^()]{1,60}")
_UNITS_US = {"us": 1.0, "usec": 1.0, "ms": 1e3, "ns": 1e-3, "s": 1e6}
_UNITS_MB_S = {"mb/s": 1.0, "gb/s": 1e3, "kb/s": 1e-3, "mib/s": 1.048576}
_TIMES = {
    "latency": "latency_us",
    "avg latency": "latency_us",
    "average latency": "latency_us",
    "min latency": "latency_us_min",
    "max latency": "latency_us_max",
    "overall": "overall_us",
    "compute": "compute_us",
    "pure comm.": "pure_comm_us",
    "pure comm": "pure_comm_us",
    "coll. init": "coll_init_us",
    "mpi_test": "mpi_test_us",
    "mpi_wait": "mpi_wait_us",
}
_TAIL = re.compile(r"p(\d{1,3})(?: tail)? (lat|latency|bw|bandwidth)$")


class Column(NamedTuple):
    """A column: its name as printed; the metric it holds ("" where weft has none) and the factor
    from the printed unit; or its part in the row: "size", "validation", "other"."""

    name: str
    part: str
    metric: str = ""
    factor: float = 1.0


@lru_cache(maxsize=256)
def columns_of(line: str) -> tuple[Column, ...]:
    """The columns that a header names; none where the line is no header of this tool."""
    body = line.lstrip()
    if not body.startswith("#") or len(body) > 1000:
        return ()
    columns = tuple(_column(name) for name in _names(body.lstrip("# ").rstrip()))
    has_metric = any(column.part == "metric" for column in columns)
    known_first = bool(columns) and columns[0].part in {"size", "metric"}
    return columns if has_metric and known_first else ()


def _names(body: str) -> list[str]:
    """Names separated by two blanks, or by one after `Size` and after a unit in brackets."""
    return [
        part.strip()
        for piece in _PIECES.split(body)
        for part in _PARTS.findall(piece)
        if part.strip()
    ]


def _column(name: str) -> Column:
    lower = name.lower()
    if lower in {"size", "message size"}:
        return Column(name, "size")
    if lower == "validation":
        return Column(name, "validation")
    if lower == "iterations":
        return Column(name, "metric", "iterations")
    if lower in {"messages/s", "message rate"}:
        return Column(name, "metric", "msg_rate_mps", 1e-6)
    if lower in _UNITS_MB_S:
        return Column(name, "metric", "bandwidth_mb_s", _UNITS_MB_S[lower])
    return _with_unit(name, *lower.rpartition("(")[::2])


def _with_unit(name: str, words: str, unit: str) -> Column:
    words, unit = " ".join(words.split()), unit.strip(" )")
    tail = _TAIL.match(words)
    if unit in _UNITS_US:
        metric = _TIMES.get(words, "")
        if tail:
            metric = f"latency_us_p{tail[1]}"
        if metric:
            return Column(name, "metric", metric, _UNITS_US[unit])
    if unit in _UNITS_MB_S and (tail or words.endswith("bandwidth")):
        metric = f"bandwidth_mb_s_p{tail[1]}" if tail else "bandwidth_mb_s"
        return Column(name, "metric", metric, _UNITS_MB_S[unit])
    if unit == "%" and words == "overlap":
        return Column(name, "metric", "overlap_percent")
    return Column(name, "other")
