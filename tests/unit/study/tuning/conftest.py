"""Studies whose truth is known: how much slower each algorithm is at each size."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from tests.mock_backend import MockBackend
from tests.unit.study.conftest import NODES, text_of

from weft.bench.model import Launch
from weft.study.plan.document import parse_study
from weft.study.plan.live import on_machine
from weft.study.plan.plan import make_plan
from weft.study.run.loop import execute
from weft.study.run.metadata import run_meta
from weft.study.run.store import RunStore, StudyRun, read_run

FACTOR = """
[[factors]]
name = "{benchmark}-algorithm"
settings = [{settings}]
"""
SETTINGS = {
    "allreduce": ("library", "recursive-doubling", "ring", "rabenseifner"),
    "allgather": ("library", "bruck", "recursive-doubling", "ring"),
    "alltoall": ("library", "pairwise", "bruck"),
}

Truth = Mapping[tuple[int, int, str], float]
"""By ranks, bytes and setting the time in times of another setting's; 1 where it is absent."""


class TrueBackend(MockBackend):
    """A mock whose arms differ by size and number of ranks, as the truth says."""

    def __init__(self, truth: Truth, *, seed: int = 1, noise: float = 0.01, **facts: str) -> None:
        super().__init__(seed=seed, noise=noise)
        self.truth, self.own_facts = truth, facts

    def facts(self) -> Mapping[str, object]:
        return self.own_facts

    def times_ns(self, launch: Launch, name: str, base_ns: float) -> list[int]:
        trial = launch.trial
        (setting,) = trial.arm.values()
        slower = self.truth.get((trial.n_ranks, int(name), setting), 1.0)
        return super().times_ns(launch, name, base_ns * slower)


def study_of_algorithms(
    benchmark: str = "allreduce",
    *,
    sizes: str = "8,4K,64K,1M",
    nodes: tuple[int, ...] = (4,),
    repeats: int = 16,
    factors: str = "",
    settings: tuple[str, ...] = (),
) -> str:
    quoted = ", ".join(f'"{one}"' for one in settings or SETTINGS[benchmark])
    return text_of(
        repeats=repeats,
        nodes=nodes,
        benchmarks=f'[[benchmarks]]\nname = "{benchmark}"\nsizes = "{sizes}"\n',
        factors=factors or FACTOR.format(benchmark=benchmark, settings=quoted),
    )


RunTruth = Callable[..., StudyRun]


@pytest.fixture
def run_truth(tmp_path: Path) -> RunTruth:
    """Run a study of algorithms on a mock with this truth, and read the run back."""

    def run(backend: MockBackend, text: str | None = None, directory: str = "run") -> StudyRun:
        text = text or study_of_algorithms()
        study = on_machine(parse_study(text, "study.toml"))
        plan = make_plan(study, NODES)
        meta = run_meta(study_text=text, seed=study.seed, backend=backend, nodes=NODES)
        with RunStore.create(tmp_path / directory, meta) as store:
            execute(plan.launches, backend, store)
        return read_run(tmp_path / directory)

    return run
