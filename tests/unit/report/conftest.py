"""Runs for the report's tests: real run directories, measured by the mock backend."""

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

import pytest
from tests.mock_backend import MockBackend

from weft.bench.model import Backend
from weft.study.plan.document import parse_study
from weft.study.plan.plan import make_plan
from weft.study.run.loop import execute
from weft.study.run.metadata import run_meta
from weft.study.run.store import RunStore

NODES = tuple(f"n{i:03d}" for i in range(1, 9))

STUDIES = {
    "curves": """
schema = "weft.study/1"
name = "curves"
title = "Two curves and a barrier"
question = "How fast?"
repeats = 8

[[benchmarks]]
name = "latency"
sizes = "1:1M"

[[benchmarks]]
name = "bandwidth"
sizes = "8,64,1M"

[[benchmarks]]
name = "barrier"
""",
    "arms": """
schema = "weft.study/1"
name = "arms"
title = "Two arms"
question = "Which?"
repeats = 8

[[benchmarks]]
name = "allreduce"
sizes = "8:64K"

[[factors]]
name = "sharp"
settings = [{ name = "off" }, { name = "on" }]
""",
    "scales": """
schema = "weft.study/1"
name = "scales"
title = "Three numbers of nodes"
question = "How does it scale?"
repeats = 2
nodes = [2, 4, 8]
tasks_per_node = [1, 2]

[[benchmarks]]
name = "allreduce"
sizes = "8,64K"

[[benchmarks]]
name = "latency"
sizes = "8"

[[factors]]
name = "sharp"
settings = [{ name = "on" }, { name = "off" }]
""",
    "pairs": """
schema = "weft.study/1"
name = "pairs"
title = "All pairs"
question = "Which?"
repeats = 1
nodes = [8]

[[benchmarks]]
name = "pairs"
sizes = "8,1M"
""",
}


class Measure(Protocol):
    def __call__(
        self,
        run_dir: Path,
        study: str = "curves",
        *,
        backend: Backend | None = None,
        nodes: tuple[str, ...] = NODES,
        environ: Mapping[str, str] | None = None,
        n_launches: int | None = None,
    ) -> Path: ...


@pytest.fixture
def measure() -> Measure:
    """Measures a study (a name of STUDIES, or TOML text) into a run directory."""
    return _measure


def _measure(
    run_dir: Path,
    study: str = "curves",
    *,
    backend: Backend | None = None,
    nodes: tuple[str, ...] = NODES,
    environ: Mapping[str, str] | None = None,
    n_launches: int | None = None,
) -> Path:
    text = STUDIES.get(study, study)
    backend = backend or MockBackend()
    document = parse_study(text, "study.toml")
    plan = make_plan(document, nodes)
    about = run_meta(
        study_text=text,
        seed=document.seed,
        backend=backend,
        nodes=nodes,
        environ=environ or {},
        clock=_clock,
    )
    with RunStore.create(run_dir, about) as store:
        store.set_plan(plan.launches)
    if n_launches is None:
        with RunStore.open(run_dir) as store:
            execute(plan.launches, backend, store, clock=_clock)
        return run_dir
    with RunStore.open(run_dir) as store:
        for launch in plan.launches[:n_launches]:
            samples = list(backend.measure(launch))
            for sample in samples:
                store.append(sample)
            store.done(launch, n_samples=len(samples), seconds=0.0)
    return run_dir


def _clock() -> float:
    return 1_700_000_000.0
