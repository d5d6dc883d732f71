"""Which layouts of a model fit on so many GPUs, fastest first."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from weft.catalog.libraries.model_document import ModelDocument, TransformerShape
from weft.catalog.libraries.training_gpus import TrainingGpu
from weft.core.errors import InputError
from weft.train.layout import DIMENSIONS, ModelLayout, Recompute, StepMethod, check_layout
from weft.train.memory import MemorySum, memory_sum
from weft.train.prices import CollectivePrices
from weft.train.step_constants import StepConstants
from weft.train.step_time import StepModel, StepTime, step_time

PIPELINES = (1, 2, 3, 4, 5, 6, 8, 10, 12, 14, 16, 20, 24, 32)
CONTEXTS = (1, 2, 4, 8)
VIRTUAL = (1, 2, 4, 8)
MICRO_BATCHES = (1, 2, 4, 8)
RECOMPUTE: tuple[Recompute, ...] = ("none", "full")
LEAST_CONTEXT_TOKENS = 2048
"""Of a sequence on one GPU, below which CP splits no further."""
PRICED = 400
"""Layouts that are priced, those with the least work beside computing first."""

_MOST_AWAY = 64
"""So far from a dimension that cannot be another one is looked for."""


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """What a plan is asked: `fixed` dimensions by name; `batch` sequences a step; `recompute` as
    given, else any."""

    model: ModelDocument
    shape: TransformerShape
    n_gpus: int
    batch: int
    method: StepMethod
    fixed: dict[str, int]
    recompute: Recompute | None = None


@dataclass(frozen=True, slots=True)
class PlannedLayout:
    """A layout that fits: its memory and its step."""

    layout: ModelLayout
    method: StepMethod
    memory: MemorySum
    step: StepTime

    @property
    def words(self) -> str:
        """What `weft train expect` is to be asked for this one: the layout, and what `layout.words`
        leaves out."""
        again = self.method.recompute
        more = f", micro-batch {self.layout.micro_batch}" if self.layout.micro_batch > 1 else ""
        return self.layout.words + more + (f", recompute {again}" if again != "none" else "")

    @property
    def tokens_per_s(self) -> float:
        """Sequences of a step over its time, to be multiplied by the sequence's length."""
        return self.layout.global_batch / self.step.seconds


@dataclass(frozen=True, slots=True)
class LayoutSearch:
    """`fitting` and priced, fastest first; how many were tried, and how many fit; the one that
    needs the least memory, and of those that compute nothing again, None where none was tried."""

    fitting: tuple[PlannedLayout, ...]
    n_tried: int
    n_fit: int
    least: tuple[ModelLayout, StepMethod, MemorySum]
    least_whole: MemorySum | None

    @property
    def needs_recompute(self) -> bool:
        """Whether layouts fit, but none that keeps all activations."""
        return self.n_fit > 0 and self.least_whole is not None and not self.least_whole.fits


def search_layouts(
    request: PlanRequest, prices: CollectivePrices, gpu: TrainingGpu, constants: StepConstants
) -> LayoutSearch:
    """All layouts of a request. Raises InputError where none can be at all."""
    tried: list[tuple[ModelLayout, StepMethod, MemorySum]] = []
    for layout in _layouts(request, prices.gpus_per_node):
        for recompute in (request.recompute,) if request.recompute else RECOMPUTE:
            method = replace(request.method, recompute=recompute)
            found = memory_sum(request.shape, layout, method, gpu, request.model.sequence)
            tried.append((layout, method, found))
    if not tried:
        raise _no_layout(request, prices.gpus_per_node)
    fitting = [one for one in tried if one[2].fits]
    fitting.sort(key=_burden)
    planned = [
        PlannedLayout(layout, method, memory, step_time(step))
        for layout, method, memory in fitting[:PRICED]
        for step in [
            StepModel(request.model, request.shape, layout, method, prices, gpu, constants)
        ]
    ]
    planned.sort(key=lambda one: one.step.seconds)
    least = min(tried, key=lambda one: one[2].total)
    whole = [memory for _, method, memory in tried if method.recompute == "none"]
    least_whole = min(whole, key=lambda memory: memory.total, default=None)
    return LayoutSearch(tuple(planned), len(tried), len(fitting), least, least_whole)


def _burden(one: tuple[ModelLayout, StepMethod, MemorySum]) -> tuple[float, int]:
    """A rough order: computing again, bubble, then how finely work is split."""
    layout, method, _ = one
    bubble = (layout.pp - 1) / (layout.vp * layout.ga)
    again = 0.3 if method.recompute == "full" else 0.0
    return again + bubble + 0.02 * layout.tp, layout.cp * layout.pp


