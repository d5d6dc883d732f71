"""A plan: a study expanded into launches in a fixed, seeded order."""

import itertools
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from weft.bench.model import Launch, Trial
from weft.catalog.load import benchmark
from weft.core.errors import InputError
from weft.core.units import parse_size_range
from weft.study.plan.model import BenchmarkUse, Study
from weft.study.plan.node_sets import choose_node_sets

MAX_LAUNCHES = 1_000_000
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class StudyPlan:
    """`launches` in the order to run. A launch whose repeat is `repeats` or more is a return to
    the baseline at the end of the run, for the drift check only. `interleaved` is False when a
    manual factor forbids switching from launch to launch. `remarks` name folded nodes."""

    trials: tuple[Trial, ...]
    launches: tuple[Launch, ...]
    repeats: int
    interleaved: bool = True
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Arm:
    names: dict[str, str]
    env: dict[str, str]
    options: dict[str, Any]
    manual: tuple[str, ...]


def make_plan(
    study: Study,
    nodes: tuple[str, ...],
    *,
    fold_onto_one_node: bool = False,
) -> StudyPlan:
    """Expand `study` over the available `nodes`.

    `fold_onto_one_node` puts the ranks of all nodes of a trial on `nodes[0]` (if only one machine
    exists). Raises InputError: too few nodes, an unknown benchmark, a benchmark listed twice.
    """
    if not nodes:
        raise InputError("no node to run on", expected="at least one node")
    remarks = _fold_remarks(study, nodes) if fold_onto_one_node else ()
    trials = _trials(study, nodes, fold_onto_one_node)
    return StudyPlan(
        trials=trials,
        launches=_ordered(study, trials),
        repeats=study.repeats,
        interleaved=not any(factor.manual for factor in study.factors),
        remarks=remarks,
    )


def _fold_remarks(study: Study, nodes: tuple[str, ...]) -> tuple[str, ...]:
    counts = ", ".join(str(n) for n in study.nodes)
    return (f"all ranks run on {nodes[0]}: the study asks for {counts} node(s), folded onto one",)


def _trials(study: Study, nodes: tuple[str, ...], fold: bool) -> tuple[Trial, ...]:
    arms = _arms(study)
    n_trials = len(arms) * len(study.nodes) * len(study.tasks_per_node)
    n_trials *= len(study.benchmarks) * study.node_sets
    if n_trials * study.repeats > MAX_LAUNCHES:
        raise InputError(
            f"study '{study.name}' expands into {n_trials * study.repeats} launches",
            expected=f"at most {MAX_LAUNCHES}",
            hint="fewer repeats, node sets or settings",
        )
    uses = [(use, *_sizes_and_options(use)) for use in study.benchmarks]
    _refuse_twice(uses)
    trials: list[Trial] = []
    for n_nodes in study.nodes:
        sets = _node_sets(study, nodes, n_nodes, fold)
        cells = itertools.product(enumerate(sets), study.tasks_per_node, uses, arms)
        for (number, node_set), tasks, (use, sizes, options), arm in cells:
            trials.append(
                Trial(
                    id=f"t{len(trials):03d}-{use.name}",
                    benchmark=use.name,
                    sizes_bytes=sizes,
                    nodes=node_set,
                    tasks_per_node=tasks * n_nodes if fold else tasks,
                    arm=arm.names,
                    env=arm.env,
                    options={**options, **arm.options},
                    node_set=number,
                    timeout_s=study.timeout_s,
                )
            )
    return tuple(trials)


def _node_sets(
    study: Study, nodes: tuple[str, ...], n_nodes: int, fold: bool
) -> tuple[tuple[str, ...], ...]:
    if fold:
        return ((nodes[0],),)
    return choose_node_sets(nodes, n_nodes, study.node_sets, seed=study.seed)


def _sizes_and_options(use: BenchmarkUse) -> tuple[tuple[int, ...], dict[str, Any]]:
    known = benchmark(use.name)
    sizes = use.sizes or known.sizes
    options = {**known.options, **use.options}
    return (parse_size_range(sizes) if sizes else (0,)), options


def _refuse_twice(uses: Sequence[tuple[BenchmarkUse, tuple[int, ...], Any]]) -> None:
    seen: set[tuple[str, int]] = set()
    for use, sizes, _ in uses:
        for size in sizes:
            if (use.name, size) in seen:
                raise InputError(
                    f"benchmark '{use.name}' measures size {size} twice in one study",
                    where="benchmarks",
                    expected="each benchmark and size once, so that a row has one meaning",
                )
            seen.add((use.name, size))


