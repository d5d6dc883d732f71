"""Step times in columns: CSV with a header that names the time of a step and its unit.

A column of clocks in seconds, as TensorBoard exports ("Wall time"), gives times by differences.
"""

import re
from collections.abc import Iterator
from math import isnan
from typing import NamedTuple

from weft.core.errors import InputError
from weft.results.training.collector import NOTHING, Collector
from weft.results.training.formats.log_format import LogFormat
from weft.results.training.formats.values import number
from weft.results.training.model import NAN, StepReading, TrainingFacts

_TIME = re.compile(
    r"^(?:train_)?(?:step|iteration|iter|batch)[ _]?(?:time|timing|duration)?[ _]*(?:in|\()?[ _]*"
    r"(s|sec|seconds|ms|us|µs)\)?$|^(?:time|elapsed|duration)[ _]per[ _](?:step|iteration)[ _(]*"
    r"(s|sec|seconds|ms|us|µs)\)?$"
)
_BARE_TIME = re.compile(
    r"^(?:train_)?(?:step|iteration|iter|batch)[ _]?(?:time|timing|duration)$|"
    r"^(?:time|duration)[ _]per[ _](?:step|iteration)$"
)
_CLOCK = re.compile(r"^(?:wall[ _]time|_timestamp|timestamp_s|timestamp|time_s)$")
_STEP = re.compile(r"^(?:global_?step|_?step|iteration|iter|batch_idx)$")
_BATCH = re.compile(r"^(?:global[ _]batch(?:[ _]size)?|gbs)$")
_LOSS = re.compile(r"^(?:train[_/])?(?:loss|lm loss|reduced_train_loss)$")
_TFLOPS = re.compile(r"^(?:tflops_per_gpu|tflops_per_sec_per_gpu|tflop/s/gpu)$")
_VALUE = re.compile(r"^(\S+?)\s*(s|sec|ms|us|µs)?$")
_LONGEST_VALUE = 64
"""The pattern takes the square of the length of what is no number."""
_SECONDS = {"s": 1.0, "sec": 1.0, "seconds": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6}
_UNIT_NEEDED = (
    "a unit in the name of the column: step_time_s, step_time_ms, or behind each value: 24.1 s"
)
FORMAT = LogFormat("csv", "CSV", (), lambda _: None)


class CsvTable(NamedTuple):
    """Where the columns are; -1 of those that are not. `unit`: of the times, "" where cells say."""

    separator: str
    time: int
    unit: str
    clock: int
    step: int
    batch: int
    loss: int
    tflops: int
    n_columns: int


def table_of(head: str) -> CsvTable | None:
    """The columns of a table whose header is the first line; None where none names a step's time
    or clock."""
    line = next((one for one in head.split("\n") if one.strip() and one[:1] != "#"), "")
    separator = max(",;\t", key=line.count)
    names = [cell.strip().strip('"').lower() for cell in line.strip("\r").split(separator)]
    found = {
        name: next((i for i, one in enumerate(names) if shape.match(one)), -1)
        for name, shape in (("clock", _CLOCK), ("step", _STEP), ("batch", _BATCH))
    }
    loss, tflops = (
        next((i for i, one in enumerate(names) if shape.match(one)), -1)
        for shape in (_LOSS, _TFLOPS)
    )
    time, unit = _time_column(names)
    if len(names) == 1 and not unit:
        return None
    if time < 0 and (found["clock"] < 0 or found["step"] < 0):
        return None
    return CsvTable(separator, time, unit, **found, loss=loss, tflops=tflops, n_columns=len(names))


def _refuse_commas(table: CsvTable, cells: list[str], name: str, n_line: int) -> None:
    """Raises InputError for a figure with a comma: '2,430' may be 2.43 or 2430."""
    figures = (table.time, table.clock, table.step, table.batch, table.tflops)
    odd = next((cells[i].strip() for i in figures if i >= 0 and "," in cells[i]), None)
    if odd is not None:
        raise InputError(
            f"'{odd}' may be a decimal comma or a thousands separator",
            where=f"{name}, line {n_line}",
            expected="figures with a decimal point and no other mark",
        )