def _layouts(request: PlanRequest, gpus_per_node: int) -> Iterator[ModelLayout]:
    for base in _splits(request, gpus_per_node):
        yield from _of_replicas(request, base)


def _splits(request: PlanRequest, gpus_per_node: int) -> Iterator[ModelLayout]:
    """Splits of the GPUs into TP, PP, CP and replicas."""
    fixed, n, shape = request.fixed, request.n_gpus, request.shape
    contexts = [cp for cp in CONTEXTS if request.model.sequence // cp >= LEAST_CONTEXT_TOKENS]
    for tp in _choice(fixed, "tp", [t for t in (1, 2, 4, 8) if t <= gpus_per_node]):
        for pp in _choice(fixed, "pp", [p for p in PIPELINES if p <= shape.layers]):
            for cp in _choice(fixed, "cp", contexts or [1]):
                if n % (tp * pp * cp) == 0:
                    yield ModelLayout(n, tp=tp, pp=pp, cp=cp)


def _of_replicas(request: PlanRequest, base: ModelLayout) -> Iterator[ModelLayout]:
    experts = request.shape.experts
    ways = [1] if experts is None else [e for e in (1, 2, 4, 8, 16, 32, 64) if e <= experts.count]
    base = replace(base, etp=request.fixed.get("etp", 0))
    for ep in _choice(request.fixed, "ep", ways):
        for micro_batch in _choice(request.fixed, "micro_batch", list(MICRO_BATCHES)):
            if request.batch % (micro_batch * base.dp):
                continue
            ga = request.batch // (micro_batch * base.dp)
            for vp in _choice(request.fixed, "vp", list(VIRTUAL) if base.pp > 1 else [1]):
                layout = replace(base, ep=ep, vp=vp, micro_batch=micro_batch, ga=ga)
                if _is_possible(request, layout):
                    yield layout


def _is_possible(request: PlanRequest, layout: ModelLayout) -> bool:
    try:
        check_layout(request.model, request.shape, layout)
    except InputError:
        return False
    return True


def _choice(fixed: dict[str, int], name: str, values: list[int]) -> list[int]:
    return [fixed[name]] if name in fixed else values


def _no_layout(request: PlanRequest, gpus_per_node: int) -> InputError:
    """Why no layout can be. Raises InputError of a fixed dimension that cannot be, whatever the
    others are."""
    fixed = dict(request.fixed)
    if "pp" not in fixed:
        fixed.pop("vp", None)
    layout = ModelLayout(request.n_gpus, **fixed, ga=fixed.get("pp", 1))
    check_layout(request.model, request.shape, layout)
    what = f"no layout of {request.model.name} on {request.n_gpus} GPUs for"
    what += f" {request.batch} sequences a step"
    near = _nearest_batch(request, gpus_per_node)
    if near is None:
        given = " ".join(f"--{name.replace('_', '-')} {n}" for name, n in request.fixed.items())
        return InputError(
            f"{what} with {given}",
            expected="options that one layout of the search fulfils together",
            hint=next(_nearest_values(request, gpus_per_node), "fix fewer of them"),
        )
    return InputError(
        what,
        expected="sequences that replicas x micro-batches divide",
        hint=f"the nearest possible value is --global-batch {near}",
    )


def _nearest_values(request: PlanRequest, gpus_per_node: int) -> Iterator[str]:
    """Of each fixed dimension the value next to the given one of which some layout can be."""
    for name, value in request.fixed.items():
        away = (step for n in range(1, _MOST_AWAY + 1) for step in (-n, n))
        for other in (value + step for step in away if value + step > 0):
            tried = replace(request, fixed={**request.fixed, name: other})
            if next(_layouts(tried, gpus_per_node), None) is not None:
                yield f"the nearest possible value is --{name.replace('_', '-')} {other}"
                break


def _nearest_batch(request: PlanRequest, gpus_per_node: int) -> int | None:
    """The number of sequences a step next to the wanted one of which some layout can be."""
    turns = request.fixed.get("vp", 1) > 1
    units = {
        base.dp * micro_batch * (base.pp if turns else 1)
        for base in _splits(request, gpus_per_node)
        for micro_batch in _choice(request.fixed, "micro_batch", list(MICRO_BATCHES))
    }
    near = {max(1, round(request.batch / unit)) * unit for unit in units}
    for batch in sorted(near, key=lambda one: (abs(one - request.batch), one)):
        if next(_layouts(replace(request, batch=batch), gpus_per_node), None) is not None:
            return batch
    return None


def exposed_total(step: StepTime) -> float:
    """Seconds of all exchanges that computing does not hide."""
    return sum(step.exposed[name] for name in DIMENSIONS)
