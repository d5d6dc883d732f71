"""What the numbers of a row of nccl-tests prove: its columns, its ranks, what its bandwidth counts.

Size is count x bytes of the type, times the ranks where the test gathers or scatters; algorithm
bandwidth is size over time, in old versions times (n - 1) / n.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from weft.results.lines.number import counted, measured
from weft.results.model import Row

_BYTES = {
    1: (
        *("int8", "char", "uint8", "fp8_e4m3", "fp8_e5m2", "f8e4m3", "f8e5m2"),
        *("float8_e4m3", "float8_e5m2"),
    ),
    2: ("half", "float16", "bfloat16"),
    4: ("int32", "int", "uint32", "float", "float32"),
    8: ("int64", "uint64", "double", "float64"),
}
BYTES_OF_TYPE = {name: n_bytes for n_bytes, names in _BYTES.items() for name in names}
_MOST_RANKS = 1 << 20
_HALF_DIGIT_GB_S = 0.0051
_TIME_SHARE = 0.0006
"""Times have four digits or more behind the rounding: half of the last is below this share."""
_FINE_GB_S = 0.5
"""From here on two decimals say a bandwidth to about 1 %."""
_ENOUGH_LINES = 3
COUNTS_OLD = "(n - 1) / n of size over time, as old versions print for gathered blocks"


def impossible(first: Mapping[str, str], size: int) -> str:
    """Why the cells before the measurements cannot be a size, a count and a type; "" if they can.
    Each element has a byte at least, and no type is a number."""
    if measured(first.get("type", "x")) is not None:
        return "the type is a number: the columns are not those of the header"
    if (counted(first.get("count", "0")) or 0) > size:
        return "more elements than bytes: the columns are not those of the header"
    return ""


def is_of_whole_blocks(tokens: Sequence[str]) -> bool:
    """Whether size, count and type fit: without header, a size whose head was cut does not."""
    size, count = counted(tokens[0]), counted(tokens[1])
    n_bytes = BYTES_OF_TYPE.get(tokens[2])
    if size is None or count is None or n_bytes is None:
        return False
    return size % (count * n_bytes) == 0 if count else size < n_bytes * _MOST_RANKS


def ranks_of_counts(rows: Sequence[Row]) -> int | None:
    """Ranks of a test that gathers or scatters: each has a block of `count` elements, and the size
    is of all blocks. None where size and count are the same, or do not agree on a number."""
    found = set()
    for row in rows:
        count = counted(row.other.get("count", ""))
        n_bytes = BYTES_OF_TYPE.get(row.labels.get("type", ""))
        if not count or not row.size_bytes or n_bytes is None:
            continue
        found.add(divmod(row.size_bytes, count * n_bytes))
    if len(found) != 1:
        return None
    n_ranks, remainder = found.pop()
    return n_ranks if remainder == 0 and 1 < n_ranks <= _MOST_RANKS else None


def counts_old_way(rows: Sequence[Row], n_ranks: int | None) -> bool:
    """Whether the algorithm bandwidth counts the blocks of the other ranks only."""
    if n_ranks is None or not any(map(_is_fine, rows)):
        return False
    return not _fit(rows, 1.0) and _fit(rows, (n_ranks - 1) / n_ranks)


def proves_columns(rows: Sequence[Row], *, with_footer: bool) -> bool:
    """Whether size, time and algorithm bandwidth fit in every row, and enough lines have the digits
    to say so."""
    n_ranks = ranks_of_counts(rows)
    shares = (1.0,) if n_ranks is None else (1.0, (n_ranks - 1) / n_ranks)
    n_fine = len({row.line for row in rows if _is_fine(row)})
    enough = 1 if with_footer else _ENOUGH_LINES
    return n_fine >= enough and any(_fit(rows, share) for share in shares)


def without_algorithm_bandwidth(row: Row) -> Row:
    """The row with that column as printed, since it is not size over time."""
    metrics = {name: value for name, value in row.metrics.items() if name != "algbw_gb_s"}
    printed = f"{row.metrics['algbw_gb_s']:.2f}" if "algbw_gb_s" in row.metrics else ""
    return replace(row, metrics=metrics, other={**row.other, "algbw": printed})


def _is_fine(row: Row) -> bool:
    return row.metrics.get("algbw_gb_s", 0.0) >= _FINE_GB_S and bool(row.size_bytes)


def _fit(rows: Sequence[Row], share: float) -> bool:
    return all(_fits(row, share) for row in rows)


def _fits(row: Row, share: float) -> bool:
    time_us, algbw = row.metrics.get("latency_us", 0.0), row.metrics.get("algbw_gb_s")
    if algbw is None or time_us <= 0 or row.size_bytes is None:
        return True
    expected = share * row.size_bytes / time_us / 1e3
    return abs(algbw - expected) <= _HALF_DIGIT_GB_S + expected * _TIME_SHARE
