"""Tables to fit: checked, anomalies named, bandwidths turned into the pace of messages."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from weft.core.errors import InputError
from weft.core.units import format_size
from weft.expect.closed_forms import ACK_BYTES
from weft.expect.fit.loggp import MIN_ROWS_PER_REGIME, Anomaly, Row, find_anomalies

LATENCY, BANDWIDTH, BIDIRECTIONAL = "latency", "bandwidth", "bidirectional"
BENCHMARKS = (LATENCY, BANDWIDTH, BIDIRECTIONAL)
METRICS = {LATENCY: "latency_us", BANDWIDTH: "bandwidth_mb_s", BIDIRECTIONAL: "bandwidth_mb_s"}
USUAL_WINDOW = 64
"""SOURCE: OSU micro-benchmarks (osu_bw, osu_bibw) and Intel MPI Benchmarks (Uniband, Biband)."""
FRESH_ROWS_PER_PARAMETER = 2.0
"""A fresh measurement has noise; a model with a parameter for every row would draw it. A table
that somebody printed is smooth enough for one row a parameter."""
MIN_ROWS = 4
"""Two lines' worth: half of the rows fit one line, the other half judges it."""
MOST_ROWS = 200
"""The search for changes of protocol takes the square of the rows: ten seconds here."""
MOST_ANOMALIES = 0.25
"""A table of which more than this share breaks the rise with size is no such table."""


@dataclass(frozen=True, slots=True)
class MeasuredTable:
    """One table of two ranks: (size in bytes, value) rows, of `METRICS[benchmark]`.

    `source` is the file or run it comes from; `window` the messages of one window of a bandwidth,
    the usual number unless `window_is_known`. `is_fresh`: medians of a few launches, with noise.
    """

    benchmark: str
    rows: tuple[Row, ...]
    source: str
    sha256: str = ""
    tool: str = ""
    window: int = USUAL_WINDOW
    window_is_known: bool = False
    conditions: str = ""
    is_fresh: bool = False

    @property
    def rows_per_parameter(self) -> float:
        """The least there may be."""
        return FRESH_ROWS_PER_PARAMETER if self.is_fresh else 1.0

    @property
    def directions(self) -> int:
        """How many directions messages take at once."""
        return 2 if self.benchmark == BIDIRECTIONAL else 1

    def one_way_mb_s(self, size_bytes: int, value: float) -> float:
        """Payload of one direction of a row, in MB/s; of a latency, what one message carries."""
        return size_bytes / value if self.is_latency else value / self.directions

    @property
    def is_latency(self) -> bool:
        """Whether its values are times."""
        return self.benchmark == LATENCY


