"""What other jobs cost: each benchmark alone and beside aggressors."""

from collections.abc import Sequence

from weft.core.units import format_significant, format_size
from weft.report.model import ReportTable, Section, cut_table
from weft.study.comparison.cells import ONE_ARM
from weft.study.comparison.impact import Impact, ImpactRow

_TAILS = {"mean": "mean", "p99": "99 %", "p999": "99.9 %"}


def section(rows: Sequence[ImpactRow]) -> Section | None:
    """The impact on each benchmark, worst first within each tail; None of a run without
    aggressors."""
    if not rows:
        return None
    worst = max(rows, key=lambda row: row.figures["mean"].impact)
    figure = worst.figures["mean"]
    where = f" with {worst.arm}" if worst.arm != ONE_ARM else ""
    sentence = (
        f"Most of all beside other jobs: {_name(worst)} on {worst.cell.scale}{where}, "
        f"{_times(figure.impact)} times as bad as alone on average ({_between(figure)})."
    )
    besides = dict.fromkeys(row.aggressors for row in rows)
    flags = dict.fromkeys(flag for row in rows for flag in row.caveats)
    caveats = [f"Do not rely on it: {', '.join(flags).replace('_', ' ')}."] if flags else []
    return Section(
        "What other jobs cost",
        (sentence, *caveats, *(f"Beside {one}." for one in besides)),
        tables=(_table(rows),),
    )


def _table(rows: Sequence[ImpactRow]) -> ReportTable:
    several = len({row.aggressors for row in rows}) > 1
    heads = ["benchmark", "nodes x ranks", *(["beside"] if several else []), "settings", "of"]
    heads += ["#alone", "#beside", "#impact", "#95 % interval"]
    cells = [
        (
            f"{_name(row)}, {'µs' if row.metric == 'latency_us' else 'MB/s'}",
            row.cell.scale,
            *([row.aggressors] if several else []),
            _settings(row),
            _TAILS[tail],
            format_significant(one.alone),
            format_significant(one.beside),
            _times(one.impact),
            _between(one),
        )
        for row in rows
        for tail, one in row.figures.items()
    ]
    factors = ", ".join(part.partition("=")[0] for part in rows[0].arm.split(","))
    caption = f"Impact: time beside over time alone; {_units(rows[0])}"
    caption += f"; settings of {factors}" if rows[0].arm != ONE_ARM else ""
    return cut_table(caption, heads, cells)


def _settings(row: ImpactRow) -> str:
    if row.arm == ONE_ARM:
        return "-"
    return ", ".join(part.partition("=")[2] for part in row.arm.split(","))


def _name(row: ImpactRow) -> str:
    return f"{row.cell.benchmark.replace('_', ' ')} {format_size(row.cell.size_bytes)}"


def _between(one: Impact) -> str:
    if one.low is None or one.high is None:
        return "no interval"
    return f"{_times(one.low)} to {_times(one.high)}"


def _times(ratio: float) -> str:
    return f"{ratio:.2f}" if ratio < 10 else f"{ratio:.3g}"


def _units(row: ImpactRow) -> str:
    return f"{row.n_units} {row.unit.one if row.n_units == 1 else row.unit.value}"
