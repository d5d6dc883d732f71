"""The verdict of a run: what its findings are, and what weakens them, in plain words."""

from collections.abc import Sequence
from dataclasses import dataclass

from weft.bench.model import State
from weft.core.finding import Finding, FindingKind, Severity
from weft.core.units import format_significant, format_size
from weft.diagnose.crossing import Wiring
from weft.diagnose.verdict import Verdict, judge_pairs
from weft.report.cells import Measured, measured_of
from weft.report.middle import middle_of
from weft.report.sections.method import n_unfinished
from weft.study.compare import Comparison, compare_arms
from weft.study.store import Run

_ORDER = (Severity.BAD, Severity.WARNING, Severity.NOTE, Severity.GOOD)
_FLAGS = {
    "oversubscribed": (
        "More ranks than CPUs: ranks waited for a CPU, so these times are no measure of the "
        "network and support no verdict."
    ),
    "skew_dominates": (
        "In some collectives the ranks left the barrier so far apart that the skew is as large as "
        "what was measured; do not believe those rows."
    ),
    "invalid_data": "Some received data differed from what was sent; those samples are left out.",
}
MAX_HEADLINES = 6


@dataclass(frozen=True, slots=True)
class Judgement:
    """All that is said about a run. `findings` holds at least one, worst first; `pairs` and `arms`
    are None where a run has no pairs, or one arm only."""

    findings: tuple[Finding, ...]
    caveats: tuple[str, ...]
    measured: tuple[Measured, ...]
    pairs: Verdict | None
    arms: Comparison | None


def judge(run: Run) -> Judgement:
    """Judge a run by what it holds: pairs, arms, or figures alone."""
    measured = measured_of(run)
    pairs = pair_verdict(run)
    arms = compare_arms(run) if len({str(x.trial.arm) for x in run.launches}) > 1 else None
    # A comparison says which arm failed; without one the failures are told as they are.
    found = arms.findings if arms is not None else failure_findings(run)
    if pairs is not None:
        found += pairs.findings
    elif arms is None:
        found += (measured_finding(run, measured),)
    return Judgement(
        findings=tuple(sorted(found, key=lambda finding: _ORDER.index(finding.severity))),
        caveats=caveats(run, pairs),
        measured=measured,
        pairs=pairs,
        arms=arms,
    )


def caveats(run: Run, pairs: Verdict | None) -> tuple[str, ...]:
    """What a reader must know before believing the figures."""
    flags = {flag for sample in run.samples for flag in sample.flags}
    said = [_FLAGS.get(flag, f"Samples carry the flag '{flag}'.") for flag in sorted(flags)]
    if pairs is not None:
        said += [f"{caveat[:1].upper()}{caveat[1:].rstrip('.')}." for caveat in pairs.caveats]
    n_excluded = sum(sample.state is not State.OK for sample in run.samples)
    if n_excluded:
        said.append(f"{n_excluded} of {len(run.samples)} samples are excluded (listed below).")
    n_open = n_unfinished(run)
    if n_open:
        said.append(f"Unfinished: {n_open} of {len(run.launches)} launches are missing.")
    remarks = run.meta.get("remarks", ())
    said += [f"{str(remark)[:1].upper()}{str(remark)[1:].rstrip('.')}." for remark in remarks]
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


def measured_finding(run: Run, measured: Sequence[Measured]) -> Finding:
    """What a run without pairs or arms says: its headline figures, and that nothing judges them."""
    lines = tuple(_headline_of(one) for one in measured[:MAX_HEADLINES])
    if not lines:
        return Finding(
            FindingKind.NOT_ENOUGH_DATA,
            Severity.WARNING,
            "Nothing was measured: no launch gave a usable sample.",
        )
    flags = {flag for sample in run.samples for flag in sample.flags}
    if "oversubscribed" in flags:
        return Finding(
            FindingKind.NOT_ENOUGH_DATA,
            Severity.WARNING,
            "Measured with more ranks than CPUs: these figures support no verdict.",
            evidence=lines,
        )
    return Finding(
        FindingKind.NOT_ENOUGH_DATA,
        Severity.NOTE,
        f"Measured: {lines[0]}.",
        evidence=(*lines[1:], "Nothing to judge these against: one arm, no pairs of nodes."),
        next_command=f"weft compare {run.directory} OTHER_RUN",
    )


def pair_verdict(run: Run) -> Verdict | None:
    """The diagnosis of the pairs of a run; None where no pair was measured.

    The first trial of pairs is the survey; pairs measured in later trials with nothing else
    running are its retest.
    """
    trials = list(dict.fromkeys(s.trial for s in run.samples if s.pair is not None))
    if not trials:
        return None
    survey = [s for s in run.samples if s.pair is not None and s.trial == trials[0]]
    alone = [s for s in run.samples if s.pair and s.trial != trials[0] and s.pair.n_concurrent == 1]
    return judge_pairs(survey, fabric_of(run), isolated=alone)


def fabric_of(run: Run) -> Wiring | None:
    """The fabric as cabled, where the run knows it."""
    if run.fabric_document is None:
        return None
    from weft.topology.fabric import Fabric

    fabric: Wiring = Fabric.from_document(dict(run.fabric_document))
    return fabric


def _headline_of(measured: Measured) -> str:
    """'latency 1.51 µs at 8 B': the best size of a benchmark."""
    metric = measured.metric
    pick = min if metric.lower_is_better else max
    best = pick(measured.cells, key=lambda cell: middle_of(cell.values).value)
    value = format_significant(middle_of(best.values).value, 3)
    at = f" at {format_size(best.size_bytes)}" if best.size_bytes else ""
    return f"{measured.benchmark.name.replace('_', ' ')} {value} {metric.unit}{at}"