@dataclass(frozen=True, slots=True)
class CheckedTable:
    """A table by rising size without its anomalies; those are in `anomalies`, in us a message, and
    in `all_rows` as measured."""

    table: MeasuredTable
    anomalies: tuple[Anomaly, ...]
    all_rows: tuple[Row, ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        """Sizes of the rows that are left."""
        return tuple(size for size, _ in self.table.rows)

    def half(self, start: int) -> "CheckedTable":
        """Every second row as measured, from the first (0) or the second (1), less its anomalies.

        They are looked for in these rows alone: what the other half knows would be a hint.
        """
        rows = self.all_rows[start::2]
        kept, anomalies = _without_anomalies(self.table, rows)
        if len(kept) < MIN_ROWS_PER_REGIME:
            kept, anomalies = rows, ()
        return CheckedTable(replace(self.table, rows=kept), anomalies, rows)


def checked(tables: Sequence[MeasuredTable]) -> tuple[CheckedTable, ...]:
    """Latency first, one table a benchmark. Raises InputError on what cannot be fitted."""
    order = {name: number for number, name in enumerate(BENCHMARKS)}
    ordered = sorted((t for t in tables if t.benchmark in order), key=lambda t: order[t.benchmark])
    if not ordered or not ordered[0].is_latency:
        raise InputError(
            "no latency table between two ranks",
            where=", ".join(dict.fromkeys(table.source for table in tables)) or None,
            expected="osu_latency, IMB PingPong or a run with `latency`, and what you have of"
            " bandwidths beside it",
            hint="a bandwidth says how often messages follow one another, not how long one takes",
        )
    for first, second in pairwise(ordered):
        if first.benchmark == second.benchmark:
            raise InputError(
                f"two {first.benchmark} tables",
                where=f"{first.source} and {second.source}",
                expected="one table a benchmark, all of the same two ranks",
                hint="fit them one by one, or name further runs with --healthy",
            )
    return tuple(_checked_table(table) for table in ordered)


def pace_rows(checked_table: CheckedTable, latency_us: Callable[[int], float]) -> tuple[Row, ...]:
    """Time from one message of a window to the next, in us, once it is in flight.

    A window of n takes n - 1 paces and one latency; one way, the answer's latency comes on top.
    Raises InputError where a window took less than that: the tables are of different machines.
    """
    table = checked_table.table
    if table.is_latency:
        return table.rows
    if table.window < 2:
        raise InputError(
            f"a {table.benchmark} table of windows of one message",
            where=table.source,
            expected="windows of two messages or more, as osu_bw has 64",
        )
    rows = []
    for size, value in table.rows:
        fill_us = latency_us(size) + (latency_us(ACK_BYTES) if table.directions == 1 else 0.0)
        window_us = table.window * message_us(table, size, value)
        pace_us = (window_us - fill_us) / (table.window - 1)
        if pace_us <= 0:
            raise InputError(
                f"{table.window} messages of {format_size(size)} took {window_us:.3g} us, less than"
                f" the latency of one ({fill_us:.3g} us)",
                where=table.source,
                expected="tables of the same two ranks, and the window they were taken with",
                hint="give the window with --window",
            )
        rows.append((size, pace_us))
    return tuple(rows)


def message_us(table: MeasuredTable, size_bytes: int, value: float) -> float:
    """The latency, or the time a message of a window takes on average."""
    return value if table.is_latency else table.directions * size_bytes / value


def _checked_table(table: MeasuredTable) -> CheckedTable:
    what, expected = f"{table.benchmark} table", f"at least {MIN_ROWS} sizes, each once"
    rows = tuple(sorted(row for row in table.rows if table.is_latency or row[0] > 0))
    for (size, _), (following, _) in pairwise(rows):
        if size == following:
            raise InputError(
                f"{format_size(size)} appears twice in the {what}",
                where=table.source,
                expected=expected,
            )
    if len(rows) > MOST_ROWS:
        raise InputError(
            f"{len(rows)} rows in the {what}",
            where=table.source,
            expected=f"at most {MOST_ROWS}",
            hint="leave out sizes that lie close together",
        )
    if any(size < 0 or not math.isfinite(value) or value <= 0 for size, value in rows):
        raise InputError(
            f"a value of the {what} is not a positive number", where=table.source, expected=expected
        )
    kept, anomalies = _without_anomalies(table, rows)
    if len(anomalies) > MOST_ANOMALIES * len(rows):
        raise InputError(
            f"{len(anomalies)} of {len(rows)} rows of the {what} break the rise with size",
            where=table.source,
            expected="times that rise with the message size, but for single rows",
        )
    if len(kept) < MIN_ROWS:
        raise InputError(
            f"{len(kept)} rows of the {what} are too few to fit half and predict the others",
            where=table.source,
            expected=expected,
        )
    return CheckedTable(replace(table, rows=kept), anomalies, rows)


def _without_anomalies(
    table: MeasuredTable, rows: tuple[Row, ...]
) -> tuple[tuple[Row, ...], tuple[Anomaly, ...]]:
    anomalies = find_anomalies([(size, message_us(table, size, value)) for size, value in rows])
    named = {anomaly.size_bytes for anomaly in anomalies}
    return tuple(row for row in rows if row[0] not in named), anomalies
