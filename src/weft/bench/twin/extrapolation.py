"""What of a twin's samples was simulated in part, in their evidence."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from weft.bench.model import Sample

EXTRAPOLATED_FLAG = "extrapolated"

Outcome = Mapping[str, Any]


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
        said = _of_steps(outcome, range(first, first + steps_per_sample))
        flags = () if "simulated_whole" in said else (EXTRAPOLATED_FLAG,)
        yield replace(sample, evidence={**sample.evidence, **said}, flags=(*sample.flags, *flags))


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
