"""Who carried out what a trial asked of switches: a part of its evidence."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from weft.bench.model import Sample


def carried_out(samples: Iterable[Sample], outcome: Mapping[str, Any]) -> Iterator[Sample]:
    """Samples, one a step, with who did it: switches (how), or hosts and why; as they are where
    nothing was asked of switches.
    """
    # A step with one more row changed when it was repeated.
    rows = {int(step): row for row, step in enumerate(outcome.get("offload_step", ()))}
    for step, sample in enumerate(samples):
        if step not in rows:
            yield sample
            continue
        said = {"carried_out_by": outcome["offload_by"][rows[step]]}
        reason = outcome["offload_reason"][rows[step]]
        if reason:
            said["not_by_switches"] = reason
        yield replace(sample, evidence={**sample.evidence, **said})
