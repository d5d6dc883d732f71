"""The verdict of a run: what its findings are, and what weakens them, in plain words."""

from collections.abc import Sequence

from weft.bench.model import Sample, State
from weft.core.finding import Finding, FindingKind, Severity
from weft.core.units import format_significant, format_size
from weft.report.cells import benchmarks_of, cells_of, headline
from weft.report.middle import middle_of
from weft.report.sections.method import n_unfinished
from weft.study.store import Run

_ORDER = (Severity.BAD, Severity.WARNING, Severity.NOTE, Severity.GOOD)
_FLAGS = {
    "oversubscribed": (
        "More ranks than CPUs: ranks waited for a CPU, so these times are no measure of the "
        "network and support no verdict."
    ),
    "skew_dominates": (
        "Ranks left the barrier so far apart that the skew is as large as what was measured: "
        "small collectives are not to be believed."
    ),
    "invalid_data": "Received data differed from what was sent: do not use these figures.",
    "shared_cpu": "Ranks shared a CPU.",
}
MAX_HEADLINES = 6


def worst_first(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Bad before good; otherwise as given."""
    return tuple(sorted(findings, key=lambda finding: _ORDER.index(finding.severity)))


def caveats(run: Run) -> tuple[str, ...]:
    """What a reader must know before believing the figures."""
    flags = {flag for sample in run.samples for flag in sample.flags}
    said = [_FLAGS.get(flag, f"Samples carry the flag '{flag}'.") for flag in sorted(flags)]
    n_excluded = sum(sample.state is not State.OK for sample in run.samples)
    if n_excluded:
        said.append(f"{n_excluded} of {len(run.samples)} samples are excluded (listed below).")
    n_open = n_unfinished(run)
    if n_open:
        said.append(f"Unfinished: {n_open} of {len(run.launches)} launches are missing.")
    return tuple(said)


def failure_findings(run: Run) -> tuple[Finding, ...]:
    """One finding for all failed launches; none where none failed."""
    if not run.failures:
        return ()
    n_failed, n_all = len(run.failures), len(run.launches)
    messages = dict.fromkeys(failure.message.splitlines()[0] for failure in run.failures)
    return (
        Finding(
            FindingKind.FAILURE,
            Severity.BAD,
            f"{n_failed} of {n_all} launches failed.",
            evidence=tuple(messages)[:3],
            next_command=f"less {run.directory}/raw/*.err",
            facts={"n_failed": n_failed, "n_launches": n_all},
        ),
    )


def measured_finding(run: Run) -> Finding:
    """What a run without pairs or arms says: its headline figures, and that nothing judges them."""
    lines = _headlines(run)
    if not lines:
        return Finding(
            FindingKind.NOT_ENOUGH_DATA,
            Severity.WARNING,
            "Nothing was measured: no launch gave a usable sample.",
        )
    flags = {flag for sample in run.samples for flag in sample.flags}
    if flags & {"oversubscribed", "invalid_data"}:
        return Finding(
            FindingKind.NOT_ENOUGH_DATA,
            Severity.WARNING,
            "Measured, but these figures support no verdict.",
            evidence=lines,
        )
    return Finding(
        FindingKind.NOT_ENOUGH_DATA,
        Severity.NOTE,
        f"Measured: {lines[0]}.",
        evidence=(*lines[1:], "Nothing to judge these against: one arm, no pairs of nodes."),
    )


def _headlines(run: Run) -> tuple[str, ...]:
    lines = []
    for benchmark in benchmarks_of(run.launches)[:MAX_HEADLINES]:
        line = _headline_of(run, benchmark)
        if line is not None:
            lines.append(line)
    return tuple(lines)


def _headline_of(run: Run, benchmark: str) -> str | None:
    mine = [s for s in run.samples if s.benchmark == benchmark and s.pair is None]
    metric = headline(benchmark, mine)
    if metric is None:
        return None
    cells = cells_of(benchmark, metric.name, run.launches, mine)
    if not cells:
        return None
    pick = min if metric.lower_is_better else max
    best = pick(cells, key=lambda cell: middle_of(cell.values).value)
    value = format_significant(middle_of(best.values).value, 3)
    at = f" at {format_size(best.size_bytes)}" if best.size_bytes else ""
    return f"{benchmark.replace('_', ' ')} {value} {metric.unit}{at}".replace("  ", " ")


def all_samples_of_pairs(run: Run) -> tuple[Sample, ...]:
    """Samples of pairs, in the order of the plan."""
    return tuple(sample for sample in run.samples if sample.pair is not None)
