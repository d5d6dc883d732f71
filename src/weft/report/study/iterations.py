"""Programs iteration by iteration: alone, beside other jobs, and with what keeps these off."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from weft.bench.aggressor import aggressors_of
from weft.bench.metrics import PROGRAMS
from weft.bench.model import Launch, Sample, State
from weft.core.units import format_significant
from weft.report.charts import iterations as charts
from weft.report.charts.vega import MAX_SERIES
from weft.report.model import ReportFigure, Section, cut_table
from weft.study.run.store import StudyRun

MOST_POINTS = 250
"""Of a series: each point is the slowest of as many iterations as one has to stand for."""


Arms = Mapping[str, tuple[Launch, Sample]]
"""By name of an arm, its launch and the sample of a program."""


def section(run: StudyRun, prefix: str) -> Section | None:
    """A figure a program, of the node set that other jobs slow most (of the first without other
    jobs); None of a run without programs."""
    launches = {launch.key: launch for launch in run.launches}
    found: dict[str, dict[int, dict[str, tuple[Launch, Sample]]]] = {}
    for sample in sorted(run.samples, key=lambda one: (one.trial, one.repeat)):
        launch = launches.get((sample.trial, sample.repeat))
        if launch is None or sample.benchmark not in PROGRAMS or sample.state is not State.OK:
            continue
        if launch.repeat == 0 and len(sample.times_ns or ()) > 1:
            arms = found.setdefault(sample.benchmark, {}).setdefault(launch.trial.node_set, {})
            arms.setdefault(_name(launch), (launch, sample))
    figures = []
    for benchmark, by_set in found.items():
        series = {number: _chosen(arms) for number, arms in by_set.items()}
        number = max(sorted(series), key=lambda one: _slowed(series[one]))
        name = f"{prefix}-iterations-{benchmark}"
        figures.append(_figure(benchmark, series[number], name, number))
    return Section("Iteration by iteration", figures=tuple(figures)) if figures else None


def _slowed(series: Sequence[tuple[str, Sample]]) -> float:
    """The mean of the second series over that of the first, if they are beside and alone."""
    if len(series) < 2 or not series[1][0].startswith("beside"):
        return 0.0
    alone, beside = (float(np.mean(sample.times_ns or (1,))) for _, sample in series[:2])
    return beside / alone


def _name(launch: Launch) -> str:
    """'beside other jobs, adaptive-routing=on', or the arm of a run without aggressors."""
    settings = {**launch.trial.arm, **launch.trial.condition}
    others = [f"{factor}={one}" for factor, one in settings.items() if factor != "load"]
    load = "beside other jobs" if aggressors_of(launch.trial) else "alone"
    return ", ".join([load, *others])


def _chosen(arms: Arms) -> list[tuple[str, Sample]]:
    """Alone and beside with the first setting of each factor, then beside with one setting changed;
    as many as there are colours."""
    settings = {
        name: {**launch.trial.arm, **launch.trial.condition} for name, (launch, _) in arms.items()
    }
    first: dict[str, str] = {}
    for own in settings.values():
        for factor, one in own.items():
            first.setdefault(factor, one)

    def n_changed(name: str) -> int:
        own = settings[name]
        return sum(one != first[factor] for factor, one in own.items() if factor != "load")

    alone = [n for n in arms if not aggressors_of(arms[n][0].trial) and n_changed(n) == 0]
    beside = sorted(
        (n for n in arms if aggressors_of(arms[n][0].trial) and n_changed(n) <= 1), key=n_changed
    )
    names = [*alone, *beside] if beside else list(arms)
    return [(_short(name, first), arms[name][1]) for name in names[:MAX_SERIES]]


def _short(name: str, first: Mapping[str, str]) -> str:
    """Without the settings that come first."""
    load, *others = name.split(", ")
    kept = [one for one in others if one.partition("=")[2] != first.get(one.partition("=")[0])]
    return ", ".join([load, *kept])


def _figure(
    benchmark: str, series: Sequence[tuple[str, Sample]], name: str, node_set: int
) -> ReportFigure:
    rows: list[dict[str, Any]] = []
    cells = []
    for label, sample in series:
        times_us = np.asarray(sample.times_ns, dtype=np.float64) / 1e3
        width = -(-times_us.size // MOST_POINTS)
        for first in range(0, times_us.size, width):
            value = float(times_us[first : first + width].max())
            rows.append({"iteration": first + 1, "value": value, "series": label})
        figures = (times_us.mean(), np.median(times_us), times_us.max())
        cells.append((label, str(times_us.size), *(format_significant(one) for one in figures)))
    means = ", ".join(f"{cell[2]} {cell[0]}" for cell in cells[:3])
    title = f"{benchmark.replace('_', ' ')}, mean µs of an iteration: {means}."
    slowest = "" if width == 1 else f" Each point is the slowest of {width} iterations."
    return ReportFigure(
        id=name,
        title=title,
        how_to_read=(
            f"Node set {node_set + 1}, which the other jobs slow most; every iteration by its "
            f"slowest rank.{slowest}"
            if _slowed(series)
            else f"Every iteration by its slowest rank.{slowest}"
        ),
        spec=charts.iterations(
            rows, y_title="time of an iteration (µs)", description=f"{title} The table has them."
        ),
        table=cut_table(
            f"{benchmark}: iterations of node set {node_set + 1}, µs",
            ("", "#iterations", "#mean", "#median", "#slowest"),
            cells,
        ),
    )
