"""The launch of a job and its aggressors: their ranks follow the job's."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from weft.bench.aggressor import OPTION, Aggressor, aggressors_of, in_words, nodes_of
from weft.bench.live.kernel_records import KernelOutput
from weft.bench.model import Launch, Trial
from weft.core.errors import BenchmarkError, InputError
from weft.core.words import counted

LEVEL_VARIABLE = "UCX_IB_SL"
"""SOURCE: UCX 1.20."""


def with_aggressors(trial: Trial, nodes: Sequence[str]) -> Trial:
    """The trial as it is launched: on the nodes of its aggressors, too; on a single host with more
    ranks. Its option then lists pattern, bytes and ranks of each, and its service level: where the
    job has one of its own, an aggressor has level 0 unless it names one. Raises InputError."""
    aggressors = aggressors_of(trial)
    options = {key: value for key, value in trial.options.items() if key != OPTION}
    if not aggressors:
        return replace(trial, options=options)
    for one in aggressors:
        _refuse_of_twins(one, trial)
    if len(nodes) == 1:
        n_ranks = ranks_on_one_host(aggressors, trial.tasks_per_node)
        more = trial.tasks_per_node + sum(n_ranks)
        launched = replace(trial, tasks_per_node=more)
    else:
        drawn = nodes_of(aggressors, trial, nodes)
        n_ranks = [len(own) * trial.tasks_per_node for own in drawn]
        launched = replace(trial, nodes=(*trial.nodes, *(node for own in drawn for node in own)))
    default = () if LEVEL_VARIABLE not in trial.env else (0,)
    asked = [
        (one.benchmark, one.size_bytes, n)
        + (default if one.service_level is None else (one.service_level,))
        for one, n in zip(aggressors, n_ranks, strict=True)
    ]
    return replace(launched, options={**options, OPTION: asked})


def launched_with(launch: Launch, nodes: Sequence[str]) -> Launch:
    """The launch of `with_aggressors`."""
    return replace(launch, trial=with_aggressors(launch.trial, nodes))


def aggressor_evidence(output: KernelOutput, launch: Launch) -> dict[str, Any]:
    """What the aggressors did while the job was measured. Raises BenchmarkError where one of them
    did nothing."""
    if OPTION not in launch.trial.options:
        return {}
    asked = aggressors_of(launch.trial)
    if len(output.aggressors) < len(asked):
        raise BenchmarkError(
            f"{counted(len(output.aggressors), 'aggressor')} of {len(asked)} reported",
            where=launch.name,
            expected="a record of each",
        )
    idle = next((one for one in output.aggressors if one.iterations < 1), None)
    if idle is not None:
        raise BenchmarkError(
            f"the aggressor {idle.benchmark} sent nothing while {idle.beside} was measured",
            where=launch.name,
            expected="a job that sends all the time",
        )
    found: dict[str, Any] = {OPTION: in_words(asked)}
    if asked:
        found["aggressor_passes_per_s"] = [
            round(one.iterations / one.elapsed_ns * 1e9, 3) for one in output.aggressors
        ]
    return found


def ranks_on_one_host(aggressors: Sequence[Aggressor], n_job: int) -> list[int]:
    """Ranks in place of nodes: a share is of all ranks. Raises InputError."""
    named = next((one for one in aggressors if one.nodes), None)
    if named is not None:
        raise InputError(
            f"aggressor '{named.text}' names nodes: there is one, which has the job",
            expected="a number or a share: on one host ranks stand for nodes",
        )
    fixed = sum(one.count(n_job, 0) for one in aggressors if one.share is None)
    shares = sum(one.share or 0.0 for one in aggressors)
    if shares >= 1:
        raise InputError(
            f"aggressors ask for {shares:.0%} of all ranks",
            expected="less than all: the job has the others",
        )
    n_all = math.floor((n_job + fixed) / (1 - shares) + 1e-9)
    return [max(2, one.count(n_job, n_all)) for one in aggressors]


def _refuse_of_twins(one: Aggressor, trial: Trial) -> None:
    if one.partition_key is not None:
        raise InputError(
            f"aggressor '{one.text}' has pkey, which a twin alone has",
            where=trial.id,
            expected="an aggressor without it: all ranks of a launch have to reach each other",
            hint="--twin PLATFORM",
        )
    for key, value in (("law", one.law), ("routing", one.routing)):
        if value is not None:
            raise InputError(
                f"aggressor '{one.text}' has {key}, which a twin alone has",
                where=trial.id,
                expected="an aggressor without it: adapters and switches are set for the fabric",
                hint="--twin PLATFORM, or sl=N of a level that the fabric treats so",
            )
    if one.start_ns:
        raise InputError(
            f"aggressor '{one.text}' has start, which a twin alone has",
            where=trial.id,
            expected="an aggressor without it: it sends before the job begins",
            hint="--twin PLATFORM",
        )
