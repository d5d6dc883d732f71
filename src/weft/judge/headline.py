"""A verdict's row in words: its value, its range and its bound, and how many rows are like it."""

from collections.abc import Sequence

from weft.core.units import format_significant, format_size
from weft.core.words import counted
from weft.expect.wire import USUAL_MTU_BYTES
from weft.judge.model import JudgedRow, RowState

WORDS = {
    "latency_us": "latency",
    "bandwidth_mb_s": "bandwidth",
    "busbw_gb_s": "bus bandwidth",
    "algbw_gb_s": "algorithm bandwidth",
    "msg_rate_mps": "message rate",
    "impact": "congestion impact",
}


def stands_for(rows: Sequence[JudgedRow]) -> JudgedRow:
    """The row that stands for a file: the largest size, not odd, the best where there are more."""
    sound = [row for row in rows if not row.odd] or list(rows)
    most = max(row.row.size_bytes or 0 for row in sound)
    return next(row for row in sound if (row.row.size_bytes or 0) == most)


def telling(rows: Sequence[JudgedRow]) -> JudgedRow:
    """The row of a bad verdict: of the sound ones the largest size, there the farthest off; in a
    test of message rate, where small sizes matter as much, the farthest off of all."""
    sound = [row for row in rows if not row.odd] or list(rows)
    largest = max(sound, key=lambda row: (row.row.size_bytes or 0, off(row)))
    same = [row for row in sound if row.table is largest.table]
    return max(same, key=off) if _counts_messages(largest) else largest


def off(row: JudgedRow) -> float:
    """How far a row is from what is expected, as a factor of at least one."""
    if row.expectation is None or row.expectation.value <= 0 or row.value <= 0:
        return 1.0
    ratio = row.value / row.expectation.value
    return max(ratio, 1 / ratio)


def headline(row: JudgedRow, rows: Sequence[JudgedRow]) -> str:
    """The row with its range and its bound. A test of message rate has two ends that matter: the
    rate of small messages and the bandwidth of large ones. A low end comes first."""
    if not _counts_messages(row):
        return f"{row_text(row)}, expected {range_text(row)}; {bound_text(row)}"
    ends = [end for end in _ends(row, rows) if end is not row]
    told = [row, *ends] if row.state is RowState.LOW else _ends(row, rows)
    values = "; ".join(_end_text(one) for one in told)
    return f"{_name(row)}: {values}; {bound_text(told[0])} at {_size(told[0])}"


def _counts_messages(row: JudgedRow) -> bool:
    return (
        row.table.benchmark == "message_rate"
        and bool(row.row.size_bytes)
        and row.metric in ("msg_rate_mps", "bandwidth_mb_s")
    )


def _ends(row: JudgedRow, rows: Sequence[JudgedRow]) -> list[JudgedRow]:
    """The smallest and the largest judged size of the row's own series."""
    series = [
        one
        for one in rows
        if one.table is row.table
        and one.row.labels == row.row.labels
        and one.state.is_verdict
        and _counts_messages(one)
    ]
    sound = [one for one in series if not one.odd] or series or [row]
    sizes = sorted(sound, key=lambda one: one.row.size_bytes or 0)
    return sizes[:1] if len(sizes) == 1 else [sizes[0], sizes[-1]]


def _end_text(row: JudgedRow) -> str:
    """A message of one packet by its rate, a longer one by its bandwidth."""
    n_bytes, found = row.row.size_bytes or 1, row.expectation
    counts = row.metric == "msg_rate_mps"
    if n_bytes <= USUAL_MTU_BYTES:
        word, unit, factor = "message rate", "million/s", 1.0 if counts else 1 / n_bytes
    else:
        word, unit, factor = "bandwidth", "GB/s", n_bytes / 1e3 if counts else 1e-3
    text = f"{word} {value_text(row.value * factor)} {unit} at {_size(row)}"
    if found is None:
        return text
    low, high = value_text(found.low * factor), value_text(found.high * factor)
    return f"{text}, expected {low} to {high}"


def count_text(word: str, n: int, rows: Sequence[JudgedRow]) -> str:
    """'; 3 of 23 rows are low'; "" where there is only one row, or none."""
    judged = sum(row.state.is_verdict for row in rows)
    wide = sum(row.state is RowState.TOO_WIDE for row in rows)
    if not n or len(rows) == 1:
        return ""
    # A row may contradict itself without being judged.
    judged = judged if n <= judged else len(rows)
    noun = "judged row" if judged < len(rows) else "row"
    share = f"all {judged}" if n == judged > 1 else f"{n} of {judged}"
    apart = f"; {counted(wide, 'row')} too wide to tell" if wide else ""
    return f"; {share} {noun}{'' if judged == 1 else 's'} {'is' if n == 1 else 'are'} {word}{apart}"


def row_text(row: JudgedRow) -> str:
    """'osu_bw at 4 MiB: bandwidth 1280 MB/s'."""
    size = f" at {_size(row)}" if row.row.size_bytes is not None else ""
    word = WORDS.get(row.metric, row.metric)
    return f"{_name(row)}{size}: {word} {value_text(row.value)} {row.unit}".rstrip()


def range_text(row: JudgedRow) -> str:
    """'157.8 to 208.7 us'."""
    found = row.expectation
    if found is None:
        return "nothing"
    return f"{value_text(found.low)} to {value_text(found.high)} {found.unit}"


def bound_text(row: JudgedRow) -> str:
    """'limited by link rate 200 Gb/s'."""
    return f"limited by {row.expectation.bound}" if row.expectation else ""


def limit_text(row: JudgedRow) -> str:
    """'24842 MB/s (link rate 200 Gb/s less headers)'."""
    found = row.expectation
    if found is None or found.limit is None:
        return "its limit"
    return f"{value_text(found.limit)} {found.unit} ({found.limit_name})"


def value_text(value: float) -> str:
    """Four significant digits."""
    return format_significant(value, 4)


def _name(row: JudgedRow) -> str:
    return row.table.test or row.table.benchmark or row.table.tool


def _size(row: JudgedRow) -> str:
    return format_size(row.row.size_bytes or 0)
