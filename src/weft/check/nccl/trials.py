"""The launches of a check by nccl-tests: each node alone, pairs in rounds, suspects again, groups
under one switch, and the adapters of slow nodes one by one."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from weft.bench.model import Launch, Trial
from weft.bench.nccl.backend import ADAPTERS, GROUPS, SURVEYS
from weft.check.launches import FOLLOW_UP, check_launches
from weft.check.nccl.thresholds import nccl_thresholds

NODES = "t000-nodes-alone"
GROUPS_TRIAL = "t004-groups"
ADAPTERS_TRIAL = "t005-adapters"

OF_NCCL: Mapping[str, str] = {
    f"{NODES}-1": "measuring each node alone ...",
    f"{NODES}-2": "measuring each node alone, once more ...",
    GROUPS_TRIAL: "measuring the nodes under each switch together ...",
    ADAPTERS_TRIAL: "measuring the adapters of slow nodes one by one ...",
}
"""The steps of such a check by their trials, as they are announced."""


def nccl_launches(
    nodes: tuple[str, ...],
    *,
    tasks_per_node: int,
    sizes_bytes: tuple[int, ...],
    rounds: Sequence[Sequence[Sequence[int]]],
    limit_s: float,
    alone: bool = True,
    groups: Sequence[Sequence[str]] = (),
    options: Mapping[str, Any] | None = None,
) -> tuple[Launch, ...]:
    """The plan. `limit_s`: seconds after which a launch of nccl-tests hangs; `alone`: nodes
    have GPUs that can be measured among themselves; `groups`: nodes that
    one switch or rack joins."""
    planned = check_launches(
        nodes,
        tasks_per_node=tasks_per_node,
        sizes_bytes=sizes_bytes,
        rounds=[[(a, b) for a, b in pairs] for pairs in rounds],
        options=dict(options or {}),
        timeout_s=limit_s,
    )
    survey = planned[0].trial
    surveyed = replace(survey, options={**survey.options, SURVEYS: True})
    each = [[node] for node in nodes]
    n_rounds = nccl_thresholds().node_rounds if alone else 0
    passes = [_pass(survey, f"{NODES}-{i + 1}", each) for i in range(n_rounds)]
    trials: list[Trial] = [*passes, surveyed, *(launch.trial for launch in planned[1:])]
    if len(groups) > 1:
        trials.append(_pass(survey, GROUPS_TRIAL, groups))
    later = {**dict(options or {}), "rounds": FOLLOW_UP, ADAPTERS: FOLLOW_UP}
    trials.append(replace(survey, id=ADAPTERS_TRIAL, options=later, tasks_per_node=1))
    return tuple(Launch(trial, repeat=1, order=i) for i, trial in enumerate(trials))


def _pass(survey: Trial, id_: str, groups: Sequence[Sequence[str]]) -> Trial:
    options = {GROUPS: [list(group) for group in groups]}
    return replace(survey, id=id_, options=options, tasks_per_node=1)
