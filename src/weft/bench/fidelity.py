"""How closely a twin followed packets, in the samples that came of it."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from weft.bench.model import Sample

FLOW_FLAG = "flow_level"


def at_fidelity(sample: Sample, outcome: Mapping[str, Any]) -> Sample:
    """A sample with what its outcome says of its fidelity; as it is where there is nothing."""
    if not outcome["notes"]:
        return sample
    said = {"fidelity": outcome["fidelity"], "notes": list(outcome["notes"])}
    flags = (FLOW_FLAG,) if outcome["fidelity"] == "flow" else ()
    return replace(sample, evidence={**sample.evidence, **said}, flags=(*sample.flags, *flags))
