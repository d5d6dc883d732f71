"""A platform fitted to tables of two ranks, judged by rows the fit has not seen."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from weft.catalog.document import Figure
from weft.catalog.machine.fit_report import Fit, FittedTable, HeldOut, LeftOut
from weft.catalog.machine.platform import HostRegime, Platform, PublishedTable
from weft.core.errors import InputError
from weft.core.units import format_size
from weft.expect import closed_forms
from weft.expect.fit.base_fabric import fabric_of_tables, require_same_fabric
from weft.expect.fit.host_costs import Pace, host_regimes
from weft.expect.fit.loggp import Anomaly, fit
from weft.expect.fit.protocols import Protocols, fit_protocols
from weft.expect.fit.tables import (
    BANDWIDTH,
    BENCHMARKS,
    BIDIRECTIONAL,
    LATENCY,
    METRICS,
    CheckedTable,
    MeasuredTable,
    checked,
    pace_rows,
)
from weft.expect.wire import path_through

METHOD = (
    "piecewise lines on relative error (LogGP); the tables share protocol changes, found by BIC."
    " weft subtracts the fabric's time through one switch. Windows give the gap, and the part of a"
    " latency that keeps a processor busy. The remaining part occupies no processor"
)
HALVES = ("rows 1, 3, 5 ...", "rows 2, 4, 6 ...")
BINDING = (LATENCY, BANDWIDTH)
"""Of three tables those that the costs follow; what the third shows beyond busy processors (a bus
both directions share) has no parameter; its errors state it."""
WORTHLESS = 0.5
"""A fit that misses unseen rows by more than this (median) says nothing about them."""


@dataclass(frozen=True, slots=True)
class PredictedRow:
    """A row the fit had not seen, in the table's own unit. `error` is predicted / measured - 1."""

    size_bytes: int
    measured: float
    predicted: float

    @property
    def error(self) -> float:
        """Relative error with its sign."""
        return self.predicted / self.measured - 1


@dataclass(frozen=True, slots=True)
class HeldOutHalf:
    """A table's rows as predicted by the fit of `fitted_on`; `rows` are those that count.

    `named` are the anomalies among them: predicted like the others, counted in no error.
    """

    table: MeasuredTable
    fitted_on: str
    rows: tuple[PredictedRow, ...]
    named: tuple[PredictedRow, ...] = ()

    @property
    def summary(self) -> HeldOut:
        """Median and worst of the rows that count."""
        worst = max(self.rows, key=lambda row: abs(row.error))
        return HeldOut(
            fitted_on=self.fitted_on,
            n_rows=len(self.rows),
            median_error=round(median(abs(row.error) for row in self.rows), 5),
            worst_error=round(abs(worst.error), 5),
            worst_bytes=worst.size_bytes,
        )


@dataclass(frozen=True, slots=True)
class FittedPlatform:
    """The platform, its protocols, and both halves of each table as the other half predicts them.

    `halves` are platforms fitted to half of the rows, in the order of `HALVES`.
    """

    platform: Platform
    halves: tuple[Platform, ...]
    held_out: tuple[HeldOutHalf, ...]


def fit_platform(
    tables: Sequence[MeasuredTable],
    *,
    name: str,
    base: Platform | None = None,
    link: Figure | None = None,
) -> FittedPlatform:
    """Host costs of a platform from tables measured between two of its nodes.

    `base` gives the fabric and everything else; without it the fabric is one switch with links of
    the rate `link` (Gb/s), or as fast as the tables. Raises InputError where the tables cannot be
    fitted or the fit is worthless.
    """
    good = checked(tables)
    if base is not None:
        require_same_fabric(base, good)
    whole, protocols = _fitted(good, base or fabric_of_tables(good, link))
    halves = []
    for start in (0, 1):
        seen = tuple(table.half(start) for table in good)
        halves.append(_fitted(seen, base or fabric_of_tables(seen, link))[0])
    held_out = [
        _predicted(table, 1 - start, halves[start], HALVES[start])
        for table in good
        for start in (0, 1)
    ]
    _refuse_worthless(held_out, BINDING if len(good) == len(BENCHMARKS) else BENCHMARKS)
    fitted_to = f"host costs fitted to {', '.join(dict.fromkeys(t.table.source for t in good))}"
    document = whole.model_copy(
        update={
            "name": name,
            "title": f"{base.title}; {fitted_to}" if base is not None else fitted_to.capitalize(),
            "fit": _record(good, protocols, held_out),
            "published": _published(whole, good),
        }
    )
    return FittedPlatform(document, tuple(halves), tuple(held_out))


def _fitted(tables: Sequence[CheckedTable], ground: Platform) -> tuple[Platform, Protocols]:
    alone = fit(*zip(*tables[0].table.rows, strict=True))
    protocols = fit_protocols(
        [pace_rows(table, alone.predict) for table in tables],
        rows_per_parameter=max(table.table.rows_per_parameter for table in tables),
    )
    sizes = sorted(size for table in tables for size in table.sizes)
    regimes = host_regimes(
        protocols, _pace(tables), path_through(ground, 1), (sizes[0], sizes[-1]), _source(tables)
    )
    return _with_regimes(ground, regimes), protocols


def _pace(tables: Sequence[CheckedTable]) -> Pace:
    place = {table.table.benchmark: number for number, table in enumerate(tables)}
    one_way, both_ways = place.get(BANDWIDTH), place.get(BIDIRECTIONAL)
    return Pace(
        gap=both_ways if one_way is None else one_way,
        busy=one_way if both_ways is None else both_ways,
        busy_messages=2 if both_ways is None else 1,
    )


