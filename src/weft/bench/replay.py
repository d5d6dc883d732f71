"""Programs that a twin repeats: the work of the benchmark `replay`."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from weft.bench.metrics import PROGRAMS
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
from weft.trace.program import Program, RankProgram, left_out, rank_programs, written
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
    return measured.name in PROGRAMS


def replay_steps(platform: Platform, trial: Trial, defaults: Mapping[str, Any]) -> list[Document]:
    """The work of a trial: the program's calls, once. Raises InputError."""
    program = replayed(platform, trial, defaults)
    step = {"benchmark": "schedule", "format": "calls", "text": program.text}
    return [{**step, "iterations": 1, "warmup": 0}]


def replayed(platform: Platform, trial: Trial, defaults: Mapping[str, Any]) -> Program:
    """The program of a trial, with as many ranks. Raises InputError."""
    options = {**defaults, **trial.options}
    asked = str(options.get("mpi_choice", ""))
    if APPLICATION in defaults:
        ranks = application(str(defaults[APPLICATION]), trial.n_ranks, options)
        return written(ranks, _choice(platform, trial, asked, ""))
    path, how = _replay_of(trial, options)
    trace, _ = recorded_trace(path, how.iteration)
    larger = how.scale
    if trace.n_ranks * larger.factor != trial.n_ranks:
        times = f" x {larger.factor}" if larger.factor > 1 else ""
        raise InputError(
            f"the trace has {counted(trace.n_ranks, 'rank')}{times}, the job {trial.n_ranks}",
            where=trial.id,
            expected="as many: nodes x tasks a node",
        )
    return _program(path, _stamp(path), how, _choice(platform, trial, asked, library_of(trace)))


def replay_caveats(measured: Benchmark, trial: Trial) -> list[str]:
    """What the recording of a trial lacks, in clauses; none of another benchmark."""
    if TRACE not in measured.options:
        return []
    path, how = _replay_of(trial, {**measured.options, **trial.options})
    return [f"of the recorded program: {caveat}" for caveat in program_caveats(path, how)]


def _replay_of(trial: Trial, options: Mapping[str, Any]) -> "tuple[str, ReplayOptions]":
    path = str(options[TRACE])
    if not path:
        raise InputError(
            f"benchmark '{trial.benchmark}' without a trace",
            where=trial.id,
            expected=f"option '{TRACE}': a directory that 'weft record' wrote, or an OTF2 archive",
            hint="weft replay TRACE --twin PLATFORM",
        )
    larger = RankScale(int(options["scale"]), bool(options["strong"]))
    return path, ReplayOptions(str(options["iteration"]), float(options["compute"]), larger)


def _choice(platform: Platform, trial: Trial, asked: str, recorded: str) -> "AlgorithmChoice":
    return AlgorithmChoice(platform.name, trial.tasks_per_node, asked, recorded, platform)


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
    """The algorithm of a collective: of the library that is `asked` for, if any; else by the
    platform, as for any benchmark, whose assumed rows come after the `recorded` library's choice.
    """

    platform_name: str
    tasks_per_node: int
    asked: str
    recorded: str
    platform: Platform = field(compare=False, repr=False)

    def __call__(self, name: str, size_bytes: int, n_ranks: int) -> str | None:
        """The engine's name; None for the engine's default."""
        if self.asked:
            return library_algorithm(self.asked, name, size_bytes, n_ranks, self.tasks_per_node)
        tasks, library = self.tasks_per_node, self.recorded
        chosen = self.platform.choice(name, size_bytes, n_ranks, tasks, library=library)
        if chosen is not None:
            return _of_ranks(chosen.engine)
        row = self.platform.algorithm(name, size_bytes, tasks)
        return None if row is None else _of_ranks(row.algorithm)


def library_algorithm(
    library: str, name: str, size_bytes: int, n_ranks: int, tasks_per_node: int = 1
) -> str | None:
    """The engine's name of what a library chooses; None where the catalogue does not know."""
    if library not in mpi_algorithms_names():
        return None
    found = mpi_algorithms(library).choose(name, n_ranks, size_bytes, tasks_per_node)
    return None if found is None else _of_ranks(found.engine)


def _of_ranks(algorithm: str | None) -> str | None:
    return None if algorithm in OF_NODES else algorithm


def collective_moves(step: Mapping[str, Any], n_ranks: int) -> Mapping[str, Any]:
    """What every rank exchanges in a collective, as columns."""
    with refusals():
        moves: Mapping[str, Any] = engine_module().expand_collective(json.dumps(step), n_ranks)
    return moves


def library_of(trace: Trace) -> str:
    """The catalogue's name of the MPI that a program was recorded with; "" of another one."""
    return next((name for sign, name in LIBRARIES.items() if trace.mpi.startswith(sign)), "")


def recorded_trace(path: str, iteration: str) -> tuple[Trace, Iterations]:
    """A trace and its iterations, by the call that is asked for. Raises InputError."""
    return _recorded(path, _stamp(path), iteration)


def _stamp(path: str) -> int:
    """When the trace was last written; 0 of one that is not there."""
    try:
        if os.path.isfile(path):
            return os.stat(path).st_mtime_ns
        return max((one.stat().st_mtime_ns for one in os.scandir(path)), default=0)
    except OSError:
        return 0


@lru_cache(KEPT)
def _recorded(path: str, stamp: int, iteration: str) -> tuple[Trace, Iterations]:  # noqa: ARG001
    trace = read_trace(Path(path))
    return trace, iterations_of(trace, iteration or None)


def replay_programs(path: str, how: ReplayOptions) -> list[RankProgram]:
    """What each rank does, scaled where that is asked for. Raises InputError."""
    ranks = recorded_programs(path, how)
    if how.scale.factor > 1:
        ranks, _, _ = scaled(ranks, how.scale.factor, strong=how.scale.strong)
    return ranks


def recorded_programs(path: str, how: ReplayOptions) -> list[RankProgram]:
    """What each rank did, not scaled. Raises InputError."""
    return _programs(path, _stamp(path), how.iteration, how.compute)


def program_caveats(path: str, how: ReplayOptions) -> list[str]:
    """What a trace lacks, and what of it no replay repeats. Raises InputError."""
    return _caveats(path, _stamp(path), how.iteration, how.compute)


@lru_cache(1)
def _programs(path: str, stamp: int, iteration: str, compute: float) -> list[RankProgram]:
    trace, iterations = _recorded(path, stamp, iteration)
    return rank_programs(trace, compute=compute, marks=iterations.marks)


@lru_cache(KEPT)
def _caveats(path: str, stamp: int, iteration: str, compute: float) -> list[str]:
    trace, _ = _recorded(path, stamp, iteration)
    n_ends, n_parts = left_out(_programs(path, stamp, iteration, compute))
    found = trace.caveats()
    if n_ends:
        found.append(f"{counted(n_ends, 'message')} recorded at one end only: left out")
    if n_parts:
        found.append(
            f"{counted(n_parts, 'call')} of collectives that other ranks did not make: left out"
        )
    return found


@lru_cache(KEPT)
def _program(
    path: str,
    stamp: int,  # noqa: ARG001
    how: ReplayOptions,
    choice: AlgorithmChoice,
) -> Program:
    return written(replay_programs(path, how), choice)
