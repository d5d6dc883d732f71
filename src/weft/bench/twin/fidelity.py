"""How closely a twin followed packets, in the samples that came of it."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from weft.bench.model import Sample

FLOW_FLAG = "flow_level"
_OF_FLOWS = "flow level: "
"""How notes begin that say the same of every run at flow level."""
FLOWS = (
    "simulated as flows that share links fairly: no buffer fills, so nobody is held up by traffic "
    "for elsewhere; the evidence of the samples says the rest"
)
MAX_SAID = 4


def at_fidelity(
    samples: Iterable[Sample], outcome: Mapping[str, Any], *, once: bool
) -> Iterator[Sample]:
    """A launch's samples with what its outcome says of its fidelity: each, or the first where once
    is enough, has the notes as evidence."""
    flags = (FLOW_FLAG,) if outcome["fidelity"] == "flow" else ()
    said: Mapping[str, Any] = {}
    if outcome["notes"]:
        said = {"fidelity": outcome["fidelity"], "notes": list(outcome["notes"])}
    for sample in samples:
        yield replace(sample, evidence={**sample.evidence, **said}, flags=(*sample.flags, *flags))
        said = {} if once else said


def said_by(samples: Iterable[Sample]) -> tuple[str, ...]:
    """What a reader must know of how closely packets were followed, in clauses; none where every
    packet was because that was asked."""
    flows = False
    notes: dict[str, None] = {}
    for sample in samples:
        flows |= FLOW_FLAG in sample.flags
        found = sample.evidence.get("notes", ()) if "fidelity" in sample.evidence else ()
        notes |= dict.fromkeys(note for note in found if not note.startswith(_OF_FLOWS))
    more = len(notes) - MAX_SAID
    said = [*([FLOWS] if flows else []), *list(notes)[:MAX_SAID]]
    return (*said, *([f"{more} more such notes are in the samples"] if more > 0 else []))
