"""Another job on the fabric beside the one that is measured: option `neighbour`."""

import random
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from weft.bench.model import Trial
from weft.bench.twin.gpu_network import OPTION as GPU_NETWORK
from weft.bench.twin.independent_rounds import ROW_COLUMNS
from weft.catalog.benchmark import Benchmark
from weft.core.errors import InputError
from weft.topology.fabric_spec import Document

OPTION = "neighbour"
SERVICE_LEVEL = "service_level"
MOST_LEVEL = 14
"""A port has 15 data lanes."""
NONE = "none"
TRAFFIC = ("alltoall", "allgather", "allreduce")
SIZE_BYTES = 65536
"""Of the other job's messages. No machine's load was measured: the option says what it sends."""


def has_neighbour(trial: Trial) -> bool:
    """Whether another job runs beside a trial's. Raises InputError for one that no twin has."""
    asked = trial.options.get(OPTION, NONE)
    if asked == NONE:
        return False
    if asked not in TRAFFIC:
        raise InputError(
            f"option '{OPTION}' is {asked!r}", expected=", ".join((NONE, *TRAFFIC)), where=trial.id
        )
    return True


def check_company(trial: Trial, fidelity: str) -> None:
    """Refuse what would look as if it had an effect. Raises InputError."""
    alone = not has_neighbour(trial)
    if service_level(trial) and fidelity != "packet":
        raise InputError(
            f"option '{SERVICE_LEVEL}' with --fidelity {fidelity}: flows know no lanes",
            where=trial.id,
            expected="--fidelity packet",
        )
    if service_level(trial) and alone and OPTION not in trial.options:
        raise InputError(
            f"option '{SERVICE_LEVEL}' without '{OPTION}': a job alone has no other lane's packets",
            where=trial.id,
            expected="the factor neighbour with it",
        )
    if GPU_NETWORK in trial.options and (service_level(trial) or not alone):
        raise InputError(
            f"option '{OPTION}' or '{SERVICE_LEVEL}' with '{GPU_NETWORK}'",
            where=trial.id,
            expected="one of them",
        )


def service_level(trial: Trial) -> int:
    """The service level of the job's messages; its neighbour has level 0. Raises InputError."""
    level = trial.options.get(SERVICE_LEVEL, 0)
    if not isinstance(level, int) or not 0 <= level <= MOST_LEVEL:
        raise InputError(
            f"option '{SERVICE_LEVEL}' is {level!r}",
            where=trial.id,
            expected=f"a whole number of 0 to {MOST_LEVEL}",
        )
    return level


def beside(document: Document, trial: Trial, nodes: Sequence[str], measured: Benchmark) -> Document:
    """The scenario with a second job that repeats its collective until the first is done.

    It has as many of the other nodes, one rank each, drawn alike for all launches on the job's
    nodes. Raises InputError where there are not so many, or for `pairs`.
    """
    if measured.kind == "pairs":
        raise InputError(
            f"option '{OPTION}' with {measured.name}: its pairs have the fabric to themselves",
            where=trial.id,
            expected="a collective, or a benchmark of two ranks",
        )
    job = set(trial.nodes)
    others = [node for node in nodes if node not in job]
    if len(others) < len(job):
        raise InputError(
            f"too few nodes are left for a neighbour: the job has {len(job)} of {len(nodes)}",
            where=trial.id,
            expected=f"as many again, {2 * len(job)} in all",
            hint="more --nodes, or fewer --job-nodes",
        )
    rng = random.Random("/".join(sorted(job)))  # noqa: S311 - reproducible, not secret
    drawn = sorted(rng.sample(range(len(others)), len(job)))
    step = {"benchmark": trial.options[OPTION], "size_bytes": SIZE_BYTES, "iterations": 1}
    whole = {key: value for key, value in document.items() if key not in {"placement", "work"}}
    first: Document = {"name": "job", "role": "victim"}
    level = service_level(trial)
    first |= {"service_level": level} if level else {}
    first |= {"placement": document["placement"], "work": document["work"]}
    second = {
        "name": "neighbour",
        "role": "aggressor",
        "repeat": True,
        "placement": {"nodes": [others[at] for at in drawn], "tasks_per_node": 1},
        "work": [{**step, "warmup": 0}],
    }
    return {**whole, "tenants": [first, second]}


def rows_of_job(outcome: Mapping[str, Any]) -> Mapping[str, Any]:
    """The outcome with the rows of the measured job alone."""
    own = np.flatnonzero(np.asarray(outcome["tenant"]) == 0)
    return {**outcome, **{key: np.asarray(outcome[key])[own] for key in ROW_COLUMNS}}
