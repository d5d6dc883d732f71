"""A step of training on a twin: computing of a known length, and allreduces that it hides in part.

Gradients are ready in the order of the backward pass, those of a part of the model at a constant
rate. A bucket goes out once all of it is ready and the one before is done.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from weft.bench.metrics import Metrics
from weft.bench.model import Trial
from weft.catalog.libraries.training_model import (
    GRADIENT_BYTES,
    Framework,
    TrainingModel,
    synthetic_benchmarks,
)
from weft.catalog.machine.platform import Platform
from weft.core.errors import InputError

BENCHMARK = "training_step"


@dataclass(frozen=True, slots=True)
class TrainingStep:
    """The buckets of a step in bytes, the times in ns from its start at which each is ready, and
    the time of its computing."""

    buckets: tuple[int, ...]
    ready_ns: tuple[float, ...]
    compute_ns: float
    batch: int

    def time_ns(self, allreduce_ns: Sequence[float]) -> float:
        """The time of the step, with the time of each bucket's allreduce."""
        done = 0.0
        for ready, taken in zip(self.ready_ns, allreduce_ns, strict=True):
            done = max(ready, done) + taken
        return max(self.compute_ns, done)

    def metrics(self, allreduce_ns: Sequence[float], n_ranks: int) -> Metrics:
        """`step_us`; `images_per_s` of all ranks; `scaling_efficiency`, their share of as many
        GPUs alone."""
        step_ns = self.time_ns(allreduce_ns)
        return {
            "step_us": step_ns / 1e3,
            "images_per_s": n_ranks * self.batch / step_ns * 1e9,
            "scaling_efficiency": self.compute_ns / step_ns,
        }


def training_step(platform: Platform, trial: Trial, defaults: Mapping[str, Any]) -> TrainingStep:
    """The step of the trial's options `model` and `framework`. Raises InputError."""
    known = synthetic_benchmarks()
    options = {**defaults, **trial.options}
    if "gpu_network" not in options or platform.gpus is None:
        raise InputError(
            f"{BENCHMARK} without GPUs",
            where=f"trial {trial.id}",
            expected="option 'gpu_network' on a twin whose platform has GPUs",
        )
    model = known.model(str(options["model"]))
    buckets = buckets_of(model, known.framework(str(options["framework"])))
    compute_ns = known.compute_ns(model, platform.gpus.architecture)
    forward_ns = compute_ns * (1 - known.backward_share)
    sent, ready_ns = 0, []
    for n_bytes in buckets:
        sent += n_bytes
        share = backward_share(model, sent)
        ready_ns.append(forward_ns + share * (compute_ns - forward_ns))
    return TrainingStep(buckets, tuple(ready_ns), compute_ns, known.batch)


def buckets_of(model: TrainingModel, framework: Framework) -> tuple[int, ...]:
    """The sizes of a step's allreduces."""
    remaining, sizes = model.gradient_bytes, []
    most = framework.first_bytes
    while remaining > 0:
        sizes.append(min(most, remaining))
        remaining -= sizes[-1]
        most = framework.bytes
    return tuple(sizes)


def backward_share(model: TrainingModel, n_bytes: int) -> float:
    """The share of the backward pass after which so many bytes of gradients are ready."""
    whole, done = sum(part.multiplications for part in model.parts), 0.0
    for part in reversed(model.parts):
        own = GRADIENT_BYTES * part.parameters
        share = min(1.0, n_bytes / own)
        done += share * part.multiplications
        n_bytes -= own
        if n_bytes <= 0:
            break
    return done / whole
