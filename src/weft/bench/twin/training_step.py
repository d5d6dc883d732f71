"""A step of training on a twin: computing of a known length, and allreduces that it hides in part.

Gradients are ready in the order of the backward pass, those of a part of the model at a constant
rate. A bucket goes out once all of it is ready and the one before is done.

SOURCE: horovod/horovod, docs/tensor-fusion.rst: a cycle joins the gradients that are ready.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from weft.bench.metrics import Metrics
from weft.bench.model import Trial
from weft.catalog.benchmark import Benchmark
from weft.catalog.libraries.training_model import Framework, TrainingModel, synthetic_benchmarks
from weft.catalog.machine.platform import Platform
from weft.core.errors import InputError


def is_training(benchmark: Benchmark) -> bool:
    """Whether a benchmark is a step of training."""
    return "framework" in benchmark.options


@dataclass(frozen=True, slots=True)
class TrainingStep:
    """The buckets of a step in bytes, the times in ns from its start at which each is ready, and
    the time of its computing."""

    buckets: tuple[int, ...]
    ready_ns: tuple[float, ...]
    compute_ns: float
    batch: int

    @property
    def sizes(self) -> tuple[int, ...]:
        """The different sizes of the buckets: an allreduce of one size takes one time."""
        return tuple(dict.fromkeys(self.buckets))

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
            f"{trial.benchmark} without GPUs",
            where=f"trial {trial.id}",
            expected="option 'gpu_network' on a twin whose platform has GPUs",
        )
    model = known.model(str(options["model"]))
    framework = known.framework(str(options["framework"]))
    compute_ns = known.compute_ns(model, platform.gpus.architecture)
    backward_ns = known.backward_share.value * compute_ns
    buckets = list(buckets_of(model, framework, backward_ns))
    sizes = tuple(size for size, _ in buckets)
    ready_ns = tuple(compute_ns - backward_ns + time_ns for _, time_ns in buckets)
    return TrainingStep(sizes, ready_ns, compute_ns, known.batch.whole)


def buckets_of(
    model: TrainingModel, framework: Framework, backward_ns: float
) -> Iterator[tuple[int, float]]:
    """The step's allreduces: (bytes, time in ns of the backward pass at which they can go out)."""
    if framework.cycle is not None:
        yield from _by_cycle(model, framework.bytes.whole, framework.cycle.value, backward_ns)
        return
    sent, most = 0, (framework.first_bytes or framework.bytes).whole
    while sent < model.gradient_bytes:
        size = min(most, model.gradient_bytes - sent)
        sent += size
        yield size, model.backward_share(sent) * backward_ns
        most = framework.bytes.whole


def _by_cycle(
    model: TrainingModel, most: int, cycle_ns: float, backward_ns: float
) -> Iterator[tuple[int, float]]:
    """Of each cycle from the start of the backward pass on, the gradients ready in it."""
    sent = cycles = 0
    while sent < model.gradient_bytes:
        cycles += 1
        now_ns = cycles * cycle_ns
        ready = model.ready_bytes(now_ns / backward_ns)
        for first in range(sent, ready, most):
            yield min(most, ready - first), now_ns
        sent = ready
