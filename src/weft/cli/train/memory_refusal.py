"""Refusals of layouts that no GPU holds: the memory sum by part, and what would fit."""

from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import replace

from weft.core.errors import InputError
from weft.core.words import counted
from weft.train.layout import check_layout
from weft.train.layout_search import LayoutSearch, PlanRequest
from weft.train.memory import USABLE_SHARE, MemorySum, memory_sum
from weft.train.published import resized, shape_of
from weft.train.step_time import StepModel

MOST_DOUBLINGS = 9
"""Of the GPUs, in search of a number that suffices."""

Fits = Callable[[int, int], bool]
"""Whether a layout fits, by GPUs and layers."""


def refuse_too_large(step: StepModel, memory: MemorySum) -> None:
    """Raises InputError of a step that its GPUs cannot hold."""
    if memory.fits:
        return
    ways = list(_ways_of_step(step))
    hint = f"try {', or '.join(ways)}; --ignore-memory" if ways else "--ignore-memory"
    raise InputError(
        f"{_subject(step.model.name, step.shape.layers, step.layout.n_gpus)} with"
        f" {step.layout.words}{_again(step.method.recompute)}: {memory.words}",
        expected=_expected(memory),
        hint=f"{hint} prices the step all the same",
    )


def nothing_fits(request: PlanRequest, found: LayoutSearch, fits: Fits) -> InputError:
    """The refusal of a plan, with the least number of GPUs and the most layers, by doubling and
    halving, for which a layout fits."""
    layout, method, memory = found.least
    layers = request.shape.layers
    gpus = (request.n_gpus * 2**power for power in range(1, MOST_DOUBLINGS))
    fewer = (layers >> power for power in range(1, layers.bit_length()))
    more = next((n for n in gpus if fits(n, layers)), None)
    less = next((n for n in fewer if fits(request.n_gpus, n)), None)
    ways = [f"--gpus {more}"] * (more is not None)
    ways += [_proxy(less)] if less is not None else []
    return InputError(
        f"{_subject(request.model.name, layers, request.n_gpus)} in any of {found.n_tried} layouts;"
        f" the least memory is that of {layout.words}{_again(method.recompute)}: {memory.words}",
        expected=_expected(memory),
        hint=f"try {', or '.join(ways)}" if ways else None,
    )


def _subject(model: str, layers: int, n_gpus: int) -> str:
    return f"{model} with {layers} layers does not fit on {counted(n_gpus, 'GPU')}"


def _again(recompute: str) -> str:
    return f", recompute {recompute}" if recompute != "none" else ""


def _expected(memory: MemorySum) -> str:
    return f"{USABLE_SHARE * memory.capacity / 1e9:.0f} GB or less"


def _proxy(layers: int) -> str:
    return f"a proxy of fewer layers: --layers {layers}"


def _ways_of_step(step: StepModel) -> Iterator[str]:
    """Changes of one option with which the same layout fits."""
    method = replace(step.method, recompute="full")
    if step.method.recompute != "full" and _fits(replace(step, method=method)):
        yield "--recompute full"
    doubled = (step.layout.n_gpus * 2**power for power in range(1, MOST_DOUBLINGS))
    for n_gpus in doubled:
        if _fits(replace(step, layout=replace(step.layout, n_gpus=n_gpus))):
            yield f"--gpus {n_gpus}"
            break
    layers = _most_layers(step)
    if layers:
        yield _proxy(layers)


def _most_layers(step: StepModel) -> int:
    """The most layers of which the same layout fits; 0 where none do. Each takes memory, so the
    numbers that fit lie below those that do not."""
    layout = step.layout
    unit = layout.pp * layout.vp if layout.vp > 1 else 1
    possible = range(max(unit, layout.pp), step.shape.layers, unit)

    def is_too_large(layers: int) -> bool:
        model = resized(step.model, layers=layers)
        return not _fits(replace(step, model=model, shape=shape_of(model)))

    n_fit = bisect_left(possible, True, key=is_too_large)
    return possible[n_fit - 1] if n_fit else 0


def _fits(step: StepModel) -> bool:
    try:
        check_layout(step.model, step.shape, step.layout)
    except InputError:
        return False
    return memory_sum(step.shape, step.layout, step.method, step.gpu, step.sequence).fits
