"""Programs that a twin repeats: the work of the benchmark `replay`."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from weft.bench.model import Trial
from weft.catalog.benchmark import Benchmark
from weft.catalog.libraries.mpi_algorithms import mpi_algorithms, mpi_algorithms_names
from weft.catalog.machine.platform import Platform
from weft.core.errors import InputError
from weft.core.words import counted
from weft.topology.engine import engine_module, refusals
from weft.topology.fabric_spec import Document
from weft.trace.applications import application
from weft.trace.iterations import Iterations, iterations_of
from weft.trace.program import Program, RankProgram, told, written
from weft.trace.scaling import scaled
from weft.trace.trace import Trace, read_trace

TRACE = "trace"
APPLICATION = "application"
OF_NODES = frozenset({"two_level", "hierarchical", "sharp", "multicast"})
"""Of the engine, those that know nodes or switches: a program's groups are neither."""
LIBRARIES = {"Open MPI": "openmpi", "MPICH": "mpich", "MVAPICH2": "mvapich2"}
"""Lists of the catalogue, by how an MPI names itself."""
KEPT = 4
"""Traces and programs in memory: the arms of a study repeat the same ones."""


def is_replay(measured: Benchmark) -> bool:
    """Whether a benchmark repeats a program, or the pattern of an application."""
    return TRACE in measured.options or APPLICATION in measured.options


def replay_steps(platform: Platform, trial: Trial, defaults: Mapping[str, Any]) -> list[Document]:
    """The work of a trial: the program's calls, once. Raises InputError."""
    program = replayed(platform, trial, defaults)
    step = {"benchmark": "schedule", "format": "calls", "text": program.text}
    return [{**step, "iterations": 1, "warmup": 0}]


def replayed(platform: Platform, trial: Trial, defaults: Mapping[str, Any]) -> Program:
    """The program of a trial, with as many ranks. Raises InputError."""
    options = {**defaults, **trial.options}
    if APPLICATION in defaults:
        ranks = application(str(defaults[APPLICATION]), trial.n_ranks, options)
        library = str(options.get("mpi_choice", ""))
        return written(ranks, _choice(platform, trial, library))
    path = str(options[TRACE])
    if not path:
        raise InputError(
            f"benchmark '{trial.benchmark}' without a trace",
            where=trial.id,
            expected=f"option '{TRACE}': a directory that 'weft record' wrote",
            hint="weft replay TRACE --twin PLATFORM",
        )
    iteration = str(options["iteration"])
    trace, _ = recorded(path, iteration)
    larger = RankScale(int(options["scale"]), bool(options["strong"]))
    if trace.n_ranks * larger.factor != trial.n_ranks:
        times = f" x {larger.factor}" if larger.factor > 1 else ""
        raise InputError(
            f"the trace has {counted(trace.n_ranks, 'rank')}{times}, the job {trial.n_ranks}",
            where=trial.id,
            expected="as many: nodes x tasks a node",
        )
    choice = _choice(platform, trial, str(options.get("mpi_choice", library_of(trace))))
    how = ReplayOptions(iteration, float(options["compute"]), larger)
    return _program(path, _stamp(path), how, choice)


def _choice(platform: Platform, trial: Trial, library: str) -> "AlgorithmChoice":
    return AlgorithmChoice(platform.name, trial.tasks_per_node, library, platform)


@dataclass(frozen=True, slots=True)
class RankScale:
    """So many times the ranks; `strong`: with the whole's work, not each rank's, as it was."""

    factor: int = 1
    strong: bool = False


@dataclass(frozen=True, slots=True)
class ReplayOptions:
    """The call that begins an iteration ("": chosen), what multiplies computing, and the scale."""

    iteration: str
    compute: float
    scale: RankScale


@dataclass(frozen=True, slots=True)
class AlgorithmChoice:
    """The algorithm of a collective on a platform: what the document of the platform says, else the
    `library`'s own choice by the catalogue."""

    platform_name: str
    tasks_per_node: int
    library: str
    platform: Platform = field(compare=False, repr=False)

    def __call__(self, name: str, size_bytes: int, n_ranks: int) -> str | None:
        """The engine's name; None for the engine's default."""
        row = self.platform.algorithm(name, size_bytes, self.tasks_per_node)
        chosen = None if row is None else row.algorithm
        return _of_ranks(chosen or library_algorithm(self.library, name, size_bytes, n_ranks))


def library_algorithm(library: str, name: str, size_bytes: int, n_ranks: int) -> str | None:
    """The engine's name of what a library chooses; None where the catalogue does not know."""
    if library not in mpi_algorithms_names():
        return None
    found = mpi_algorithms(library).choose(name, n_ranks, size_bytes)
    return None if found is None else _of_ranks(found.engine)


def _of_ranks(algorithm: str | None) -> str | None:
    return None if algorithm in OF_NODES else algorithm


def expanded(step: Mapping[str, Any], n_ranks: int) -> Mapping[str, Any]:
    """What every rank exchanges in a collective, as columns."""
    with refusals():
        moves: Mapping[str, Any] = engine_module().expand_collective(json.dumps(step), n_ranks)
    return moves


def library_of(trace: Trace) -> str:
    """The catalogue's name of the MPI that a program was recorded with; "" of another one."""
    return next((name for sign, name in LIBRARIES.items() if trace.mpi.startswith(sign)), "")


def recorded(path: str, iteration: str) -> tuple[Trace, Iterations]:
    """A trace and its iterations, by the call that is asked for. Raises InputError."""
    return _recorded(path, _stamp(path), iteration)


def _stamp(path: str) -> int:
    """When the trace was last written; 0 of one that is not there."""
    try:
        return max((one.stat().st_mtime_ns for one in os.scandir(path)), default=0)
    except OSError:
        return 0


@lru_cache(KEPT)
def _recorded(path: str, stamp: int, iteration: str) -> tuple[Trace, Iterations]:  # noqa: ARG001
    trace = read_trace(Path(path))
    return trace, iterations_of(trace, iteration or None)


@lru_cache(KEPT)
def _program(path: str, stamp: int, how: ReplayOptions, choice: AlgorithmChoice) -> Program:
    trace, iterations = _recorded(path, stamp, how.iteration)
    return written(programs_of(trace, iterations, how), choice)


def programs_of(trace: Trace, iterations: Iterations, how: ReplayOptions) -> list[RankProgram]:
    """What each rank does, scaled where that is asked for. Raises InputError."""
    ranks = told(trace, compute=how.compute, marks=iterations.marks)
    if how.scale.factor > 1:
        ranks, _, _ = scaled(ranks, how.scale.factor, strong=how.scale.strong)
    return ranks
