"""Studies written as a user writes them, run on the mock at zero time."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.mock_backend import MockBackend

from weft.study.plan.document import parse_study
from weft.study.plan.model import Study
from weft.study.plan.plan import make_plan
from weft.study.run.loop import execute
from weft.study.run.metadata import run_meta
from weft.study.run.store import RunStore, StudyRun, read_run

NODES = tuple(f"n{i:03d}" for i in range(1, 17))

HEAD = """
schema = "weft.study/1"
name = "{name}"
title = "A study"
question = "Does it?"
seed = {seed}
repeats = {repeats}
nodes = {nodes}
node_sets = {node_sets}
"""
BENCHMARKS = """
[[benchmarks]]
name = "latency"
sizes = "8,64K"

[[benchmarks]]
name = "allreduce"
sizes = "8,64K"
"""
FACTOR = """
[[factors]]
name = "routing"
settings = [{ name = "static" }, { name = "adaptive", evidence = { transport = "mock" } }]
"""

StudyText = Callable[..., str]
StudyOf = Callable[..., Study]
RunStudy = Callable[..., StudyRun]


def text_of(
    *,
    name: str = "x",
    seed: int = 1,
    repeats: int = 12,
    nodes: tuple[int, ...] = (2,),
    node_sets: int = 1,
    benchmarks: str = BENCHMARKS,
    factors: str = "",
) -> str:
    head = HEAD.format(
        name=name, seed=seed, repeats=repeats, nodes=list(nodes), node_sets=node_sets
    )
    return head + benchmarks + factors


@pytest.fixture
def study_text() -> StudyText:
    """A study's TOML, with what a test cares about."""
    return text_of


@pytest.fixture
def study_of() -> StudyOf:
    """The same, parsed."""
    return lambda **options: parse_study(text_of(**options), "study.toml")


@pytest.fixture
def two_arms() -> str:
    """A factor with two settings, static (the baseline) and adaptive."""
    return FACTOR


@pytest.fixture
def run_study(tmp_path: Path) -> RunStudy:
    """Run a study on the mock and read the run back."""

    def run(directory: str = "run", backend: MockBackend | None = None, **options: Any) -> StudyRun:
        text = text_of(**options)
        study = parse_study(text, "study.toml")
        plan = make_plan(study, NODES)
        backend = backend or MockBackend(seed=study.seed)
        meta = run_meta(study_text=text, seed=study.seed, backend=backend, nodes=NODES)
        with RunStore.create(tmp_path / directory, meta) as store:
            execute(plan.launches, backend, store)
        return read_run(tmp_path / directory)

    return run
