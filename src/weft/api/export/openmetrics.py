"""Runs as OpenMetrics text: medians of cells, launches by state, verdicts of checks.

Only gauges without timestamps: node_exporter's textfile collector, which reads Prometheus' older
text format, refuses timestamps and types that the older format has not.
SOURCE: OpenMetrics 1.0 (prometheus/OpenMetrics, specification/OpenMetrics.md): grammar, escapes,
units at the end of names, "# EOF"; prometheus/node_exporter, README.md: textfile collector.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import exp, isfinite

from weft.api.export.metric_units import metric_name
from weft.check.history.components_of import components_of
from weft.check.pipeline import has_pairs, judge_run
from weft.check.verdict.drain_list import accused_node
from weft.check.wording.junit import accused_kind, accused_name
from weft.core.finding import Severity
from weft.study.comparison.table import table_of
from weft.study.history.run_components import PAIR
from weft.study.run.backend_record import backend_of
from weft.study.run.store import StudyRun

_NOT_IN_NAMES = re.compile("[^a-zA-Z0-9_]")

Labels = Mapping[str, object]


@dataclass(slots=True)
class _Family:
    """Gauges of one name, with their labels."""

    help: str
    unit: str = ""
    gauges: dict[str, float] = field(default_factory=dict)


class MetricFamilies:
    """Families by name, in order of first appearance; the last of equal labels counts."""

    def __init__(self) -> None:
        self.by_name: dict[str, _Family] = {}

    def add(self, name: str, text: str, labels: Labels, value: float, unit: str = "") -> None:
        """One gauge; `unit` ends its name."""
        whole = f"weft_{_NOT_IN_NAMES.sub('_', name)}{'_' if unit else ''}{unit}"
        family = self.by_name.setdefault(whole, _Family(text, unit))
        family.gauges[_labels_text(labels)] = value

    def text(self) -> str:
        """All of it, with the mark of its end."""
        return "\n".join([*_lines(self), "# EOF", ""])


def openmetrics_text(runs: Sequence[StudyRun]) -> str:
    """The text of runs. Times are in seconds, rates in bytes or messages a second."""
    families = MetricFamilies()
    for run in runs:
        _add_run(families, run)
        _add_cells(families, run)
        if has_pairs(run):
            _add_verdict(families, run)
    return families.text()


def _add_run(families: MetricFamilies, run: StudyRun) -> None:
    name = {"run": run.directory}
    started = float(run.meta.get("started_unix_s", 0.0))
    facts = {"backend": backend_of(run).name, "weft_version": run.meta.get("weft_version", "")}
    families.add("run_info", "A run and what measured it.", {**name, **facts}, 1)
    if started:
        families.add("run_start_time", "Start of a run, Unix time.", name, started, "seconds")
    counts = {"done": len(run.done), "unfinished": run.n_unfinished, "failed": 0, "hung": 0}
    for failure in run.failures:
        counts[failure.state.value] += 1
    for state, n in counts.items():
        families.add("launches", "Launches of a run by state.", {**name, "state": state}, n)


def _add_cells(families: MetricFamilies, run: StudyRun) -> None:
    for row in table_of(run).rows:
        metric, cell = metric_name(row.metric), row.cell
        if not isfinite(row.summary.median):
            continue
        labels = {
            "run": run.directory,
            "benchmark": cell.benchmark,
            "arm": row.arm,
            "condition": cell.condition,
            "n_nodes": cell.n_nodes,
            "tasks_per_node": cell.tasks_per_node,
            "size_bytes": cell.size_bytes,
            "statistic": metric.statistic or "mean",
        }
        text = "Median over the launches of one benchmark, size and arm."
        value = row.summary.median * metric.factor
        families.add(metric.stem, text, labels, value, metric.base_unit)


def _add_verdict(families: MetricFamilies, run: StudyRun) -> None:
    verdict = judge_run(run)
    name = {"run": run.directory}
    for severity in Severity:
        n = sum(one.severity is severity for one in verdict.findings)
        labels = {**name, "severity": severity.value}
        families.add("check_findings", "Findings of a check by severity.", labels, n)
    for one in verdict.findings:
        if one.severity is Severity.BAD:
            node = accused_node(one)
            kind, component = ("node", node) if node else (accused_kind(one), accused_name(one))
            accused = {"kind": kind, "name": component}
            families.add("check_bad", "A component that a check calls bad.", {**name, **accused}, 1)

    for series, slower in components_of(verdict).slowness.items():
        if series.component.kind != PAIR:
            of = {"kind": series.component.kind, "name": series.component.name}
            labels = {**name, **of, "metric": series.metric.partition("_")[0]}
            text = "Time of a component over that of others of its kind in a check."
            families.add("check_component_slower", text, labels, exp(slower), "ratio")


def _lines(families: MetricFamilies) -> Iterator[str]:
    for name, family in families.by_name.items():
        yield f"# TYPE {name} gauge"
        if family.unit:
            yield f"# UNIT {name} {family.unit}"
        yield f"# HELP {name} {family.help}"
        for labels, value in family.gauges.items():
            yield f"{name}{labels} {value!r}"


def _labels_text(labels: Labels) -> str:
    """'{run="r1",size_bytes="8"}'; a label without a value is left out, which means the same."""
    parts = (f'{name}="{_escaped(str(value))}"' for name, value in labels.items() if value != "")
    return f"{{{','.join(parts)}}}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
