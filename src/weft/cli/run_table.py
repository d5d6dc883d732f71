"""The table of a run in the shape an OSU user reads at once: sizes down, figures across."""

from collections import Counter
from pathlib import Path

from weft.cli.output import table_text
from weft.core.shell_line import quoted
from weft.core.units import format_significant
from weft.stats.summary import INTERVAL_FROM
from weft.study.comparison.replication import Unit
from weft.study.comparison.table import RunTable, TableRow

UNITS = {
    "latency_us": "us",
    "latency_us_p50": "us",
    "bandwidth_mb_s": "MB/s",
    "msg_rate_mps": "million messages/s",
    "busbw_gb_s": "GB/s of bus bandwidth",
    "algbw_gb_s": "GB/s",
}
_COLUMNS = ("size (B)", "p50", "min", "max")
_INTERVAL = "95 % interval of p50"


def run_table_text(table: RunTable, how_to_repeat: str | None = None) -> str:
    """One block a benchmark, scale and arm; then the samples that were left out."""
    groups: dict[tuple[object, ...], list[TableRow]] = {}
    for row in table.rows:
        cell = row.cell
        key = (cell.benchmark, cell.scale, row.arm, row.metric)
        groups.setdefault(key, []).append(row)
    blocks = [_block(rows) for rows in groups.values()]
    few = next((row.unit for row in table.rows if row.summary.low is None), None)
    if few is not None:
        how = how_to_repeat or f"{few.option} {INTERVAL_FROM}"
        where = " on a twin larger than the job" if few is Unit.NODE_SET else ""
        why = "; launches on the same nodes count once" if few is Unit.NODE_SET else ""
        blocks.append(f"An interval needs {INTERVAL_FROM} {few.value}{where} ({how}){why}.")
    blocks.extend(f"left out: {n} samples, {reason}" for reason, n in table.excluded.items())
    return "\n\n".join(blocks) + "\n"


def next_lines(run_dir: Path, n_arms: int) -> list[str]:
    """The commands that work on a stored run."""
    compared = [f"which arm is faster:  weft compare {quoted(run_dir)}"] if n_arms > 1 else []
    return [*compared, f"next:  weft report {quoted(run_dir)}"]


def _block(rows: list[TableRow]) -> str:
    row = rows[0]
    arm = "" if row.arm == "only" else f", {row.arm}"
    unit = UNITS.get(row.metric, row.metric)
    nodes = "1 node" if row.cell.n_nodes == 1 else f"{row.cell.n_nodes} nodes"
    counts, n = Counter(remark for row in rows for remark in row.remarks), len(rows)
    # 'bimodal at 2 of 18 sizes'; without the count where every row has it.
    remarks = ", ".join(
        f"{remark} at {k} of {n} sizes" if k < n else remark for remark, k in counts.items()
    )
    under = f", {row.cell.condition}" if row.cell.condition else ""
    head = f"# {row.cell.benchmark}, {unit}, {nodes} x {row.cell.tasks_per_node}{under}{arm}"
    if remarks:
        head += f"  ({remarks})"
    intervals = any(row.summary.low is not None for row in rows)
    units = "/".join(dict.fromkeys(one.unit.value for one in rows))
    columns = (*_COLUMNS, units, _INTERVAL) if intervals else (*_COLUMNS, units)
    cells = [_figures(row)[: len(columns)] for row in rows]
    return f"{head}\n{table_text(columns, cells, left=0)}"


def _figures(row: TableRow) -> tuple[str, ...]:
    summary, interval = row.summary, "-"
    if summary.low is not None and summary.high is not None:
        interval = f"{format_significant(summary.low)} .. {format_significant(summary.high)}"
    return (
        "-" if row.cell.benchmark == "barrier" else str(row.cell.size_bytes),
        *map(format_significant, (summary.median, summary.minimum, summary.maximum)),
        str(summary.n),
        interval,
    )