def _time_column(names: list[str]) -> tuple[int, str]:
    for i, name in enumerate(names):
        match = _TIME.match(name)
        if match and name not in ("steps", "iters"):
            return i, next(one for one in match.groups() if one)
    return next((i for i, name in enumerate(names) if _BARE_TIME.match(name)), -1), ""


def read_rows(table: CsvTable, lines: Iterator[str], name: str) -> tuple[Collector, int]:
    """The rows as readings, and how many lines there are. Raises InputError for times without a
    unit."""
    collector = Collector()
    n_lines, before = 0, (NAN, NAN)
    waiting: list[tuple[int, str]] = []
    for n_lines, line in enumerate(lines, start=1):
        cells = line.rstrip("\r\n").split(table.separator)
        if len(cells) != table.n_columns or line[:1] == "#":
            continue
        if "," in line and table.separator != ",":
            _refuse_commas(table, cells, name, n_lines)
        step = _cell(cells, table.step)
        if isnan(step):
            if table.step >= 0:
                continue
            step = 0.0 if isnan(before[0]) else before[0] + 1
        clock = _cell(cells, table.clock)
        time, unit = _time_of(table, cells, name, n_lines)
        if table.time < 0:
            is_first = not before[0] < step
            time = NAN if is_first else (clock - before[1]) / (step - before[0])
        goes_back = table.time < 0 and clock < before[1]
        if table.time < 0 and (is_first or goes_back):
            if goes_back and not is_first:
                text = f"the clock goes back by {before[1] - clock:,.0f} s: left out"
                waiting.append((n_lines, text))
            before = (step, clock)
            continue
        if unit == "":
            continue
        before = (step, clock)
        loss = _cell(cells, table.loss)
        reading = StepReading(
            step=step,
            time_s=time,
            batch=_cell(cells, table.batch),
            tflops=_cell(cells, table.tflops),
            # Times by the clock have its jumps named above.
            stamp_s=clock if table.time >= 0 else NAN,
            loss=loss,
            has_loss=float(table.loss >= 0 and cells[table.loss].strip() != ""),
            unit=unit,
        )
        if collector.is_new_run("", reading, FORMAT, lambda: False):
            collector.begin("", FORMAT, TrainingFacts())
        for remark in waiting:
            collector.remark("", *remark)
        waiting.clear()
        collector.add("", reading, n_lines, NOTHING)
    return collector, n_lines


def _cell(cells: list[str], at: int) -> float:
    return number(cells[at].strip().strip('"')) if at >= 0 else NAN


def _time_of(table: CsvTable, cells: list[str], name: str, line: int) -> tuple[float, str]:
    """The time of a row in seconds, and its unit, "" of a row without one. Raises InputError
    where no unit is stated."""
    if table.time < 0:
        return NAN, "s"
    cell = cells[table.time].strip('"').strip()
    match = _VALUE.match(cell) if len(cell) <= _LONGEST_VALUE else None
    if match is None:
        return NAN, table.unit
    value, own = match.groups()
    unit = own or table.unit
    time = number(value)
    if isnan(time) and value.lower().lstrip("-") != "nan":
        return NAN, ""
    if own and table.unit and own != table.unit and _SECONDS[own] != _SECONDS[table.unit]:
        raise InputError(
            f"line {line}: {value} {own} in a column of {table.unit}",
            where=name,
            expected="one unit in a column, in its header or behind each value",
            hint=f"in {table.unit} this is {time * _SECONDS[own] / _SECONDS[table.unit]:.6g}",
        )
    if not unit and not isnan(time):
        raise InputError(
            f"line {line}: a step time without a unit", where=name, expected=_UNIT_NEEDED
        )
    return time * _SECONDS.get(unit, NAN), unit
