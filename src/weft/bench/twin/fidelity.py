"""How a twin came to its samples, in their evidence: closely, in part, and by which means."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from weft.bench.model import Sample

FLOW_FLAG = "flow_level"
EXTRAPOLATED_FLAG = "extrapolated"
_OF_FLOWS = "flow level: "
"""How notes begin that say the same of every run at flow level."""
FLOWS = (
    "simulated as flows that share links fairly: no buffer fills, so no message waits for "
    "traffic to another place; the evidence of the samples has the details"
)
MAX_CLAUSES = 4

Outcome = Mapping[str, Any]


def at_fidelity(
    samples: Iterable[Sample], outcome: Outcome, more: Sequence[str] = (), *, once: bool
) -> Iterator[Sample]:
    """The samples of a launch with the fidelity of its outcome. Each has the notes, and `more`, as
    evidence, or the first alone with `once`."""
    flags = (FLOW_FLAG,) if outcome["fidelity"] == "flow" else ()
    stated: Mapping[str, Any] = {}
    notes = [*outcome["notes"], *more]
    if notes:
        stated = {"fidelity": outcome["fidelity"], "notes": notes}
    for sample in samples:
        yield replace(sample, evidence={**sample.evidence, **stated}, flags=(*sample.flags, *flags))
        stated = {} if once else stated


def fidelity_clauses(samples: Iterable[Sample]) -> tuple[str, ...]:
    """The limits of the fidelity, in clauses; none where every packet was followed on request."""
    flows = False
    notes: dict[str, None] = {}
    for sample in samples:
        flows |= FLOW_FLAG in sample.flags
        found = sample.evidence.get("notes") if "fidelity" in sample.evidence else None
        if not found:
            continue
        stated_notes = map(str, found) if isinstance(found, Sequence) else ()
        notes |= dict.fromkeys(note for note in stated_notes if not note.startswith(_OF_FLOWS))
    more = len(notes) - MAX_CLAUSES
    stated = [*([FLOWS] if flows else []), *list(notes)[:MAX_CLAUSES]]
    return (*stated, *([f"{more} more such notes are in the samples"] if more > 0 else []))


def is_extrapolated(outcome: Outcome) -> bool:
    """Whether any step's times follow from less than all of it."""
    return not all(outcome["steady_whole_because"])


def with_extrapolation(
    samples: Iterable[Sample], outcome: Outcome, steps_per_sample: int
) -> Iterator[Sample]:
    """Samples in the order of their steps, each with the part of its bytes that was simulated and
    the estimated error of its times, as shares; or with why all of it was."""
    for place, sample in enumerate(samples):
        first = place * steps_per_sample
        stated = _of_steps(outcome, range(first, first + steps_per_sample))
        flags = () if "simulated_whole" in stated else (EXTRAPOLATED_FLAG,)
        yield replace(sample, evidence={**sample.evidence, **stated}, flags=(*sample.flags, *flags))


def _of_steps(outcome: Outcome, steps: range) -> dict[str, Any]:
    rows = [row for row, step in enumerate(outcome["steady_step"]) if step in steps]
    whole = [why for row in rows if (why := outcome["steady_whole_because"][row])]
    if len(whole) == len(rows):
        return {"simulated_whole": "; ".join(dict.fromkeys(whole))}
    shares = [float(outcome["steady_share"][row]) for row in rows]
    return {
        "simulated_share": sum(shares) / len(shares),
        "estimated_error": max(float(outcome["steady_error"][row]) for row in rows),
    }


def carried_out(samples: Iterable[Sample], outcome: Outcome) -> Iterator[Sample]:
    """Samples, one a step, with who did it: switches (how), or hosts and why; as they are where
    nothing was asked of switches.
    """
    # A step with one more row changed when it was repeated.
    rows = {int(step): row for row, step in enumerate(outcome.get("offload_step", ()))}
    for step, sample in enumerate(samples):
        if step not in rows:
            yield sample
            continue
        stated = {"carried_out_by": outcome["offload_by"][rows[step]]}
        reason = outcome["offload_reason"][rows[step]]
        if reason:
            stated["not_by_switches"] = reason
        yield replace(sample, evidence={**sample.evidence, **stated})
