"""Column names of the OSU micro-benchmarks, and what they mean in weft's words."""

import re
from functools import lru_cache

from weft.results.lines.columns import Column

RUN_MARK = " #"
"""Between a metric and the number of its run, where runs stand side by side in one table."""
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
    """The columns that a header names; none where the line is no header of this tool. A header that
    lost its '#' begins with the size and names no column that the tool does not."""
    body = line.lstrip()
    if len(body) > 1000:
        return ()
    bare = _bare(body)
    is_marked = bare != body
    if not is_marked and body[:4].lower() != "size":
        return ()
    columns = tuple(_column(name) for name in _names(bare.rstrip()))
    has_metric = any(column.part == "metric" for column in columns)
    if not has_metric or columns[0].part not in {"size", "metric"}:
        return ()
    if not is_marked and any(column.part == "other" for column in columns):
        return ()
    return _told_apart(columns)


def _told_apart(columns: tuple[Column, ...]) -> tuple[Column, ...]:
    """The columns; those that all hold one metric, of runs side by side, are numbered. None where
    only some have the same name, so that a row would keep one value of several."""
    metrics = [column.metric for column in columns if column.part == "metric"]
    if len(set(metrics)) == len(metrics):
        return columns
    if len(set(metrics)) > 1 or len(metrics) + 1 != len(columns):
        return ()
    size, *others = columns
    return (
        size,
        *(c._replace(metric=f"{c.metric}{RUN_MARK}{i}") for i, c in enumerate(others, start=1)),
    )


def _bare(body: str) -> str:
    """The text without the '#' of a comment, which Markdown may have escaped."""
    return body.removeprefix("\\").lstrip("# ") if body.startswith(("#", "\\#")) else body


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
