"""The columns of nccl-tests and rccl-tests, found by the header or by the number of tokens."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from weft.results.lines.number import counted, measured
from weft.results.model import Row
from weft.results.nccl.proof import BYTES_OF_TYPE, impossible, is_of_whole_blocks

TYPES = frozenset(BYTES_OF_TYPE)
_TIMES = ("time", "cputime")
_METRICS = {
    "time": "latency_us",
    "cputime": "latency_us",
    "algbw": "algbw_gb_s",
    "busbw": "busbw_gb_s",
    "#wrong": "n_wrong",
    "wrong": "n_wrong",
    "i_min": "latency_us_min",
    "i_max": "latency_us_max",
    "i_p99": "latency_us_p99",
    "i_cv%": "latency_us_cv_percent",
}
_NOT_COUNTS = frozenset({"error", "res", "delta", "#bitdiff", "esttime"})
_FIRST = {
    "size": "size",
    "bytes": "size",
    "count": "count",
    "n": "count",
    "type": "type",
    "redop": "redop",
    "op": "redop",
    "root": "root",
}
_TAIL_LABELS = {
    "algo": "algorithm",
    "proto": "protocol",
    "nchannels": "channels",
    "channels": "channels",
}
_WIDEST_GAP = 16
"""Blanks between two columns that both have a value; a blank placement leaves about 32."""
_LABELS = frozenset({"type", "redop", "root"})
_SKIPPED = frozenset({"N/A", "-"})
OUT_OF_PLACE, IN_PLACE = "out-of-place", "in-place"
_PER_ITERATION = ("i_min", "i_max", "i_p99", "i_cv%")
_NORMAL = ("time", "algbw", "busbw", "#wrong")
_OLD = ("time", "algbw", "busbw", "error")
_ROOT = re.compile(r"-?\d{1,7}$")
MOST_OWN_COLUMNS = 3
BEFORE_SIZE = "before_size"
"""The label of columns that somebody put before the size: their names with their values."""


@dataclass(frozen=True, slots=True)
class NcclColumns:
    """What the tokens of a row are: `first` before the measurements, then `group` once for each of
    `placements`, then `tail`. `us_per_time` is the unit of the time columns. Columns before the
    size are the user's own; with `needs_proof` the columns are a guess that the rows must prove."""

    first: tuple[str, ...]
    group: tuple[str, ...]
    placements: tuple[str, ...]
    tail: tuple[str, ...]
    us_per_time: float = 1.0
    needs_proof: bool = False

    @property
    def own(self) -> tuple[str, ...]:
        """Columns that somebody put before the size."""
        return self.first[: self.first.index("size")]

    @property
    def n_tokens(self) -> int:
        """Tokens of a complete row; a time stamp is two."""
        stamps = self.tail.count("timestamp")
        return len(self.first) + len(self.group) * len(self.placements) + len(self.tail) + stamps

    @property
    def n_tokens_of_group(self) -> int:
        """Tokens of one placement and what follows the last."""
        return len(self.group) + len(self.tail) + self.tail.count("timestamp")


def columns_of(names: Sequence[str], placements: Sequence[str] = ()) -> NcclColumns | None:
    """The columns that a header names, or None where it is none of these tools'.

    `placements` is what the line above it says; without one, out-of-place comes first.
    """
    lowered = [name.lower() for name in names]
    times = [i for i, name in enumerate(lowered) if name in _TIMES]
    if not 1 <= len(times) <= 2 or times[0] == 0:
        return None
    known_first = tuple(_FIRST.get(name, name) for name in lowered[: times[0]])
    if "size" not in known_first or "count" not in known_first or len(lowered) > 64:
        return None
    n_own = known_first.index("size")
    if n_own > MOST_OWN_COLUMNS or "count" in known_first[:n_own]:
        return None
    first = tuple(names[:n_own]) + known_first[n_own:]
    known = times[0] + 1
    while known < len(lowered) and (lowered[known] in _METRICS or lowered[known] in _NOT_COUNTS):
        if lowered[known] in _TIMES:
            break
        known += 1
    end = times[1] if len(times) == 2 else known
    group = tuple(lowered[times[0] : end])
    tail = tuple(lowered[times[0] + len(group) * len(times) :])
    if not {"algbw", "busbw"} <= set(group):
        return None
    if len(times) == 2 and tuple(lowered[times[1] : times[1] + len(group)]) != group:
        return None
    named = tuple(placements)[: len(times)]
    order = named if len(named) == len(times) else (OUT_OF_PLACE, IN_PLACE)[: len(times)]
    # The tests of NCCL 1 (header "bytes N type op") print milliseconds.
    return NcclColumns(first, group, order, tail, 1000.0 if lowered[n_own] == "bytes" else 1.0)


