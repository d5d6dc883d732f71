"""`weft train plan --sweep A:B --report PAGE`: a step against GPUs, by part, as one HTML page."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from weft.core.finding import Finding, FindingKind, Severity
from weft.core.units import format_significant
from weft.core.words import counted
from weft.report.charts import step_parts as charts
from weft.report.model import ReportFigure, RunPage, Section, cut_table
from weft.report.page import write_page
from weft.train.layout_search import PlannedLayout
from weft.train.step_time import StepTime

PRODUCTS, MEMORY, EXCHANGES, BUBBLE, OTHER = (
    "products of matrices",
    "memory between products",
    "exposed exchanges",
    "bubble",
    "optimizer and waiting",
)
GROUPS = (PRODUCTS, MEMORY, EXCHANGES, BUBBLE, OTHER)
"""Parts of a stack from the bottom: ten would not be told apart in grey."""


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """The fastest layout of a number of GPUs, and tokens/s of a GPU over those of the first."""

    n_gpus: int
    planned: PlannedLayout
    efficiency: float


@dataclass(frozen=True, slots=True)
class StepCurve:
    """A job on growing numbers of GPUs. `points`: one or more; `lacking`: sizes where nothing fits,
    in words; `error`: the share by which half of published steps lie off at most."""

    title: str
    subtitle: str
    points: tuple[CurvePoint, ...]
    lacking: tuple[str, ...]
    error: float


def write_curve_page(curve: StepCurve, out: Path) -> Path:
    """Write the page and return its path. Raises MissingError on a disk that refuses."""
    points = curve.points
    page = RunPage(
        id="curve",
        title=curve.title,
        subtitle=curve.subtitle,
        findings=(_finding(points),),
        caveats=curve.lacking,
        sections=(_steps(points, curve.error), _efficiency(points), _layouts(points)),
    )
    write_page(out, [page], verb="train plan", option="--report FILE")
    return out


def _finding(points: Sequence[CurvePoint]) -> Finding:
    first, last = points[0], points[-1]
    if len(points) == 1:
        sentence = f"{first.planned.step.seconds:.3g} s a step on {first.n_gpus:,} GPUs"
    else:
        sentence = (
            f"a GPU keeps {last.efficiency:.1%} of its tokens/s from {first.n_gpus:,} to"
            f" {last.n_gpus:,} GPUs, each with its fastest layout"
        )
    return Finding(FindingKind.ANSWER, Severity.NOTE, sentence)


def grouped(step: StepTime) -> dict[str, float]:
    """Seconds of the parts as they are stacked."""
    return {
        PRODUCTS: step.compute.products,
        MEMORY: step.compute.memory,
        EXCHANGES: sum(step.exposed.values()),
        BUBBLE: step.bubble,
        OTHER: step.optimizer + step.waiting,
    }


def _steps(points: Sequence[CurvePoint], error: float) -> Section:
    rows, totals = [], []
    for point in points:
        at = 0.0
        for part, seconds in grouped(point.planned.step).items():
            if seconds > 0:
                ends = {"low": at, "high": at + seconds}
                rows.append({"n_gpus": point.n_gpus, "part": part, "value": seconds, **ends})
            at += seconds
        totals.append(
            {"n_gpus": point.n_gpus, "value": at, "low": at * (1 - error), "high": at * (1 + error)}
        )
    shown = [part for part in GROUPS if any(row["part"] == part for row in rows)]
    last = points[-1]
    largest = max(grouped(last.planned.step).items(), key=lambda one: one[1])
    title = (
        f"On {last.n_gpus:,} GPUs a step takes {last.planned.step.seconds:.3g} s,"
        f" {largest[1] / last.planned.step.seconds:.0%} of it {largest[0]}"
    )
    headers = [
        "#GPUs",
        "#step (s)",
        *(f"#{name.upper()} (s)" for name in last.planned.step.exposed),
    ]
    return Section(
        "Time of a step",
        figures=(
            ReportFigure(
                id="curve-parts",
                title=title,
                how_to_read=(
                    "Parts lie on one another; from the bottom in the order of the legend. The bar"
                    f" at each top spans {error:.0%} to both sides: half of published steps lie"
                    " within it. The table splits exposed exchanges by dimension."
                ),
                spec=charts.stacked_parts(
                    rows, totals, shown, description=f"{title}. The table below holds the figures."
                ),
                table=cut_table("time of a step", headers, [_exposed(point) for point in points]),
            ),
        ),
    )


def _exposed(point: CurvePoint) -> list[str]:
    step = point.planned.step
    exposed = [_digits(seconds) for seconds in step.exposed.values()]
    return [f"{point.n_gpus:,}", _digits(step.seconds), *exposed]


def _digits(seconds: float) -> str:
    return format_significant(seconds, 3)


def _efficiency(points: Sequence[CurvePoint]) -> Section:
    rows = [{"n_gpus": one.n_gpus, "value": one.efficiency} for one in points]
    worst = min(points, key=lambda one: one.efficiency)
    title = f"The lowest efficiency is {worst.efficiency:.1%}, on {worst.n_gpus:,} GPUs"
    return Section(
        "Efficiency",
        figures=(
            ReportFigure(
                id="curve-efficiency",
                title=title,
                how_to_read=(
                    f"Tokens/s of a GPU over those on {counted(points[0].n_gpus, 'GPU')}. Each"
                    " number of GPUs has its own fastest layout, so that a curve may rise."
                ),
                spec=charts.efficiency(
                    rows, description=f"{title}. The table below holds the figures."
                ),
                table=cut_table(
                    "efficiency",
                    ["#GPUs", "#efficiency"],
                    [(f"{one.n_gpus:,}", f"{one.efficiency:.1%}") for one in points],
                ),
            ),
        ),
    )


def _layouts(points: Sequence[CurvePoint]) -> Section:
    cells = [
        (f"{one.n_gpus:,}", f"{one.planned.memory.total / 1e9:.0f}", one.planned.words)
        for one in points
    ]
    table = cut_table("fastest layouts", ["#GPUs", "#memory (GB)", "layout"], cells)
    return Section("Layouts", tables=(table,))
