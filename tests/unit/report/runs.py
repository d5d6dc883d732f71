"""Runs for the report's tests: real run directories, measured by the mock backend."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from weft.bench.mock import MockBackend
from weft.bench.model import Backend
from weft.study.load import parse_study
from weft.study.meta import run_meta
from weft.study.plan import make_plan
from weft.study.run import execute
from weft.study.store import RunStore

NODES = tuple(f"n{i:03d}" for i in range(1, 9))

CURVES = """
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
"""

ARMS = """
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
"""

PAIRS = """
schema = "weft.study/1"
name = "pairs"
title = "All pairs"
question = "Which?"
repeats = 1
nodes = [8]

[[benchmarks]]
name = "pairs"
sizes = "8,1M"
"""


def measure(
    run_dir: Path,
    study_text: str = CURVES,
    *,
    backend: Backend | None = None,
    nodes: tuple[str, ...] = NODES,
    environ: Mapping[str, str] | None = None,
    meta: Mapping[str, Any] | None = None,
) -> Path:
    """A finished run in `run_dir`."""
    backend = backend or MockBackend()
    study = parse_study(study_text, "study.toml")
    plan = make_plan(study, nodes)
    about = run_meta(
        study_text=study_text,
        seed=study.seed,
        backend=backend,
        nodes=nodes,
        environ=environ or {},
        clock=lambda: 1_700_000_000.0,
    )
    with RunStore.create(run_dir, {**about, **(meta or {})}) as store:
        execute(plan.launches, backend, store, clock=lambda: 1_700_000_000.0)
    return run_dir