def columns_without_header(tokens: Sequence[str]) -> NcclColumns | None:
    """The columns of a row without header, by its number of tokens: 13, 15, 16, 21 or 23, and of
    old versions 11, or 12 with an operation or a root, which the numbers must prove."""
    if len(tokens) < 11 or not is_of_whole_blocks(tokens):
        return None
    both = (OUT_OF_PLACE, IN_PLACE)
    start = ("size", "count", "type")
    is_root = _ROOT.match(tokens[3]) is not None
    if len(tokens) == 11:
        return NcclColumns(start, _OLD, both, (), needs_proof=True)
    if len(tokens) == 12:
        return NcclColumns(
            (*start, "root" if is_root else "redop"), _OLD, both, (), needs_proof=True
        )
    if is_root or _ROOT.match(tokens[4]) is None:
        return None
    first = (*start, "redop", "root")
    tails = {0: (), 2: ("timestamp",), 3: ("algo", "proto", "nchannels")}
    for group in (_NORMAL, _NORMAL + _PER_ITERATION):
        n_tail = len(tokens) - len(first) - 2 * len(group)
        if n_tail in tails:
            return NcclColumns(first, group, both, tails[n_tail])
    return None


def looks_like_a_row(text: str) -> bool:
    """Whether a line can only be a row of these tools: size, count and a data type of NCCL."""
    tokens = text.split(None, 4)
    if len(tokens) < 5 or tokens[2] not in TYPES:
        return False
    return counted(tokens[0]) is not None and counted(tokens[1]) is not None


def columns_of_row(text: str, tokens: Sequence[str], columns: NcclColumns) -> NcclColumns | None:
    """The columns of this row: those of the header, without those it leaves blank.

    Old versions leave `redop` and `root` blank where a test has none, and a test that runs only one
    placement leaves the other's columns blank; which, the gap in the line tells.
    """
    missing = columns.n_tokens - len(tokens)
    if missing == 0:
        return columns
    blank = [name for name in ("redop", "root") if name in columns.first][:missing]
    n_first = len(columns.first) - missing
    if missing == len(blank) and measured(tokens[n_first]) is not None:
        return replace(columns, first=tuple(c for c in columns.first if c not in blank))
    if missing == len(columns.group) and len(columns.placements) == 2:
        second = _gap_before(text, tokens, len(columns.first)) > _WIDEST_GAP
        return replace(
            columns, placements=columns.placements[1:] if second else columns.placements[:1]
        )
    return None


def _gap_before(text: str, tokens: Sequence[str], index: int) -> int:
    """Blanks before the token at `index`."""
    at = 0
    for token in tokens[:index]:
        at = text.find(token, at) + len(token)
    return len(text) - at - len(text[at:].lstrip())


def rows_of(tokens: Sequence[str], columns: NcclColumns, line: int) -> list[Row] | str:
    """The rows of one line, one a placement, or why there are none."""
    if len(tokens) != columns.n_tokens:
        return f"{len(tokens)} columns where the header has {columns.n_tokens}"
    n_first = len(columns.first)
    first = dict(zip(columns.first, tokens[:n_first], strict=True))
    size = counted(first.get("size", ""))
    if size is None or counted(first.get("count", "")) is None:
        return "size or count is no whole number"
    if why := impossible(first, size):
        return why
    labels: dict[str, str] = {k: v for k, v in first.items() if k in _LABELS}
    other = {k: v for k, v in first.items() if k != "size" and k not in _LABELS}
    if columns.own:
        labels[BEFORE_SIZE] = ", ".join(f"{name} {first[name]}" for name in columns.own)
    _read_tail(
        tokens[n_first + len(columns.group) * len(columns.placements) :], columns, labels, other
    )
    rows = []
    for i, placement in enumerate(columns.placements):
        start = n_first + i * len(columns.group)
        row = _row(tokens[start : start + len(columns.group)], columns, placement, labels, other)
        if row is None:
            return "a time or a bandwidth is no number"
        metrics, row_labels, row_other = row
        rows.append(Row(line, size, metrics, row_labels, row_other))
    return rows


def _read_tail(
    tokens: Sequence[str], columns: NcclColumns, labels: dict[str, str], other: dict[str, str]
) -> None:
    at = 0
    for name in columns.tail:
        width = 2 if name == "timestamp" else 1
        value = " ".join(tokens[at : at + width])
        at += width
        if name in _TAIL_LABELS:
            labels[_TAIL_LABELS[name]] = value
        else:
            other[name] = value


def _row(
    tokens: Sequence[str],
    columns: NcclColumns,
    placement: str,
    labels: dict[str, str],
    other: dict[str, str],
) -> tuple[dict[str, float], dict[str, str], dict[str, str]] | None:
    metrics: dict[str, float] = {}
    labels = {"placement": placement, **labels}
    other = dict(other)
    for name, token in zip(columns.group, tokens, strict=True):
        metric = _METRICS.get(name)
        value = measured(token)
        if metric is None:
            other[name] = token
        elif metric == "n_wrong" and value is None:
            if token not in _SKIPPED:
                return None
            labels["validation"] = token
        elif value is None:
            return None
        elif metric.startswith("latency_us") and not metric.endswith("percent"):
            metrics[metric] = value * columns.us_per_time
        else:
            metrics[metric] = value
    return metrics, labels, other
