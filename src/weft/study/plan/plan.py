"""A plan: a study expanded into launches in a fixed, seeded order."""

import itertools
import math
import random
from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from weft.bench.aggressor import named_nodes
from weft.bench.model import Launch, Trial
from weft.catalog.load import benchmark
from weft.core.errors import InputError
from weft.core.units import parse_size_range
from weft.core.words import counted
from weft.study.plan.model import BenchmarkUse, FactorSetting, Study

MAX_LAUNCHES = 1_000_000
PACKED, SCATTERED, RANDOM_ORDER = PLACEMENTS = ("packed", "scattered", "random-order")
"""Which nodes a job gets, of those there are."""
PLACEMENT = "placement"
"""The option that says it."""
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
    condition: dict[str, str]
    env: dict[str, str]
    options: dict[str, Any]
    placement: str = SCATTERED


def make_plan(
    study: Study,
    nodes: tuple[str, ...],
    *,
    fold_onto_one_node: bool = False,
    is_simulated: bool = False,
) -> StudyPlan:
    """Expand `study` over the available `nodes`.

    A simulated fabric does not drift: no launch returns to the baseline. `fold_onto_one_node` puts
    the ranks of all nodes of a trial on `nodes[0]` (if only one machine exists). Raises InputError:
    too few nodes, an unknown benchmark, a benchmark listed twice.
    """
    if not nodes:
        raise InputError("no node to run on", expected="at least one node")
    remarks: tuple[str, ...] = ()
    if fold_onto_one_node:
        counts = ", ".join(str(n) for n in study.nodes)
        asked = f"the study asks for {counts} node(s), folded onto one"
        remarks = (f"all ranks run on {nodes[0]}: {asked}",)
    if (1, 1) in _cells_of(study) and not _is_single(study):
        remarks = (*remarks, "one node with one task a node is left out: one rank sends nothing")
    trials = _trials(study, nodes, fold_onto_one_node)
    return StudyPlan(
        trials=trials,
        launches=_ordered(study, trials, drifts=not is_simulated),
        repeats=study.repeats,
        interleaved=not study.blocked_factors,
        remarks=remarks,
    )


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
    uses = [
        (use, sizes_of(use), {**benchmark(use.name).options, **use.options})
        for use in study.benchmarks
    ]
    _refuse_twice(uses)
    trials: list[Trial] = []
    # Nodes that an aggressor names are its own, in the arms without it, too.
    taken = frozenset(node for arm in arms for node in named_nodes(arm.options))
    if not fold:
        nodes = tuple(node for node in nodes if node not in taken)
        if not nodes:
            raise InputError(
                "aggressors name every node",
                where=f"study '{study.name}'",
                expected="nodes that are left for the job",
            )
    for n_nodes in study.nodes:
        folded: tuple[tuple[str, ...], ...] = ((nodes[0],),)
        tasks_of = [n for n in study.tasks_per_node if n_nodes * n > 1 or _is_single(study)]
        placed = {
            one: choose_node_sets(nodes, n_nodes, study.node_sets, seed=study.seed, placement=one)
            if not fold
            else folded
            for one in dict.fromkeys(arm.placement for arm in arms)
        }
        _refuse_alike(placed, n_nodes)
        n_sets = 1 if fold else study.node_sets
        cells = itertools.product(range(n_sets), tasks_of, uses, arms)
        for number, tasks, (use, sizes, options), arm in cells:
            trials.append(
                Trial(
                    id=f"t{len(trials):03d}-{use.name}",
                    benchmark=use.name,
                    sizes_bytes=sizes,
                    nodes=placed[arm.placement][number],
                    tasks_per_node=tasks * n_nodes if fold else tasks,
                    arm=arm.names,
                    condition=arm.condition,
                    env=arm.env,
                    options={**options, **arm.options},
                    node_set=number,
                    timeout_s=study.timeout_s,
                )
            )
    return tuple(trials)


def _refuse_alike(placed: Mapping[str, tuple[tuple[str, ...], ...]], n_nodes: int) -> None:
    """Placements that get the same nodes in the same order would look equal."""
    for (one, sets), (other, others) in itertools.combinations(placed.items(), 2):
        if sets == others:
            raise InputError(
                f"placements '{one}' and '{other}' of {counted(n_nodes, 'node')} are the same",
                expected="placements that differ: more nodes than a job uses",
                hint="name more nodes (--nodes, --hosts), or use fewer with --job-nodes",
            )


