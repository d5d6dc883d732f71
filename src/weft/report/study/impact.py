"""What other jobs cost: each benchmark alone and beside aggressors."""

from collections.abc import Sequence

from weft.core.units import format_significant, format_size
from weft.report.model import ReportTable, Section, cut_table
from weft.study.comparison.impact import TAIL_NAMES, ImpactRow


def section(rows: Sequence[ImpactRow]) -> Section | None:
    """The impact on each benchmark, worst first within each tail; None of a run without
    aggressors."""
    if not rows:
        return None
    worst = max(rows, key=lambda row: row.figures["mean"].impact)
    figure = worst.figures["mean"]
    where = f" with {worst.arm}" if worst.settings else ""
    sentence = (
        f"Most of all beside other jobs: {_name(worst)} on {worst.cell.scale}{where}, "
        f"{figure.text} times as bad as alone on average ({figure.between()})."
    )
    besides = dict.fromkeys(row.aggressors for row in rows)
    flags = dict.fromkeys(flag for row in rows for flag in row.caveats)
    caveats = [f"Do not rely on it: {', '.join(flags).replace('_', ' ')}."] if flags else []
    return Section(
        "What other jobs cost",
        (sentence, *caveats, *(f"Beside {one}." for one in besides)),
        tables=(*((_matrix(rows),) if len(besides) > 1 else ()), _table(rows)),
    )


def _matrix(rows: Sequence[ImpactRow]) -> ReportTable:
    """Who hurts whom: a row a benchmark and setting, a column each load."""
    besides = list(dict.fromkeys(row.aggressors for row in rows))
    found: dict[tuple[str, str], dict[str, ImpactRow]] = {}
    for row in rows:
        key = (f"{_name(row)}, {row.cell.scale}", row.settings.replace(",", ", ") or "-")
        found.setdefault(key, {})[row.aggressors] = row
    cells = [(*key, *(_short(own.get(beside)) for beside in besides)) for key, own in found.items()]
    caption = "Who hurts whom: impact on the mean, with its 95 %"
    return cut_table(caption, ["hurt", "settings", *(f"#{one}" for one in besides)], cells)


def _short(row: ImpactRow | None) -> str:
    if row is None:
        return "-"
    one = row.figures["mean"]
    return one.text if one.low is None else f"{one.text} ({one.between()})"


def _table(rows: Sequence[ImpactRow]) -> ReportTable:
    several = len({row.aggressors for row in rows}) > 1
    heads = ["benchmark", "nodes x ranks", *(["beside"] if several else []), "settings", "of"]
    heads += ["#alone", "#beside", "#impact", "#95 % interval"]
    cells = [
        (
            f"{_name(row)}, {'µs' if row.metric == 'latency_us' else 'MB/s'}",
            row.cell.scale,
            *([row.aggressors] if several else []),
            row.settings.replace(",", ", ") or "-",
            TAIL_NAMES[tail],
            format_significant(one.alone),
            format_significant(one.beside),
            one.text,
            one.between(),
        )
        for row in rows
        for tail, one in row.figures.items()
    ]
    factors = rows[0].factors.replace(",", ", ")
    caption = f"Impact: time beside over time alone; {rows[0].units}"
    caption += f"; settings of {factors}" if factors else ""
    return cut_table(caption, heads, cells)


def _name(row: ImpactRow) -> str:
    size = f" {format_size(row.cell.size_bytes)}" if row.cell.size_bytes else ""
    return f"{row.cell.benchmark.replace('_', ' ')}{size}"
