"""The figures of one launch: what a result reader finds in its output, a number behind words that
the user names, or the time that it took."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from weft.bench.result_samples import is_invalid
from weft.catalog.load import benchmark, readable_benchmark_names
from weft.core.documents.text_file import read_file_bytes
from weft.core.errors import InputError
from weft.core.units import format_size
from weft.results.lines.number import LARGEST_MEASURED
from weft.results.model import Row, Table
from weft.results.result_file import MOST_BYTES_TO_CONVERT, read_results_text
from weft.study.comparison.headlines import RATES, TIMES, lower_is_better

WALL = "wall_time_us"
PRINTED = "printed"
HOLE = "{}"
FIRST, LAST = "first", "last"
_NUMBER = r"([-+]?(?:\d[\d,]*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)"
_PLACE = "\0"
_NOT_JUDGED = "not above 0: weft compares ratios"
MOST_FIGURES = 400
"""More rows than a sweep of sizes has: they would be one test each."""


@dataclass(frozen=True, slots=True)
class LaunchFigure:
    """One figure of a launch: a metric, the size of its row (0: none), and what names the row."""

    metric: str
    size_bytes: int = 0
    row: str = ""

    @property
    def name(self) -> str:
        """'latency_us at 8 B'."""
        size = f" at {format_size(self.size_bytes)}" if self.size_bytes else ""
        return f"{self.metric}{size}" + (f" ({self.row})" if self.row else "")


@dataclass(frozen=True, slots=True)
class FigureChoice:
    """What the user asked for. `printed` is the text around a number, with {} in its place; `take`
    says which of several equal figures counts. `higher`: of `printed`, more is better."""

    metric: str = ""
    size_bytes: int | None = None
    printed: str = ""
    take: str = ""
    higher: bool = False

    def lower_is_better(self, name: str) -> bool:
        """Whether less of a figure is better, by its name."""
        metric = name.partition(" ")[0]
        return not self.higher if metric == PRINTED else lower_is_better(metric)


class NoFigureError(Exception):
    """The output has no figure that can be judged, and why."""


class TwiceError(NoFigureError):
    """The output has the same figure twice."""


def figures_of(
    out: Path, err: Path, seconds: float, choice: FigureChoice
) -> dict[LaunchFigure, float]:
    """The figures of a launch that ended well. Raises NoFigureError."""
    if choice.metric == WALL:
        return {LaunchFigure(WALL): seconds * 1e6}
    if choice.printed:
        return {LaunchFigure(PRINTED): _printed(out, err, choice)}
    found: dict[LaunchFigure, tuple[float, int]] = {}
    for figure, value, line in _of_tables(_tables(out), choice):
        if figure in found and not choice.take:
            lines = f"lines {found[figure][1]} and {line}"
            raise TwiceError(f"it prints {figure.name} twice ({lines})")
        if choice.take != FIRST or figure not in found:
            found[figure] = (value, line)
    if not found:
        raise NoFigureError(_no_such(choice))
    if len(found) > MOST_FIGURES:
        raise NoFigureError(f"it prints {len(found):,} figures, more than {MOST_FIGURES}")
    return {figure: value for figure, (value, _) in found.items()}


def has_tables(out: Path) -> bool:
    """Whether any result reader understands the output."""
    try:
        return bool(_tables(out))
    except NoFigureError:
        return False


def pattern_of(printed: str) -> re.Pattern[str]:
    """The text around a number as a pattern: its words as they stand, any white space between
    them. Raises InputError unless {} is in it once."""
    if printed.count(HOLE) != 1 or not printed.replace(HOLE, "").strip():
        raise InputError(
            f"'{printed}' does not say where the number is",
            where="--figure",
            expected="the words around it with {} in its place, such as 'step time: {} ms'",
        )
    words = printed.replace(HOLE, _PLACE).split()
    joined = r"\s+".join(re.escape(word).replace(re.escape(_PLACE), _NUMBER) for word in words)
    return re.compile(joined)


def _printed(out: Path, err: Path, choice: FigureChoice) -> float:
    pattern = pattern_of(choice.printed)
    found = [
        (float(match[1].replace(",", "")), number)
        for path in (out, err)
        for number, line in enumerate(_text(path).splitlines(), 1)
        for match in pattern.finditer(line)
    ]
    if not found:
        raise NoFigureError(f"no line has '{choice.printed}'")
    if len(found) > 1 and not choice.take:
        lines = " and ".join(str(number) for _, number in found[:2])
        raise TwiceError(f"it prints '{choice.printed}' {len(found)} times (lines {lines})")
    value, number = found[0 if choice.take == FIRST else -1]
    if not 0 < value <= LARGEST_MEASURED:
        raise NoFigureError(f"line {number}: '{choice.printed}' is {value:g}, {_NOT_JUDGED}")
    return value


def _text(path: Path) -> str:
    content = read_file_bytes(path, expected="output", most_bytes=MOST_BYTES_TO_CONVERT)
    return content.decode("utf-8", "replace")


def _tables(out: Path) -> tuple[Table, ...]:
    try:
        content = read_file_bytes(out, expected="output", most_bytes=MOST_BYTES_TO_CONVERT)
        return read_results_text(content, out.name).tables
    except InputError as error:
        raise NoFigureError(error.what) from error


def _of_tables(
    tables: tuple[Table, ...], choice: FigureChoice
) -> Iterator[tuple[LaunchFigure, float, int]]:
    several = len({(table.tool, table.test) for table in tables}) > 1
    for table in tables:
        metric = choice.metric or _headline(table)
        telling = _telling_labels(table.rows)
        for row in table.rows:
            if is_invalid(row):
                raise NoFigureError(f"line {row.line}: the data were wrong")
            value = row.metrics.get(metric)
            size = row.size_bytes or 0
            if value is None or choice.size_bytes not in (None, size):
                continue
            if 0 < value <= LARGEST_MEASURED:
                words = [table.test] if several else []
                words += [row.labels[key] for key in telling if key in row.labels]
                yield LaunchFigure(metric, size, " ".join(words)), value, row.line


def _headline(table: Table) -> str:
    """The metric of a table that is judged: the catalogue's, else a time, else a rate."""
    has: Mapping[str, float] = table.rows[0].metrics if table.rows else {}
    known = benchmark(table.benchmark) if table.benchmark in readable_benchmark_names() else None
    first = (known.headline, known.headline.removesuffix("_p50")) if known else ()
    return next((name for name in (*first, *TIMES, *RATES) if name in has), next(iter(has), ""))


def _telling_labels(rows: tuple[Row, ...]) -> list[str]:
    """Labels of which rows of one size have different values."""
    values: dict[tuple[int | None, str], set[str]] = {}
    for row in rows:
        for key, value in row.labels.items():
            values.setdefault((row.size_bytes, key), set()).add(value)
    return sorted({key for (_, key), some in values.items() if len(some) > 1})


def _no_such(choice: FigureChoice) -> str:
    size = f" at {format_size(choice.size_bytes)}" if choice.size_bytes is not None else ""
    return f"its table has no {choice.metric or 'figure'}{size} above 0"
