"""Stages, how each went on each host, and what they agree on."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from pathlib import Path

from weft.cluster.bringup.facts import Facts
from weft.cluster.remote import Ssh, SshResult


class StageState(StrEnum):
    """How a stage went on a host. MENDED: it was not right and now is; WOULD: with --dry-run, what
    would be mended; DOUBTFUL: the cluster works without it, less well; UNKNOWN: the host reports
    too little to tell; NOT_TRIED: an earlier stage failed there."""

    RIGHT = "right"
    MENDED = "mended"
    WOULD = "would mend"
    DOUBTFUL = "doubtful"
    UNKNOWN = "unknown"
    FAILED = "failed"
    NOT_TRIED = "not tried"

    @property
    def goes_on(self) -> bool:
        """Whether the host takes part in the next stage."""
        return self not in (StageState.FAILED, StageState.NOT_TRIED)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a stage went on a host: `note` is its finding or its change, `remedy` the next step."""

    state: StageState
    note: str = ""
    remedy: str = ""

    def __post_init__(self) -> None:
        """A failure comes with a remedy."""
        assert self.state is not StageState.FAILED or (self.note and self.remedy), self


RIGHT = Outcome(StageState.RIGHT)
right, mended, would, doubtful, unknown, failed = (
    partial(Outcome, StageState[name])
    for name in ("RIGHT", "MENDED", "WOULD", "DOUBTFUL", "UNKNOWN", "FAILED")
)
"""An outcome of its note, and its remedy where there is one."""


def unanswered(result: SshResult, otherwise: str = "it did not answer") -> Outcome:
    """A command on a host failed for a reason that is not the stage's own."""
    remedy = "look at its load, its home folder and its ssh; then 'weft cluster up' again"
    return failed(result.last_line or otherwise, remedy)


@dataclass
class Cluster:
    """The hosts of a bring-up. `facts` fills as hosts answer, `agreed` as stages settle the values
    that all hosts have; `mend` is false with --dry-run."""

    name: str
    folder: Path
    ssh: Ssh
    hosts: tuple[str, ...]
    mend: bool = True
    facts: dict[str, Facts] = field(default_factory=dict)
    agreed: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Stage:
    """One thing that must be right on every host. `run` returns an outcome for each host it is
    given: those on which all stages before it went well."""

    name: str
    run: Callable[[Cluster, Sequence[str]], Mapping[str, Outcome]]