def _cells_of(study: Study) -> list[tuple[int, int]]:
    return list(itertools.product(study.nodes, study.tasks_per_node))


def _is_single(study: Study) -> bool:
    """Whether the study asks for a single rank alone: a backend refuses it with its reason."""
    return set(_cells_of(study)) == {(1, 1)}


def choose_node_sets(
    nodes: tuple[str, ...],
    n_nodes: int,
    n_sets: int,
    *,
    seed: int,
    placement: str = SCATTERED,
) -> tuple[tuple[str, ...], ...]:
    """`n_sets` different sets of `n_nodes` of `nodes`.

    Scattered and in random order they are cut from seeded shuffles of all nodes, so that they are
    disjoint as long as nodes last: they say most about sets like these; scattered ones keep the
    order of `nodes`. Packed ones are runs of neighbours in that order. Raises InputError when there
    are too few nodes, and for another placement.
    """
    if n_nodes > len(nodes):
        raise InputError(
            f"the study needs {n_nodes} nodes, {len(nodes)} available",
            expected=f"at least {n_nodes} nodes",
            hint="name more with --nodes or --hosts, or use fewer with --job-nodes",
        )
    if placement not in PLACEMENTS:
        what = f"option 'placement' is {placement!r}"
        raise InputError(what, expected=", ".join(PLACEMENTS))
    packed = placement == PACKED
    n_possible = len(nodes) - n_nodes + 1 if packed else math.comb(len(nodes), n_nodes)
    if n_sets > n_possible:
        kind = "different packed" if packed else "different"
        raise InputError(
            f"the study needs {n_sets} {kind} sets of {n_nodes} of {len(nodes)} nodes",
            expected=f"at most {n_possible} set{'' if n_possible == 1 else 's'}",
            hint="draw fewer with --node-sets, or from more nodes (--nodes, --hosts, --job-nodes)",
        )
    rng = random.Random(f"{seed}/{n_nodes}")  # noqa: S311 - reproducible, not secret
    if packed:
        begins = [0] if n_sets == 1 else _packed_begins(rng, len(nodes), n_nodes, n_sets)
        return tuple(nodes[begin : begin + n_nodes] for begin in begins)
    sets: dict[frozenset[int], tuple[int, ...]] = {}
    while len(sets) < n_sets:
        shuffled = rng.sample(range(len(nodes)), len(nodes))
        for start in range(0, len(nodes) - n_nodes + 1, n_nodes):
            drawn = shuffled[start : start + n_nodes]
            chosen = tuple(drawn if placement == RANDOM_ORDER else sorted(drawn))
            if len(sets) < n_sets:
                sets.setdefault(frozenset(drawn), chosen)
    return tuple(tuple(nodes[i] for i in chosen) for chosen in sets.values())


def _packed_begins(rng: random.Random, n_all: int, n_nodes: int, n_sets: int) -> list[int]:
    """Places of different runs of neighbours, which share no node as long as nodes last."""
    spare = n_all - n_sets * n_nodes
    if spare < 0:
        return rng.sample(range(n_all - n_nodes + 1), n_sets)
    gaps = sorted(rng.sample(range(spare + n_sets), n_sets))
    return _shuffled(rng, [gap + i * (n_nodes - 1) for i, gap in enumerate(gaps)])


def sizes_of(use: BenchmarkUse) -> tuple[int, ...]:
    """The sizes that a study measures; 0 for a benchmark without sizes. Raises InputError."""
    sizes = use.sizes or benchmark(use.name).sizes
    return parse_size_range(sizes) if sizes else (0,)


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
    arms = []
    for settings in itertools.product(*(factor.settings for factor in study.factors)):
        _refuse_conflicts(study, settings)
        options = dict(ChainMap(*(one.options for one in reversed(settings))))
        placement = str(options.pop(PLACEMENT, SCATTERED))
        chosen = list(zip(study.factors, settings, strict=True))
        names = {factor.name: one.name for factor, one in chosen if not factor.condition}
        condition = {factor.name: one.name for factor, one in chosen if factor.condition}
        env = dict(ChainMap(*(one.env for one in reversed(settings))))
        arms.append(_Arm(names, condition, env, options, placement))
    return arms


