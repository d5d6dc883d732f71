"""A finding: one judged statement with its evidence; and the one order of severities."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, Protocol, TypeVar


class FindingKind(StrEnum):
    """The subject of a finding."""

    ANSWER = "answer"
    LOST_NODE = "lost-node"
    SUSPECT_NODE = "suspect-node"
    SUSPECT_LINK = "suspect-link"
    SUSPECT_SWITCH = "suspect-switch"
    SUSPECT_PAIR = "suspect-pair"
    TIE = "tie"
    REGRESSION = "regression"
    SPEED_UP = "speed-up"
    NO_DIFFERENCE = "no-difference"
    NOT_ENOUGH_DATA = "not-enough-data"
    PROTOCOL_STEP = "protocol-step"
    ANOMALY = "anomaly"
    DRIFT = "drift"
    FAILURE = "failure"
    MIS_SETTING = "mis-setting"
    HEALTHY = "healthy"
    AS_EXPECTED = "as-expected"
    BELOW_EXPECTED = "below-expected"
    ABOVE_EXPECTED = "above-expected"
    BEYOND_LIMIT = "beyond-limit"
    CONTRADICTION = "contradiction"
    EXPLANATION = "explanation"
    NOT_JUDGED = "not-judged"
    TOO_WIDE = "too-wide-to-tell"
    PATH = "path"


class Severity(StrEnum):
    """How a finding counts: BAD makes the verdict bad (exit 1); UNKNOWN is no verdict (exit 5)."""

    BAD = "bad"
    UNKNOWN = "unknown"
    WARNING = "warning"
    NOTE = "note"
    GOOD = "good"


@dataclass(frozen=True, slots=True)
class FindingFacts:
    """The values of a finding; each room derives its own frozen dataclasses.

    A field's name is its key in JSON. A room overrides `to_record` where some keys are optional.
    """

    def to_record(self) -> dict[str, Any]:
        """The values as plain JSON values."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Finding:
    """`sentence` stands alone; `evidence` is short lines; `facts` holds the values of both."""

    kind: FindingKind
    severity: Severity
    sentence: str
    evidence: tuple[str, ...] = ()
    next_command: str | None = None
    facts: FindingFacts = field(default_factory=FindingFacts)

    def to_record(self) -> dict[str, Any]:
        """The finding as plain JSON values."""
        return {
            "kind": self.kind.value,
            "severity": self.severity.value,
            "sentence": self.sentence,
            "evidence": list(self.evidence),
            "next_command": self.next_command,
            "facts": self.facts.to_record(),
        }


WORST_FIRST = tuple(Severity)
FAULTS = frozenset({Severity.BAD, Severity.WARNING})
"""Severities that ask for something to be done."""
VERDICTS = FAULTS | {Severity.UNKNOWN}
"""Severities that a verdict takes from one finding; notes change none."""


class HasSeverity(Protocol):
    """Anything with a severity: a finding, a complaint, a problem."""

    @property
    def severity(self) -> Severity:
        """How it counts."""
        ...


Item = TypeVar("Item", bound=HasSeverity)


def severity_rank(judged: HasSeverity) -> int:
    """A sort key: 0 for BAD, 4 for GOOD."""
    return WORST_FIRST.index(judged.severity)


def worst_first(judged: Iterable[Item]) -> tuple[Item, ...]:
    """By severity; equal ones stay in their order."""
    return tuple(sorted(judged, key=severity_rank))


def verdict_of(judged: Iterable[HasSeverity]) -> Severity:
    """The worst severity; GOOD where there is nothing, or only notes."""
    verdicts = (one.severity for one in judged if one.severity in VERDICTS)
    return min(verdicts, key=WORST_FIRST.index, default=Severity.GOOD)


def cannot_tell(unknown: str, would_tell: str) -> str:
    """The sentence of a finding without a verdict. A good answer has `would_show` instead: the
    faults that would have shown, in its text as a line and in its record as a list."""
    return f"cannot tell: {unknown}; what would tell: {would_tell}"
