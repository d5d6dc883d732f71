"""The values of a comparison's findings."""

from dataclasses import dataclass

from weft.core.finding import FindingFacts


@dataclass(frozen=True, slots=True)
class EffectFacts(FindingFacts):
    """Arms `first` and `second` at one scale; `ratios` of the sizes that have one."""

    benchmark: str
    n_nodes: int
    tasks_per_node: int
    first: str
    second: str
    sizes_bytes: tuple[int, ...]
    ratios: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class FailureFacts(FindingFacts):
    """Failed launches of a benchmark under an arm."""

    benchmark: str
    arm: str
    n_failed: int


@dataclass(frozen=True, slots=True)
class DriftFacts(FindingFacts):
    """Relative change of the baseline while the study ran, and its p-value."""

    benchmark: str
    change: float
    p: float


@dataclass(frozen=True, slots=True)
class ExclusionFacts(FindingFacts):
    """Samples left out for one reason."""

    n_samples: int
    reason: str
