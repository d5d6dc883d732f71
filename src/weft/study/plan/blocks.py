"""A study in blocks that run one by one: each node set with all its arms, its nodes named later."""

import dataclasses
import itertools
from collections.abc import Sequence

from weft.bench.aggressor import aggressors_of
from weft.bench.model import Launch
from weft.bench.options import TWIN_OPTIONS
from weft.core.errors import InputError
from weft.study.plan.live import on_machine, refuse_unnamed_ways
from weft.study.plan.model import Study
from weft.study.plan.plan import PLACEMENT, make_plan


def plan_blocks(study: Study) -> tuple[Launch, ...]:
    """The launches of a study block by block, each with its returns to the baseline at its end.

    Blocks are numbered from 0, by node count in the order of the study, then by node set; their
    nodes have the names of `stand_in`. Raises InputError for a study with manual factors or
    placements, or one that only a simulated fabric can run.
    """
    refuse_unnamed_ways(study, "with submit", "one launcher, without a container, for all blocks")
    study = on_machine(study)
    manual = [factor.name for factor in study.factors if factor.manual]
    if manual:
        raise InputError(
            f"the factor '{manual[0]}' is switched by an administrator",
            where=f"study '{study.name}'",
            expected="factors that a launch can switch: a queued job cannot wait for a person",
            hint="salloc, then weft study run, one setting after the other",
        )
    if any(PLACEMENT in one.options for factor in study.factors for one in factor.settings):
        raise InputError(
            "the scheduler places a queued job: every placement would get the same nodes",
            where=f"study '{study.name}'",
            expected="a study without the option 'placement'",
            hint="salloc, then weft study run inside the allocation",
        )
    names = tuple(str(i) for i in range(max(study.nodes) * study.node_sets))
    made = make_plan(study, names)
    if any(aggressors_of(launch.trial) for launch in made.launches):
        raise InputError(
            "a block has the nodes of its job alone, and aggressors need others",
            where=f"study '{study.name}'",
            expected="a study without the option 'aggressors'",
            hint="salloc, then weft study run inside the allocation",
        )
    _refuse_of_twins(study.name, made.launches)
    sets = itertools.product(study.nodes, range(study.node_sets))
    blocks = {node_set: number for number, node_set in enumerate(sets)}

    def block_of(launch: Launch) -> int:
        return blocks[len(launch.trial.nodes), launch.trial.node_set]

    ordered = sorted(made.launches, key=block_of)
    return tuple(
        dataclasses.replace(
            launch,
            order=order,
            block=(block := block_of(launch)),
            trial=dataclasses.replace(
                launch.trial,
                nodes=tuple(stand_in(block, i) for i in range(len(launch.trial.nodes))),
            ),
        )
        for order, launch in enumerate(ordered)
    )


def _refuse_of_twins(study: str, launches: Sequence[Launch]) -> None:
    asked = {name for launch in launches for name in launch.trial.options}
    only = next((name for name in TWIN_OPTIONS if name in asked), None)
    if only is not None:
        raise InputError(
            f"only a simulated fabric has the option '{only}'",
            where=f"study '{study}'",
            expected="options of live launches: a Slurm job cannot switch this",
            hint="weft study run STUDY --twin PLATFORM",
        )


def stand_in(block: int, number: int) -> str:
    """The stand-in name of a block's node, until the real node is known."""
    return f"block{block}-node{number}"


def launches_of(launches: Sequence[Launch], block: int) -> tuple[Launch, ...]:
    """Those of one block, in order."""
    return tuple(launch for launch in launches if launch.block == block)


def on_nodes(launches: Sequence[Launch], nodes: tuple[str, ...]) -> tuple[Launch, ...]:
    """The launches of a block on its real nodes."""
    placed = [dataclasses.replace(one.trial, nodes=nodes) for one in launches]
    pairs = zip(launches, placed, strict=True)
    return tuple(dataclasses.replace(one, trial=trial) for one, trial in pairs)
