"""All findings about a run, for its page: those of its pairs, of its arms, of its launches."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

from weft.check.pipeline import has_pairs, judge_run
from weft.check.verdict.good_nodes import good_columns, some_are_good
from weft.check.verdict.verdict import Verdict
from weft.check.wording.remedies import remedy_of
from weft.core.finding import Finding, FindingKind, Severity, worst_first
from weft.core.units import format_significant
from weft.report.charts.cells import Measured, measured_of
from weft.stats.summary import summarise
from weft.study.comparison.cells import Cells, cells_of
from weft.study.comparison.comparison import Comparison, compare_arms
from weft.study.comparison.conclusion.scaling import scaling_answer
from weft.study.comparison.headlines import Headlines
from weft.study.latency_fit import LatencyFit, latency_fit
from weft.study.run.backend_record import backend_of
from weft.study.run.run_findings import caveats, failure_findings, figures_finding, scatter_caveat
from weft.study.run.store import StudyRun

MAX_HEADLINES = 6
LIVE = "live"


@dataclass(frozen=True, slots=True)
class Judgement:
    """The findings about a run, at least one, worst first, and its caveats. `pairs` and `arms` are
    None where a run has no pairs, or one arm only; `fit` where it has no curve of latencies."""

    findings: tuple[Finding, ...]
    caveats: tuple[str, ...]
    measured: tuple[Measured, ...]
    pairs: Verdict | None
    arms: Comparison | None
    excluded: Mapping[str, int]
    fit: LatencyFit | None


def judge(run: StudyRun, verdict: Verdict | None = None) -> Judgement:
    """Collect the findings of a run: of its pairs (`verdict`, where it is known already), of its
    arms, or its figures alone."""
    cells = cells_of(run, Headlines([run]))
    measured = measured_of(run, cells)
    pairs = verdict or (judge_run(run) if has_pairs(run) else None)
    several = len({str(launch.trial.arm) for launch in run.launches}) > 1
    arms = compare_arms(run, cells=cells) if several else None
    # A comparison says which arm failed; without one the failures are a finding of their own.
    found = arms.findings if arms is not None else failure_findings(run)
    if pairs is not None:
        found += tuple(_with_remedy(finding) for finding in _of_pairs(pairs))
    elif arms is None:
        figures = figures_finding(run, [_headline_of(one) for one in measured[:MAX_HEADLINES]])
        found += (_scaling(run, cells, figures),)
    notes = [finding.sentence for finding in found if _is_caveat(finding)]
    of_pairs = () if pairs is None else pairs.caveats
    places = [
        (f"{m.benchmark.name}{m.at(cell)}", cell.values) for m in measured for cell in m.cells
    ]
    # Launches of a twin differ by their nodes: nothing else uses it.
    scattered = () if backend_of(run).is_twin else scatter_caveat(places)
    weakened = (*notes, *caveats(run, cells.excluded, of_pairs), *scattered)
    return Judgement(
        findings=worst_first(finding for finding in found if not _is_caveat(finding)),
        caveats=tuple(dict.fromkeys(weakened)),
        measured=measured,
        pairs=pairs,
        arms=arms,
        excluded=cells.excluded,
        fit=_fit_of(measured) if backend_of(run).name == LIVE else None,
    )


def _scaling(run: StudyRun, cells: Cells, figures: Finding) -> Finding:
    """The finding of the figures, which on several scales begins with how they change."""
    if figures.severity is not Severity.NOTE:
        return figures
    simulated = backend_of(run).is_twin
    answer = scaling_answer(cells.values, Headlines([run]), simulated=simulated)
    if answer is None:
        return figures
    evidence = (*answer.evidence, f"valid for {answer.valid_for}", figures.sentence)
    return replace(figures, kind=FindingKind.ANSWER, sentence=answer.sentence, evidence=evidence)


def _fit_of(measured: Sequence[Measured]) -> LatencyFit | None:
    """The fit of the latency benchmark's first series; None where there are too few sizes."""
    cells = next((one.cells for one in measured if one.benchmark.name == "latency"), ())
    sized = [cell for cell in cells if cell.series == cells[0].series and cell.size_bytes > 0]
    return latency_fit({cell.size_bytes: summarise(cell.values) for cell in sized})


def _of_pairs(verdict: Verdict) -> tuple[Finding, ...]:
    """The findings of a check; the good one says what `weft check` prints of the good nodes."""
    if not some_are_good(verdict):
        return verdict.findings
    others = [one for one in verdict.findings if one.severity is not Severity.GOOD]
    judged = [one for one in verdict.findings if one not in others]
    lines = [line for one in judged for line in (one.sentence, *one.evidence)]
    good = Finding(
        FindingKind.HEALTHY,
        Severity.GOOD,
        ", ".join(good_columns(verdict)),
        evidence=(*verdict.sensitivity.lines, *lines),
    )
    return (*others, good)


def _with_remedy(finding: Finding) -> Finding:
    """The finding with its remedy as evidence: a page has no line of next steps."""
    remedy = remedy_of(finding)
    if remedy is None:
        return finding
    return replace(finding, evidence=(*finding.evidence, f"next: {remedy.do}"))


def _is_caveat(finding: Finding) -> bool:
    """Whether a finding is a note about the whole run, which weakens the other findings."""
    return finding.kind is FindingKind.ANOMALY and finding.severity is Severity.NOTE


def _headline_of(measured: Measured) -> str:
    """'latency 1.51 µs at 1 B': the smallest size, or the size of the highest rate."""
    metric = measured.metric
    if metric.lower_is_better:
        shown = min(measured.cells, key=lambda cell: cell.size_bytes)
    else:
        shown = max(measured.cells, key=lambda cell: median(cell.values))
    value = format_significant(median(shown.values), 3)
    return f"{measured.benchmark.name.replace('_', ' ')} {value} {metric.unit}{measured.at(shown)}"
