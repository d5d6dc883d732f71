"""Findings and caveats about a run as a whole: failed launches, flagged samples, scatter."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from weft.bench.model import State
from weft.bench.result_scale import is_imported
from weft.bench.twin.fidelity import EXTRAPOLATED_FLAG, FLOW_FLAG, fidelity_clauses
from weft.core.finding import Finding, FindingFacts, FindingKind, Severity
from weft.core.shell_line import quoted
from weft.study.run.backend_record import backend_of
from weft.study.run.store import StudyRun

_FLAGS = {
    "oversubscribed": (
        "More ranks than CPUs: ranks waited for a CPU, so these times do not measure the network "
        "and support no verdict."
    ),
    "skew_dominates": (
        "In some collectives the ranks left the barrier so far apart that the skew is as large as "
        "the measured time: do not believe those rows."
    ),
    "outside_fit": (
        "Some sizes lie outside the range that the platform was fitted on: there the twin extends "
        "its last line, which no measurement has confirmed."
    ),
    "late_starts": (
        "In some collectives most iterations began late, because a rank was not ready at the "
        "agreed time: those rows do not measure ranks that start together."
    ),
    "not_on_fabric": (
        "The bytes did not go over the fast network of this machine, so these figures say nothing "
        "about it."
    ),
    "invalid_data": "Some received data differed from the sent data; those samples are left out.",
}
MOST_SCATTER = 2
"""Launches of one cell that differ by more than this factor are worth a caveat."""


@dataclass(frozen=True, slots=True)
class FailedLaunches(FindingFacts):
    """How many launches of a run failed."""

    n_failed: int
    n_launches: int


def failure_findings(run: StudyRun) -> tuple[Finding, ...]:
    """One finding about all failed launches, without those that failed for a lost host; none where
    no launch failed."""
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
            next_command=None if backend_of(run).is_twin else f"less {run.directory}/raw/*.err",
            facts=FailedLaunches(n_failed, n_all),
        ),
    )


def figures_finding(run: StudyRun, figures: Sequence[str]) -> Finding:
    """The finding of a run without pairs or arms: its headline figures, which nothing judges."""
    if not figures:
        return Finding(
            FindingKind.NOT_ENOUGH_DATA,
            Severity.WARNING,
            "Nothing was measured: no launch gave a usable sample.",
        )
    flags = _flags_of(run)
    notes = dict.fromkeys(str(sample.note) for sample in run.samples if sample.note)
    for flag, why in (
        ("oversubscribed", "Measured with more ranks than CPUs"),
        (State.NOT_ON_FABRIC.value, "Measured, but not over the fast network"),
    ):
        if flag in flags:
            return Finding(
                FindingKind.NOT_ENOUGH_DATA,
                Severity.WARNING,
                f"{why}: these figures support no verdict.",
                evidence=(*tuple(notes)[:3], *figures),
            )
    return Finding(
        FindingKind.NOT_ENOUGH_DATA,
        Severity.NOTE,
        f"{_measured_words(run)}: {', '.join(figures[:2])}.",
        evidence=(*figures[2:], "No verdict: it needs a second arm, or pairs of nodes."),
        next_command=_next_after(run),
    )


def _measured_words(run: StudyRun) -> str:
    word = backend_of(run).measured_word
    return f"{word} between hosts of one machine" if _hosts_of_one_machine(run) > 1 else word


def _hosts_of_one_machine(run: StudyRun) -> int:
    """The hosts of a run all of whose launches had the hosts of one machine; 0 for others."""
    counts = [(s.evidence.get("machines"), s.evidence.get("hosts") or 0) for s in run.samples]
    return max(n for _, n in counts) if counts and all(m == 1 for m, _ in counts) else 0


def caveats(
    run: StudyRun, excluded: Mapping[str, int], more: Iterable[str] = ()
) -> tuple[str, ...]:
    """Sentences about why the figures of a run may mislead. `excluded`: samples left out, by
    reason; `more`: caveats of a verdict, as clauses."""
    flags = _flags_of(run) - {FLOW_FLAG, EXTRAPOLATED_FLAG}
    found = _about_the_twin(run)
    if is_imported(run.meta):
        found.append("Imported: these figures were read from files; weft measured nothing itself.")
    if run.samples and all(sample.evidence.get("hosts") == 1 for sample in run.samples):
        # Ranks on one host talk through its memory, whatever network it has.
        found.append(
            "All ranks ran on one host and may have talked through its memory: "
            "this says nothing about a network."
        )
    n_hosts = _hosts_of_one_machine(run)
    if n_hosts > 1:
        found.append(
            f"The {n_hosts} hosts are one machine (virtual hosts or containers): its CPUs and "
            "memory carried every message and no cable did. These figures say nothing about a "
            "network."
        )
    found += [_sentence(clause) for clause in fidelity_clauses(run.samples)]
    found += [_FLAGS.get(flag, f"Samples carry the flag '{flag}'.") for flag in sorted(flags)]
    found += [f"{caveat[:1].upper()}{caveat[1:].rstrip('.')}." for caveat in more]
    if excluded:
        n_excluded = sum(excluded.values())
        found.append(f"{n_excluded} of {len(run.samples)} samples are left out (see below).")
    if run.n_unfinished:
        found.append(f"Unfinished: {run.n_unfinished} of {len(run.launches)} launches are missing.")
    return (*found, *(_sentence(str(remark)) for remark in run.meta.get("remarks", ())))


def scatter_caveat(cells: Sequence[tuple[str, Sequence[float]]]) -> tuple[str, ...]:
    """A sentence where launches of one cell differ by more than MOST_SCATTER. `cells`: the place
    and the values of each, one value a launch."""
    ratios = [(max(values) / min(values), where) for where, values in cells]
    scattered = [entry for entry in ratios if entry[0] > MOST_SCATTER]
    if not scattered:
        return ()
    ratio, where = max(scattered, key=lambda entry: entry[0])
    return (
        f"Launches of the same cell differ by more than {MOST_SCATTER}x in {len(scattered)} of "
        f"{len(ratios)} rows, by {ratio:.1f}x in {where}: something else may have used the "
        "machine meanwhile.",
    )


def _flags_of(run: StudyRun) -> set[str]:
    flags = {flag for sample in run.samples for flag in sample.flags}
    if any(sample.state is State.NOT_ON_FABRIC for sample in run.samples):
        flags.add(State.NOT_ON_FABRIC.value)
    return flags


def _sentence(remark: str) -> str:
    """With a capital and a full stop; the name of a file or a test keeps its first letter."""
    word = remark.partition(" ")[0].rstrip(":,")
    first = remark[:1].upper() if word.isalpha() else remark[:1]
    return f"{first}{remark[1:].rstrip('.')}."


def _about_the_twin(run: StudyRun) -> list[str]:
    """That a twin was measured, and the faults planted in it."""
    backend = backend_of(run)
    if not backend.is_twin:
        return []
    found = [
        f"Simulated: a twin of '{backend.facts.get('platform', '?')}', not a machine. Its scatter "
        "is the model's own."
    ]
    faults = [str(fault) for fault in backend.facts.get("faults", ())]
    if faults:
        found.append(f"Planted in the twin, unknown to the verdict: {', '.join(faults)}.")
    return found


def _next_after(run: StudyRun) -> str:
    """A file can be judged against its machine; a run needs another."""
    files = backend_of(run).facts.get("files", ()) if is_imported(run.meta) else ()
    if files:
        return f"weft judge {quoted(run.directory / 'raw' / str(files[0].get('raw')))}"
    return f"weft compare {quoted(run.directory)} OTHER_RUN"
