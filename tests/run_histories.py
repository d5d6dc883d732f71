"""Run directories of a history, written as a live backend writes them, in no time."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from weft.bench.model import Launch, Sample, Trial
from weft.study.run.store import RunStore

DAY_S = 86_400.0
FIRST_S = 1_577_923_200.0
"""2020-01-02, 00:00 UTC."""


def write_run(
    where: Path,
    started_unix_s: float,
    latencies_us: Mapping[int, float],
    *,
    evidence: Mapping[str, Any] | None = None,
    environment: Mapping[str, str] | None = None,
    hosts: str = "node",
    n_launches: int = 1,
    complete: bool = True,
) -> Path:
    """A run of an alltoall on two nodes with these latencies by size."""
    nodes = (f"{hosts}001", f"{hosts}002")
    meta = {
        "weft_version": "0.1.0",
        "started_unix_s": started_unix_s,
        "nodes": list(nodes),
        "study": "",
        "backend": {"name": "live", "facts": {"mpi": "MPICH", "mpi_version": "5.0.0"}},
        "host": {"name": nodes[0], "cpu_model": "A CPU", "devices": []},
        "environment": dict(environment or {}),
    }
    trial = Trial("t000-alltoall", "alltoall", tuple(latencies_us), nodes, 1)
    launches = [Launch(trial, repeat, repeat) for repeat in range(n_launches)]
    with RunStore.create(where, meta) as store:
        store.set_plan(launches)
        for launch in launches if complete else launches[:0]:
            for size, value in latencies_us.items():
                store.append(
                    Sample(
                        trial="t000-alltoall",
                        repeat=launch.repeat,
                        benchmark="alltoall",
                        size_bytes=size,
                        metrics={"latency_us_p50": value},
                        iterations=100,
                        started_unix_s=started_unix_s + 1,
                        evidence=dict(evidence or {}),
                    )
                )
            store.done(launch, n_samples=len(latencies_us), seconds=1.0)
    return where


def write_history(
    where: Path,
    n_runs: int,
    on: range,
    *,
    factor: float = 0.8,
    recorded: bool = True,
    seed: int = 1,
) -> list[Path]:
    """A run a day with 1 % of noise; adaptive routing, on in the runs `on`, multiplies the time of
    the larger size by `factor`."""
    rng = np.random.default_rng(seed)
    paths = []
    for number in range(n_runs):
        noise = np.exp(rng.normal(0, 0.01, 2))
        large = 100.0 * noise[1] * (factor if number in on else 1.0)
        evidence = {"adaptive_routing": "on" if number in on else "off"} if recorded else {}
        path = where / f"run-{number:03d}"
        values = {8: 10.0 * noise[0], 65536: large}
        paths.append(write_run(path, FIRST_S + number * DAY_S, values, evidence=evidence))
    return paths