def _arms(study: Study) -> list[_Arm]:
    manual = [factor.name for factor in study.factors if factor.manual]
    arms = []
    for settings in itertools.product(*(factor.settings for factor in study.factors)):
        named = dict(zip((f.name for f in study.factors), settings, strict=True))
        arms.append(
            _Arm(
                names={factor: setting.name for factor, setting in named.items()},
                env=_merged(setting.env for setting in settings),
                options=_merged(setting.options for setting in settings),
                manual=tuple(named[factor].name for factor in manual),
            )
        )
    return arms


def _merged(parts: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    return {key: value for part in parts for key, value in part.items()}


def _ordered(study: Study, trials: tuple[Trial, ...]) -> tuple[Launch, ...]:
    """Manual settings outermost (few switches), then node sets, then pairs of repeats, inside which
    the cells are shuffled and the arms of each cell run forth and back: A B B A. Where there is one
    arm its repeats are spread instead."""
    rng = random.Random(study.seed)  # noqa: S311 - reproducible, not secret
    slots: list[tuple[Trial, int, int]] = []
    block = itertools.count()
    for in_force, repeats in _manual_passes(study):
        chosen = [t for t in trials if _manual_setting(study, t) == in_force]
        for node_set in _shuffled(rng, _grouped(chosen, _node_set_key)):
            slots.extend(_block(rng, node_set, repeats, next(block)))
    slots.extend(_drift_block(rng, study, trials, next(block)))
    return tuple(
        Launch(trial=trial, repeat=repeat, order=order, block=number)
        for order, (trial, repeat, number) in enumerate(slots)
    )


def _manual_passes(study: Study) -> list[tuple[tuple[str, ...], range]]:
    """The manual settings there and back (M1 M2 M2 M1): a steady drift then favours none."""
    every = list(
        itertools.product(*([s.name for s in f.settings] for f in study.factors if f.manual))
    )
    if len(every) == 1:
        return [(every[0], range(study.repeats))]
    half = (study.repeats + 1) // 2
    forth = [(setting, range(half)) for setting in every]
    back = [(setting, range(half, study.repeats)) for setting in reversed(every)]
    return forth + (back if study.repeats > half else [])


def _manual_setting(study: Study, trial: Trial) -> tuple[str, ...]:
    return tuple(trial.arm[factor.name] for factor in study.factors if factor.manual)


def _node_set_key(trial: Trial) -> Any:
    return (len(trial.nodes), trial.node_set)


def _cell_key(trial: Trial) -> Any:
    return (trial.benchmark, trial.sizes_bytes, trial.tasks_per_node)


def _block(
    rng: random.Random, trials: list[Trial], repeats: range, number: int
) -> list[tuple[Trial, int, int]]:
    slots: list[tuple[Trial, int, int]] = []
    cells = _grouped(trials, _cell_key)
    stride = 2 if len(cells[0]) > 1 else 1
    for start in range(repeats.start, repeats.stop, stride):
        pair = range(start, min(start + stride, repeats.stop))
        for cell in _shuffled(rng, cells):
            arms = _shuffled(rng, cell)
            for repeat in pair:
                slots.extend((trial, repeat, number) for trial in arms)
                arms = arms[::-1]
    return slots


def _drift_block(
    rng: random.Random, study: Study, trials: tuple[Trial, ...], number: int
) -> list[tuple[Trial, int, int]]:
    """The baseline arm again, a quarter of the repeats (at most three). A single arm needs none:
    its own repeats span the run."""
    if not study.factors:
        return []
    baseline = {factor.name: factor.settings[0].name for factor in study.factors}
    n_extra = min(3, max(1, study.repeats // 4))
    again = [
        (trial, study.repeats + extra, number)
        for trial in trials
        for extra in range(n_extra)
        if dict(trial.arm) == baseline
    ]
    return _shuffled(rng, again)


def _grouped(trials: Sequence[Trial], key: Callable[[Trial], Any]) -> list[list[Trial]]:
    groups: dict[Any, list[Trial]] = {}
    for trial in trials:
        groups.setdefault(key(trial), []).append(trial)
    return list(groups.values())


def _shuffled(rng: random.Random, items: list[_T]) -> list[_T]:
    return rng.sample(items, len(items))