def _refuse_conflicts(study: Study, settings: Sequence[FactorSetting]) -> None:
    """Two settings of an arm that give one option or variable two values exclude each other."""
    given: dict[tuple[str, str], tuple[str, Any]] = {}
    for factor, one in zip(study.factors, settings, strict=True):
        named = f"{factor.name}={one.name}"
        for kind, values in (("option", one.options), ("variable", one.env)):
            for key, value in values.items():
                other, before = given.setdefault((kind, key), (named, value))
                if before != value:
                    raise InputError(
                        f"{other} and {named} exclude each other: {kind} '{key}' is "
                        f"{before!r} and {value!r}",
                        where=f"study '{study.name}'",
                        expected="one factor that sets it",
                    )


def _ordered(study: Study, trials: tuple[Trial, ...], *, drifts: bool) -> tuple[Launch, ...]:
    """Manual settings outermost (few switches), then node sets, then pairs of repeats, inside which
    the cells are shuffled and the arms of each cell run forth and back: A B B A. Where there is one
    arm its repeats are spread instead."""
    rng = random.Random(study.seed)  # noqa: S311 - reproducible, not secret
    slots: list[tuple[Trial, int, int]] = []
    block = itertools.count()
    for in_force, repeats in _manual_passes(study):
        chosen = [trial for trial in trials if _manual_names(study, trial) == in_force]
        for node_set in _shuffled(rng, _grouped(chosen, lambda t: (len(t.nodes), t.node_set))):
            slots.extend(_block(rng, node_set, repeats, next(block)))
    if drifts:
        slots.extend(_drift_block(rng, study, trials, next(block)))
    return tuple(
        Launch(trial=trial, repeat=repeat, order=order, block=number)
        for order, (trial, repeat, number) in enumerate(slots)
    )


def _manual_passes(study: Study) -> list[tuple[tuple[str, ...], range]]:
    """The manual settings there and back (M1 M2 M2 M1): a steady drift then favours none."""
    every = _manual_settings(study)
    if len(every) == 1:
        return [(every[0], range(study.repeats))]
    half = (study.repeats + 1) // 2
    forth = [(setting, range(half)) for setting in every]
    back = [(setting, range(half, study.repeats)) for setting in reversed(every)]
    return forth + (back if study.repeats > half else [])


def _manual_settings(study: Study) -> list[tuple[str, ...]]:
    return list(
        itertools.product(*([s.name for s in f.settings] for f in study.factors if f.manual))
    )


def _manual_names(study: Study, trial: Trial) -> tuple[str, ...]:
    return tuple(trial.setting(factor.name) for factor in study.factors if factor.manual)


def _block(
    rng: random.Random, trials: list[Trial], repeats: range, number: int
) -> list[tuple[Trial, int, int]]:
    slots: list[tuple[Trial, int, int]] = []
    cells = _grouped(
        trials,
        lambda t: (t.benchmark, t.sizes_bytes, t.tasks_per_node, tuple(t.condition.items())),
    )
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
    """The baseline arm again, a quarter of the repeats (at most three), each manual setting at
    once, the one in force first. A single arm needs none: its own repeats span the run."""
    compared = [factor for factor in study.factors if not factor.condition]
    if not compared:
        return []
    baseline = {factor.name: factor.settings[0].name for factor in compared}
    n_extra = min(3, max(1, study.repeats // 4))
    again = [
        (trial, study.repeats + extra, number)
        for trial in trials
        for extra in range(n_extra)
        if dict(trial.arm) == baseline
    ]
    in_force = {names: number for number, names in enumerate(_manual_settings(study))}
    return sorted(_shuffled(rng, again), key=lambda slot: in_force[_manual_names(study, slot[0])])


def _grouped(trials: Sequence[Trial], key: Callable[[Trial], Any]) -> list[list[Trial]]:
    groups: dict[Any, list[Trial]] = {}
    for trial in trials:
        groups.setdefault(key(trial), []).append(trial)
    return list(groups.values())


def _shuffled(rng: random.Random, items: list[_T]) -> list[_T]:
    return rng.sample(items, len(items))
