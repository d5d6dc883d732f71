"""The verdict of a run: what its findings are, and what weakens them, in plain words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from weft.bench.model import State
from weft.bench.result_scale import is_imported
from weft.bench.twin.extrapolation import EXTRAPOLATED_FLAG
from weft.bench.twin.fidelity import FLOW_FLAG, said_by
from weft.check.external_evidence import fabric_marks as marks
from weft.check.external_evidence import platform_choice as machine
from weft.check.launches import routes_adaptively
from weft.check.readings.network import Wiring
from weft.check.verdict.lost_hosts import with_lost
from weft.check.verdict.rerun_command import Again, with_own_options
from weft.check.verdict.verdict import Verdict, judge_check
from weft.check.wording.remedies import remedy_of
from weft.core.finding import Finding, FindingKind, Severity, worst_first
from weft.core.units import format_significant
from weft.report.charts.cells import Measured, measured_of, study_cells_of
from weft.report.charts.median_interval import median_interval_of
from weft.report.sections.method import n_unfinished
from weft.study.comparison.comparison import Comparison, compare_arms
from weft.study.run.metadata import AGAIN
from weft.study.run.store import StudyRun
from weft.topology.fabric import Fabric

_FLAGS = {
    "oversubscribed": (
        "More ranks than CPUs: ranks waited for a CPU, so these times are no measure of the "
        "network and support no verdict."
    ),
    "skew_dominates": (
        "In some collectives the ranks left the barrier so far apart that the skew is as large as "
        "what was measured; do not believe those rows."
    ),
    "outside_fit": (
        "Some sizes lie outside those the platform was fitted on: what the twin says there goes on "
        "along the last line and was never compared with a measurement."
    ),
    "late_starts": (
        "In some collectives most iterations began late: a rank was not ready at the agreed time, "
        "so those rows are no measure of ranks that start together."
    ),
    "not_on_fabric": (
        "The bytes did not go over the fast network this machine has, so these figures say nothing "
        "about it."
    ),
    "invalid_data": "Some received data differed from what was sent; those samples are left out.",
}
MAX_HEADLINES = 6
SCATTERED = 2
"""Launches of one cell further apart than this factor are worth a sentence of their own."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """All that is said about a run. `findings` holds at least one, worst first; `pairs` and `arms`
    are None where a run has no pairs, or one arm only."""

    findings: tuple[Finding, ...]
    caveats: tuple[str, ...]
    measured: tuple[Measured, ...]
    pairs: Verdict | None
    arms: Comparison | None
    excluded: Mapping[str, int]


def judge(run: StudyRun, verdict: Verdict | None = None) -> Judgement:
    """Judge a run by what it holds: pairs (unless their verdict is known), arms, or figures
    alone."""
    cells = study_cells_of(run)
    measured = measured_of(run, cells)
    pairs = verdict or pair_verdict(run)
    arms = compare_arms(run) if len({str(x.trial.arm) for x in run.launches}) > 1 else None
    # A comparison says which arm failed; without one the failures are told as they are.
    found = arms.findings if arms is not None else failure_findings(run)
    if pairs is not None:
        found += tuple(_with_remedy(finding) for finding in pairs.findings)
    elif arms is None:
        found += (measured_finding(run, measured),)
    notes = [finding.sentence for finding in found if _is_caveat(finding)]
    stated = [finding for finding in found if not _is_caveat(finding)]
    weakened = (*notes, *caveats(run, pairs, cells.excluded), *scatter_caveat(measured))
    return Judgement(
        findings=worst_first(stated),
        caveats=tuple(dict.fromkeys(weakened)),
        measured=measured,
        pairs=pairs,
        arms=arms,
        excluded=cells.excluded,
    )


def _with_remedy(finding: Finding) -> Finding:
    """A page has no line of next steps: what to do stands with the evidence."""
    remedy = remedy_of(finding)
    if remedy is None:
        return finding
    return replace(finding, evidence=(*finding.evidence, f"what to do: {remedy.do}"))


def _flags_of(run: StudyRun) -> set[str]:
    flags = {flag for sample in run.samples for flag in sample.flags}
    if any(sample.state is State.NOT_ON_FABRIC for sample in run.samples):
        flags.add(State.NOT_ON_FABRIC.value)
    return flags


def _notes_of(run: StudyRun) -> tuple[str, ...]:
    """What the backend says about samples it does not trust, each note once."""
    notes = dict.fromkeys(sample.note for sample in run.samples if sample.note)
    return tuple(str(note) for note in notes)[:3]


def _is_caveat(finding: Finding) -> bool:
    """A note about the run as a whole: it weakens the verdict and is none itself."""
    return finding.kind is FindingKind.ANOMALY and finding.severity is Severity.NOTE


def caveats(run: StudyRun, pairs: Verdict | None, excluded: Mapping[str, int]) -> tuple[str, ...]:
    """What a reader must know before believing the figures."""
    flags = _flags_of(run) - {FLOW_FLAG, EXTRAPOLATED_FLAG}
    said = [*_about_the_twin(run), *_about_files(run), *_about_one_host(run)]
    said += [_sentence(clause) for clause in said_by(run.samples)]
    said += [_FLAGS.get(flag, f"Samples carry the flag '{flag}'.") for flag in sorted(flags)]
    if pairs is not None:
        said += [f"{caveat[:1].upper()}{caveat[1:].rstrip('.')}." for caveat in pairs.caveats]
    if excluded:
        n_excluded = sum(excluded.values())
        said.append(f"{n_excluded} of {len(run.samples)} samples are left out (see below).")
    n_open = n_unfinished(run)
    if n_open:
        said.append(f"Unfinished: {n_open} of {len(run.launches)} launches are missing.")
    remarks = run.meta.get("remarks", ())
    said += [_sentence(str(remark)) for remark in remarks]
    return tuple(said)


def _sentence(remark: str) -> str:
    """With a capital and a full stop; the name of a file or a test keeps its first letter."""
    word = remark.partition(" ")[0].rstrip(":,")
    first = remark[:1].upper() if word.isalpha() else remark[:1]
    return f"{first}{remark[1:].rstrip('.')}."


def backend_facts(run: StudyRun) -> Mapping[str, Any]:
    """`name` and `facts` of the backend, as far as run.toml tells them."""
    backend = run.meta.get("backend")
    known = backend if isinstance(backend, Mapping) else {}
    facts = known.get("facts")
    return {
        "name": str(known.get("name", "unknown")),
        "facts": facts if isinstance(facts, Mapping) else {},
    }


def is_twin(run: StudyRun) -> bool:
    """Whether the figures come from a simulated fabric."""
    return bool(backend_facts(run)["name"] == "twin")


def measured_word(run: StudyRun) -> str:
    """What happened: 'Measured', or 'Simulated' on a twin."""
    return "Simulated" if is_twin(run) else "Measured"


def _about_the_twin(run: StudyRun) -> list[str]:
    """That nothing was measured on a machine, and what was planted."""
    if not is_twin(run):
        return []
    facts = backend_facts(run)["facts"]
    said = [
        f"Simulated: a twin of '{facts.get('platform', '?')}', not a machine. Its scatter is the "
        "model's own."
    ]
    faults = [str(fault) for fault in facts.get("faults", ())]
    if faults:
        said.append(f"Planted in the twin, and not told to the diagnosis: {', '.join(faults)}.")
    return said


def _about_files(run: StudyRun) -> list[str]:
    """That weft measured nothing itself, and on what the verdict can rest."""
    if not is_imported(run.meta):
        return []
    return ["Imported: these figures were read from files; weft measured nothing itself."]


def _about_one_host(run: StudyRun) -> list[str]:
    """Ranks on one host talk through its memory, whatever network it has."""
    if not run.samples or any(sample.evidence.get("hosts") != 1 for sample in run.samples):
        return []
    return [
        "All ranks ran on one host and may have talked through its memory: "
        "this says nothing about a network."
    ]


def failure_findings(run: StudyRun) -> tuple[Finding, ...]:
    """One finding for all failed launches, but for those of a check that tells the hosts it lost;
    none where none failed."""
    failures = [failure for failure in run.failures if failure not in run.failed_for_lost]
    if not failures:
        return ()
    n_failed, n_all = len(failures), len(run.launches)
    messages = dict.fromkeys(failure.message.splitlines()[0] for failure in failures)
    return (
        Finding(
            FindingKind.FAILURE,
            Severity.BAD,
            f"{n_failed} of {n_all} launches failed.",
            evidence=tuple(messages)[:3],
            next_command=None if is_twin(run) else f"less {run.directory}/raw/*.err",
            facts={"n_failed": n_failed, "n_launches": n_all},
        ),
    )


def measured_finding(run: StudyRun, measured: Sequence[Measured]) -> Finding:
    """What a run without pairs or arms says: its headline figures, and that nothing judges them."""
    lines = tuple(_headline_of(one) for one in measured[:MAX_HEADLINES])
    if not lines:
        return Finding(
            FindingKind.NOT_ENOUGH_DATA,
            Severity.WARNING,
            "Nothing was measured: no launch gave a usable sample.",
        )
    flags = _flags_of(run)
    for flag, why in (
        ("oversubscribed", "Measured with more ranks than CPUs"),
        (State.NOT_ON_FABRIC.value, "Measured, but not over the fast network"),
    ):
        if flag in flags:
            return Finding(
                FindingKind.NOT_ENOUGH_DATA,
                Severity.WARNING,
                f"{why}: these figures support no verdict.",
                evidence=(*_notes_of(run), *lines),
            )
    return Finding(
        FindingKind.NOT_ENOUGH_DATA,
        Severity.NOTE,
        f"{measured_word(run)}: {', '.join(lines[:2])}.",
        evidence=(*lines[2:], "Nothing to judge these against: one arm, no pairs of nodes."),
        next_command=_next_after(run),
    )


def _next_after(run: StudyRun) -> str:
    """A file can be judged against its machine; a run needs another."""
    files = backend_facts(run)["facts"].get("files", ()) if is_imported(run.meta) else ()
    if files:
        return f"weft judge {run.directory}/raw/{files[0].get('raw')}"
    return f"weft compare {run.directory} OTHER_RUN"


def pair_verdict(run: StudyRun) -> Verdict | None:
    """The diagnosis of the pairs of a run; None where no pair was measured."""
    with_pair = [sample for sample in run.samples if sample.pair is not None]
    if not with_pair:
        return None
    adaptive = routes_adaptively(run.launches)
    held_against, kept = machine.of_run(run.directory, with_pair), marks.of_run(run.directory)
    verdict = judge_check(
        with_pair, fabric_of(run), adaptive=adaptive, machine=held_against, marks=kept
    )
    verdict = with_lost(verdict, run.lost, [one.trial for one in run.failed_for_lost])
    return with_own_options(verdict, Again.of_record(run.meta.get(AGAIN)))


def fabric_of(run: StudyRun) -> Wiring | None:
    """The fabric as cabled, where the run knows it."""
    if run.fabric_document is None:
        return None
    return Fabric.from_document(dict(run.fabric_document))


def scatter_caveat(measured: Sequence[Measured]) -> list[str]:
    """Where launches of one cell differ by more than SCATTERED, and where most."""
    ratios = [
        (max(cell.values) / min(cell.values), one, cell) for one in measured for cell in one.cells
    ]
    scattered = [entry for entry in ratios if entry[0] > SCATTERED]
    if not scattered:
        return []
    ratio, one, cell = max(scattered, key=lambda entry: entry[0])
    where = f"{one.benchmark.name}{one.at(cell)}"
    return [
        f"Launches of the same cell differ by more than {SCATTERED}x in {len(scattered)} of "
        f"{len(ratios)} rows, by {ratio:.1f}x in {where}: something else may have used the "
        "machine meanwhile."
    ]


def _headline_of(measured: Measured) -> str:
    """'latency 1.51 µs at 1 B': the smallest size, or the size of the highest rate."""
    metric = measured.metric
    if metric.lower_is_better:
        told = min(measured.cells, key=lambda cell: cell.size_bytes)
    else:
        told = max(measured.cells, key=lambda cell: median_interval_of(cell.values).value)
    value = format_significant(median_interval_of(told.values).value, 3)
    return f"{measured.benchmark.name.replace('_', ' ')} {value} {metric.unit}{measured.at(told)}"
