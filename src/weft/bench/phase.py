"""The phases of the benchmark `pairs`: what the pairs of a round do, one phase after the other."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from weft.core.errors import InputError, did_you_mean


@dataclass(frozen=True, slots=True)
class Phase:
    """A word of the option `phases`.

    `kinds` are what is timed, each a series of its own, under the names of a scenario's steps and
    of the kernel's records; `is_small`: at the small one of the two sizes.
    """

    name: str
    kinds: tuple[str, ...]
    is_small: bool


LATENCY = Phase("latency", ("latency",), is_small=True)
BANDWIDTH = Phase("bandwidth", ("bandwidth_ab", "bandwidth_ba"), is_small=False)
BIDIRECTIONAL = Phase("bidirectional", ("bidirectional",), is_small=False)

PHASES = {phase.name: phase for phase in (LATENCY, BANDWIDTH, BIDIRECTIONAL)}
"""All phases, in the order in which they run."""

DEFAULT_PHASES = (LATENCY.name, BANDWIDTH.name)


def phases_of(options: Mapping[str, Any]) -> tuple[Phase, ...]:
    """The phases that a trial's option `phases` asks for, in the order in which they run.

    Raises InputError for what is no list of different phases.
    """
    given = options.get("phases", DEFAULT_PHASES)
    names = list(given) if isinstance(given, list | tuple) else []
    unknown = [name for name in names if not isinstance(name, str) or name not in PHASES]
    if not names or unknown or len(set(names)) < len(names):
        raise InputError(
            f"option 'phases' cannot be {given!r}",
            expected="a list, each at most once, of " + ", ".join(PHASES),
            hint=did_you_mean(str(unknown[0]), list(PHASES)) if unknown else None,
        )
    return tuple(phase for phase in PHASES.values() if phase.name in names)
