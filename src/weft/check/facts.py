"""The values that findings of a check state, as types."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from weft.check.readings.components import Component, vertex_of
from weft.check.readings.readings import Metric, host_of
from weft.check.suspects.accusation import Accusation, Count, Standing
from weft.core.finding import FindingFacts

NamedPair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class SuspectComponent:
    """An accused component. `node`: the node that it is or that holds an end of it, None for what
    belongs to no node."""

    component: Component
    node: str | None

    @classmethod
    def of(cls, component: Component, owners: Mapping[str, str]) -> "SuspectComponent":
        """The suspect of a component; `owners`: the node of each HCA."""
        kind, names = component.thing
        if kind in ("node", "rank"):
            return cls(component, host_of(names[0]))
        held = (owners.get(name if kind == "hca" else vertex_of(name)) for name in names)
        return cls(component, next((node for node in held if node is not None), None))

    def to_record(self) -> dict[str, Any]:
        """The suspect as plain JSON values."""
        component = self.component
        return {
            "part": component.part.value,
            "ends": list(component.ends),
            "name": component.name,
            "node": self.node,
        }


@dataclass(frozen=True, slots=True)
class AccusationFacts(FindingFacts):
    """Components that no reading separates, with the readings over them. `worst`: the count of
    the metric that is slowed most; `evidence`: a natural logarithm."""

    suspects: tuple[SuspectComponent, ...]
    standing: Standing
    metrics: tuple[Metric, ...]
    worst: Count
    evidence: float
    pairs: tuple[NamedPair, ...]
    counts: tuple[Count, ...]

    @classmethod
    def of(cls, accusation: Accusation, owners: Mapping[str, str]) -> "AccusationFacts":
        """The facts of an accusation; `owners`: the node of each HCA."""
        return cls(
            suspects=tuple(SuspectComponent.of(c, owners) for c in accusation.components),
            standing=accusation.standing,
            metrics=tuple(accusation.slower),
            worst=accusation.worst,
            evidence=accusation.evidence,
            pairs=accusation.pairs,
            counts=accusation.counts,
        )

    @property
    def components(self) -> tuple[Component, ...]:
        """The accused components."""
        return tuple(suspect.component for suspect in self.suspects)

    @property
    def tie(self) -> bool:
        """Whether more than one component is left."""
        return len(self.suspects) > 1

    def to_record(self) -> dict[str, Any]:
        """The accusation as plain JSON values."""
        return {
            "suspects": [suspect.to_record() for suspect in self.suspects],
            "tie": self.tie,
            "standing": self.standing.value,
            "metrics": [metric.value for metric in self.metrics],
            "measured": self.worst.measured,
            "expected": self.worst.norm.expected,
            "unit": self.worst.metric.unit,
            "evidence": round(self.evidence, 2),
            "n_slow": sum(count.n_slow for count in self.counts),
            "n_crossing": sum(count.n for count in self.counts),
            "pairs": [list(pair) for pair in self.pairs],
            "counts": [_count_record(count) for count in self.counts],
        }


@dataclass(frozen=True, slots=True)
class PairFacts(FindingFacts):
    """Pairs of endpoints that a finding accuses where it names no component."""

    pairs: tuple[NamedPair, ...]


@dataclass(frozen=True, slots=True)
class NodeFaultFacts(FindingFacts):
    """A fault of a node that launches of nccl-tests show: a key of remedies.toml."""

    node: str
    fault: str


@dataclass(frozen=True, slots=True)
class DisturbedReadings(FindingFacts):
    """How many readings were slow once, with nothing in common."""

    disturbed: int


def _count_record(count: Count) -> dict[str, Any]:
    return {
        "metric": count.metric.value,
        "hop_class": count.norm.hop_class.words,
        "measured": count.measured,
        "expected": count.norm.expected,
        "n": count.n,
        "n_slow": count.n_slow,
        "n_others": count.n_others,
        "n_others_slow": count.n_others_slow,
    }
