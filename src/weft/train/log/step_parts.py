"""Which part of the step differs between two jobs, as far as the model of a step says."""

from dataclasses import dataclass

from weft.core.finding import Finding, FindingFacts, FindingKind, Severity
from weft.core.units import format_significant
from weft.stats.summary import Summary
from weft.train.log.judged_run import percent
from weft.train.step_time import PARTS, StepModel, StepTime

EXPLAINED = 0.5
"""Where the model leaves more than this share of the difference open, it does not say which part
moved."""
LEAST_CHANGE = 0.02
"""A smaller difference of two steps is too small to divide: launches differ by as much."""
_NAMED = 3


@dataclass(frozen=True, slots=True)
class PricedStep:
    """One job: its step as the model prices it, and as its log has it, None without a log."""

    step: StepModel
    time: StepTime
    measured: Summary | None = None

    @property
    def tokens_per_gpu(self) -> float:
        """Of a step."""
        return self.step.layout.global_batch * self.step.sequence / self.step.layout.n_gpus


@dataclass(frozen=True, slots=True)
class PartChange:
    """Seconds of a part in both jobs; the second's at the first's tokens a GPU."""

    name: str
    first: float
    second: float

    @property
    def change(self) -> float:
        """How much longer it takes in the second."""
        return self.second - self.first


@dataclass(frozen=True, slots=True)
class StepDifference:
    """Two priced jobs. `scale`: what the second's seconds are multiplied by, so that a GPU has as
    many tokens in both. `parts` are the model's; `measured` and `unexplained` are None without
    logs, and `low` and `high` bound the change of the measured step for these two launches."""

    jobs: tuple[PricedStep, PricedStep]
    scale: float
    parts: tuple[PartChange, ...]
    model: PartChange
    measured: PartChange | None
    unexplained: PartChange | None
    low: float
    high: float

    @property
    def whole(self) -> PartChange:
        """The step: by the logs, else by the model."""
        return self.measured or self.model


@dataclass(frozen=True, slots=True)
class StepPartFacts(FindingFacts):
    """Seconds by which each part of a step grows from the first job to the second."""

    change_s: float
    parts_s: dict[str, float]
    unexplained_s: float | None


@dataclass(frozen=True, slots=True)
class ExpectedSpeedUpFacts(FindingFacts):
    """`ratio`: tokens/s that the model expects of the second job over those of the first."""

    ratio: float
    efficiency: float


def step_difference(first: PricedStep, second: PricedStep) -> StepDifference:
    """The difference of two jobs, both with a log or both without one."""
    scale = first.tokens_per_gpu / second.tokens_per_gpu
    parts = tuple(
        PartChange(name, seconds, scale * second.time.parts[name])
        for name, seconds in first.time.parts.items()
    )
    model = PartChange("model", first.time.seconds, scale * second.time.seconds)
    before, after = first.measured, second.measured
    if before is None or after is None:
        return StepDifference((first, second), scale, parts, model, None, None, 0.0, 0.0)
    measured = PartChange("measured", before.median, scale * after.median)
    unexplained = PartChange(
        "unexplained", measured.first - model.first, measured.second - model.second
    )
    return StepDifference(
        (first, second),
        scale,
        parts,
        model,
        measured,
        unexplained,
        low=scale * after.ends[0] - before.ends[1],
        high=scale * after.ends[1] - before.ends[0],
    )


def part_finding(found: StepDifference) -> Finding:
    """Which part of the step moved, or why the model does not say."""
    whole, open_ = found.whole, found.unexplained
    facts = StepPartFacts(
        change_s=whole.change,
        parts_s={one.name: one.change for one in found.parts},
        unexplained_s=open_.change if open_ is not None else None,
    )
    is_small = abs(whole.change) < LEAST_CHANGE * whole.first
    if is_small or (open_ is not None and found.low <= 0 <= found.high):
        sentence = f"the steps differ by {_signed(whole.change)}: too little to divide into parts"
        return Finding(FindingKind.NO_DIFFERENCE, Severity.NOTE, sentence, facts=facts)
    if open_ is not None and abs(open_.change) > EXPLAINED * abs(whole.change):
        sentence = (
            f"the model does not say which part of the step moved: it expects"
            f" {_signed(found.model.change)}, the logs differ by {_signed(whole.change)}"
        )
        return Finding(FindingKind.NOT_JUDGED, Severity.NOTE, sentence, facts=facts)
    largest = sorted(found.parts, key=lambda one: -abs(one.change))[:_NAMED]
    moved = [
        f"{PARTS[one.name]} {_signed(one.change)}"
        for one in largest
        if abs(one.change) >= 0.05 * abs(whole.change)
    ]
    if open_ is not None:
        moved.append(f"not explained {_signed(open_.change)}")
    more = "more" if whole.change > 0 else "less"
    by_model = " by the model" if open_ is None else ""
    sentence = (
        f"a step of the second takes {_signed(whole.change)[1:]} {more}{by_model}:"
        f" {', '.join(moved)}"
    )
    return Finding(FindingKind.EXPLANATION, Severity.NOTE, sentence, facts=facts)


def not_priced() -> Finding:
    """What weft needs to say which part of the step moved."""
    sentence = (
        "which part of the step moved is not judged: --platform, --model and --precision, and the"
        " layout where a log does not state it, would price both"
    )
    return Finding(FindingKind.NOT_JUDGED, Severity.NOTE, sentence)


def expected_finding(found: StepDifference) -> Finding:
    """How much faster the model expects the second of two jobs without logs."""
    first, second = (one.step.layout.n_gpus for one in found.jobs)
    efficiency = found.model.first / found.model.second
    ratio = efficiency * second / first
    word = "faster" if ratio > 1 else "slower"
    sentence = f"the model expects the second {word}: {format_significant(ratio, 3)} x the tokens/s"
    if first != second:
        sentence += f" on {second / first:g} x the GPUs: scaling efficiency {percent(efficiency)}"
    facts = ExpectedSpeedUpFacts(ratio=ratio, efficiency=efficiency)
    return Finding(FindingKind.ANSWER, Severity.NOTE, sentence, facts=facts)


def _signed(seconds: float) -> str:
    """'+1.2 s' or '-310 ms'."""
    sign, size = "+" if seconds >= 0 else "-", abs(seconds)
    if size >= 1:
        return f"{sign}{format_significant(size, 3)} s"
    return f"{sign}{format_significant(1e3 * size, 3)} ms"
