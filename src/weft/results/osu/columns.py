"""Column names of the OSU micro-benchmarks, and what they mean in weft's words."""

import re
from functools import lru_cache

from weft.results.lines.columns import Column

_PIECES = re.compile(r"\s{2,}|\t")
_PARTS = re.compile(r"Size(?: ?\(B\)|\b)|[^()]{1,60}\([^()]{1,20}\)|[^()]{1,60}")
_UNITS_US = {"us": (1, 1), "usec": (1, 1), "ms": (1000, 1), "ns": (1, 1000), "s": (10**6, 1)}
_UNITS_MB_S = {"mb/s": (1, 1), "gb/s": (1000, 1), "kb/s": (1, 1000), "mib/s": (2**20, 10**6)}
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
    "min comm.": "pure_comm_us_min",
    "max comm.": "pure_comm_us_max",
    "coll. init": "coll_init_us",
    "mpi_test": "mpi_test_us",
    "mpi_wait": "mpi_wait_us",
}
_TAIL = re.compile(r"p(\d{1,3})(?: tail)? (lat|latency|bw|bandwidth)$")


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
    if lower in {"size", "size (b)", "size(b)", "message size"}:
        return Column(name, "size")
    if lower == "validation":
        return Column(name, "label", "validation")
    if lower == "iterations":
        return Column(name, "metric", "iterations")
    if lower in {"messages/s", "message rate"}:
        return Column(name, "metric", "msg_rate_mps", 1, 10**6)
    if lower in _UNITS_MB_S:
        return Column(name, "metric", "bandwidth_mb_s", *_UNITS_MB_S[lower])
    return _with_unit(name, *lower.rpartition("(")[::2])


def _with_unit(name: str, words: str, unit: str) -> Column:
    words, unit = " ".join(words.split()), unit.strip(" )")
    tail = _TAIL.match(words)
    if unit in _UNITS_US:
        metric = _TIMES.get(words, "")
        if tail:
            metric = f"latency_us_p{tail[1]}"
        if metric:
            return Column(name, "metric", metric, *_UNITS_US[unit])
    if unit in _UNITS_MB_S and (tail or words.endswith("bandwidth")):
        metric = f"bandwidth_mb_s_p{tail[1]}" if tail else "bandwidth_mb_s"
        return Column(name, "metric", metric, *_UNITS_MB_S[unit])
    if unit == "%" and words == "overlap":
        return Column(name, "metric", "overlap_percent")
    return Column(name, "other")


def windows_of(line: str) -> tuple[str, ...]:
    """The window sizes above the columns of `osu_mbw_mr -V`; none where the line names none."""
    tokens = line.split()
    if len(tokens) < 3 or tokens[0] != "#" or len(tokens) > 64:
        return ()
    return tuple(tokens[1:]) if all(t.isdigit() and len(t) < 10 for t in tokens[1:]) else ()
