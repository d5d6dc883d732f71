"""Jobs that share a simulated fabric: the measured one, and its aggressors."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from weft.bench.aggressor import (
    MOST_LEVEL,
    ONE_SIDED,
    OPTION,
    Aggressor,
    aggressors_of,
    nodes_of,
)
from weft.bench.model import Trial
from weft.bench.twin.gpu.network import OPTION as GPU_NETWORK
from weft.bench.twin.gpu.network import gpu_network
from weft.bench.twin.independent_rounds import ROW_COLUMNS
from weft.catalog.benchmark import Benchmark
from weft.catalog.load import benchmark
from weft.core.errors import InputError
from weft.topology.fabric_spec import Document

HEAD_START_NS = 5_000_000
"""How long aggressors send before the job begins. ASSUMED: their first burst, which fills every
buffer, is over within 4 ms on 528 nodes of frontera; jobs of a machine have sent for longer."""
SERVICE_LEVEL = "service_level"
PARTITION = "partition_key"
RINGS = {
    "random_ring_latency": "random_ring",
    "random_ring_bandwidth": "random_ring",
    "natural_ring_bandwidth": "natural_ring",
}
"""Benchmarks of the engine, by the catalogue's."""


def has_aggressors(trial: Trial) -> bool:
    """Whether other jobs run beside a trial's. Raises InputError for ones that no twin has."""
    return bool(aggressors_of(trial))


def check_tenants(trial: Trial, fidelity: str) -> None:
    """Refuse what would look as if it had an effect. Raises InputError."""
    alone = not has_aggressors(trial)
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
    network = gpu_network(trial)
    if network is None or (alone and not service_level(trial)):
        return
    if network.one_rail or not network.by_rails:
        raise InputError(
            f"option '{OPTION}' or '{SERVICE_LEVEL}' with {GPU_NETWORK} = "
            f"'{trial.options[GPU_NETWORK]}'",
            where=trial.id,
            expected=f"{GPU_NETWORK} = 'rails', which simulates every adapter, or no neighbour",
        )


def service_level(trial: Trial) -> int:
    """The service level of the job's messages; an aggressor has level 0 unless it names one.
    Raises InputError."""
    level = trial.options.get(SERVICE_LEVEL, 0)
    if not isinstance(level, int) or not 0 <= level <= MOST_LEVEL:
        raise InputError(
            f"option '{SERVICE_LEVEL}' is {level!r}",
            where=trial.id,
            expected=f"a whole number of 0 to {MOST_LEVEL}",
        )
    return level


def highest_level(trial: Trial) -> int:
    """Of the job and its aggressors."""
    others = (one.service_level or 0 for one in aggressors_of(trial))
    return max((service_level(trial), *others))


def beside(
    document: Document,
    trial: Trial,
    nodes: Sequence[str],
    measured: Benchmark,
    *,
    puts_by: str = "adapter",
) -> Document:
    """The scenario with the aggressors, as many ranks a node as the job, which repeat what they do
    until the job is done; `puts_by` as a platform's `mpi.one_sided`. The channels of a job between
    GPUs are tenants already. Raises InputError where too few nodes are left, or for `pairs`."""
    if measured.kind == "pairs":
        raise InputError(
            f"option '{OPTION}' with {measured.name}: its pairs have the fabric to themselves",
            where=trial.id,
            expected="a collective, or a benchmark of two ranks",
        )
    aggressors = aggressors_of(trial)
    whole = {
        key: value for key, value in document.items() if key not in {"placement", "work", "tenants"}
    }
    parts = ("placement", "work")
    jobs = document.get("tenants") or [{"name": "job", **{key: document[key] for key in parts}}]
    head: Document = {"role": "victim", "start_ns": HEAD_START_NS}
    level = service_level(trial)
    head |= {"service_level": level} if level else {}
    tenants = [{**job, **head} for job in jobs]
    partitions: dict[int, list[str]] = {}
    for number, (one, drawn) in enumerate(
        zip(aggressors, nodes_of(aggressors, trial, nodes), strict=True), 1
    ):
        second: Document = {"name": f"aggressor-{number}", "role": "aggressor", "repeat": True}
        second |= {"start_ns": one.start_ns} if one.start_ns else {}
        is_put = one.benchmark in ONE_SIDED and puts_by == "adapter"
        second |= {"one_sided": True} if is_put else {}
        if one.service_level is not None:
            second[SERVICE_LEVEL] = one.service_level
        if one.partition_key is not None:
            second[PARTITION] = one.partition_key
            partitions.setdefault(one.partition_key, []).extend(drawn)
        tenants.append(
            second
            | {
                "placement": {"nodes": list(drawn), "tasks_per_node": trial.tasks_per_node},
                "work": [_step(one)],
            }
        )
    keys = [{"key": key, "nodes": members} for key, members in partitions.items()]
    return {**whole, "tenants": tenants} | ({"partitions": keys} if keys else {})


def _step(aggressor: Aggressor) -> Document:
    name = ONE_SIDED.get(aggressor.benchmark, aggressor.benchmark)
    step: Document = {"benchmark": RINGS.get(name, name), "size_bytes": aggressor.size_bytes}
    # A put or get is complete before the next one.
    window = 1 if aggressor.benchmark in ONE_SIDED else benchmark(name).options.get("window")
    return {**step, "iterations": 1, "warmup": 0} | ({} if window is None else {"window": window})


def rows_of_job(outcome: Mapping[str, Any]) -> Mapping[str, Any]:
    """The outcome with the rows of the measured job alone."""
    own = np.flatnonzero(np.asarray(outcome["tenant"]) == 0)
    return {**outcome, **{key: np.asarray(outcome[key])[own] for key in ROW_COLUMNS}}