def _source(tables: Sequence[CheckedTable]) -> str:
    names = " and ".join(table.table.benchmark for table in tables)
    sources = ", ".join(dict.fromkeys(table.table.source for table in tables))
    return f"fitted to tables of {names}: {sources}"


def _with_regimes(ground: Platform, regimes: tuple[HostRegime, ...]) -> Platform:
    assert ground.host is not None
    return ground.model_copy(update={"host": ground.host.model_copy(update={"regimes": regimes})})


def predicted_value(platform: Platform, table: MeasuredTable, size_bytes: int) -> float:
    """What the platform gives for a row of a table, in the table's unit."""
    if table.benchmark == LATENCY:
        return closed_forms.latency(platform, size_bytes).value
    form = closed_forms.bandwidth if table.benchmark == BANDWIDTH else closed_forms.bidirectional
    return form(platform, size_bytes, table.window).value


def _predicted(unseen: CheckedTable, start: int, platform: Platform, fitted_on: str) -> HeldOutHalf:
    """Every second row as measured, anomalies of the whole table apart."""
    table, named = unseen.table, {anomaly.size_bytes for anomaly in unseen.anomalies}
    rows = [
        PredictedRow(size, value, predicted_value(platform, table, size))
        for size, value in unseen.all_rows[start::2]
    ]
    return HeldOutHalf(
        table,
        fitted_on,
        tuple(row for row in rows if row.size_bytes not in named),
        tuple(row for row in rows if row.size_bytes in named),
    )


def _refuse_worthless(held_out: Sequence[HeldOutHalf], binding: Sequence[str]) -> None:
    for one, other in pairwise(held_out):
        name = one.table.benchmark
        if name != other.table.benchmark or name not in binding:
            continue
        error = median(abs(row.error) for half in (one, other) for row in half.rows)
        if error > WORTHLESS:
            raise InputError(
                f"half of the {name} rows predict the other half to {error:.0%} (median)",
                where=one.table.source,
                expected=f"at most {WORTHLESS:.0%}: times that follow lines by size, and tables of"
                " the same two ranks",
            )


def _record(
    tables: Sequence[CheckedTable], protocols: Protocols, held_out: Sequence[HeldOutHalf]
) -> Fit:
    sizes = [size for table in tables for size in table.sizes]
    return Fit(
        method=METHOD,
        n_parameters=protocols.n_parameters,
        n_rows=len(sizes),
        min_bytes=min(sizes),
        max_bytes=max(sizes),
        tables=tuple(_table_record(table, held_out) for table in tables),
        assumptions=_assumptions([table.table for table in tables]),
    )


def _table_record(checked_table: CheckedTable, held_out: Sequence[HeldOutHalf]) -> FittedTable:
    table, measured = checked_table.table, dict(checked_table.all_rows)
    own = [half for half in held_out if half.table.benchmark == table.benchmark]
    errors = {row.size_bytes: round(abs(row.error), 5) for half in own for row in half.named}
    return FittedTable(
        benchmark=table.benchmark,
        metric=METRICS[table.benchmark],
        source=table.source,
        sha256=table.sha256,
        tool=table.tool,
        conditions=table.conditions,
        window=None if table.is_latency else table.window,
        sizes_bytes=checked_table.sizes,
        left_out=tuple(
            LeftOut(
                size_bytes=anomaly.size_bytes,
                value=measured[anomaly.size_bytes],
                reason=_reason(anomaly),
                held_out_error=errors[anomaly.size_bytes],
            )
            for anomaly in checked_table.anomalies
        ),
        held_out=tuple(half.summary for half in own),
    )


def _reason(anomaly: Anomaly) -> str:
    before, after = anomaly.neighbours_us
    neighbours = (
        f"between {before:.3g} and {after:.3g} us" if before != after else f"after {before:.3g} us"
    )
    return f"{anomaly.latency_us:.3g} us a message {neighbours}: it breaks the rise with size"


def _assumptions(tables: Sequence[MeasuredTable]) -> tuple[str, ...]:
    benchmarks = [table.benchmark for table in tables]
    assumptions = ["sender and receiver share the host's part of a latency evenly"]
    if BANDWIDTH in benchmarks and BIDIRECTIONAL not in benchmarks:
        assumptions.append(
            "no table of both directions: a processor may be busy for two paces of a one-way window"
        )
    if BIDIRECTIONAL in benchmarks and BANDWIDTH in benchmarks:
        assumptions.append("both directions at once: only busy processors slow windows down")
    if BIDIRECTIONAL in benchmarks and BANDWIDTH not in benchmarks:
        assumptions.append("no one-way table: a sender's gap is its pace in both directions")
    if len(benchmarks) == 1:
        assumptions.append(
            "no table of windows: the processor is busy for all of the host's part of a latency"
        )
    assumptions += [
        f"{table.benchmark}: windows of {table.window} messages, as the usual tools send them"
        for table in tables
        if not table.is_latency and not table.window_is_known
    ]
    return tuple(assumptions)


def _published(whole: Platform, tables: Sequence[CheckedTable]) -> tuple[PublishedTable, ...]:
    """The platform's own tables, and those of the fit that are not among them."""
    known = {table.benchmark for table in whole.published}
    own = tuple(
        PublishedTable(
            name=table.benchmark,
            benchmark=table.benchmark,
            metric=METRICS[table.benchmark],
            unit="us" if table.is_latency else "MB/s",
            rows=checked_table.all_rows,
            source=table.source,
            conditions=table.conditions,
            errata=tuple(
                f"{format_size(anomaly.size_bytes)} is an anomaly: not fitted"
                for anomaly in checked_table.anomalies
            ),
        )
        for checked_table in tables
        if (table := checked_table.table).benchmark not in known
    )
    return (*whole.published, *own)
