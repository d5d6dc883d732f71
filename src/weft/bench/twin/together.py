"""Many simulations at once: on the cores of this machine, or on the ranks of an MPI job."""

import contextlib
import importlib.util
import json
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, cast

from weft.bench.model import Launch
from weft.catalog.document import to_toml
from weft.catalog.machine.platform import Platform
from weft.core.errors import InputError, MissingError
from weft.core.work.progress import each
from weft.topology.engine import engine_at_work, engine_module
from weft.topology.fabric_spec import Document

if TYPE_CHECKING:
    from mpi4py.futures import MPICommExecutor, MPIPoolExecutor
    from mpi4py.MPI import Intracomm

Outcomes = dict[tuple[str, int], list[Mapping[str, Any]]]
"""By launch the outcomes of its parts."""

LAUNCHER_READS_S = 1.0
"""A launcher may end a job without passing on what a rank has just written."""
MOST_BYTES = 256 << 20
"""Of scenarios that this machine simulates together: one of 8,008 nodes with tables has 10 MB."""


class Twin(Protocol):
    """Of a simulated fabric, which can be pickled, what it takes to simulate launches."""

    platform: Platform

    def parts(self, launch: Launch) -> list[Document]:
        """The scenarios of a launch. Raises InputError."""

    def with_platform(self, platform: Platform) -> "Twin":
        """The same twin of a platform with other figures. Raises InputError."""


class Simulator(Protocol):
    """Simulates launches together, each on one of `n_cores`. Launches that the engine refuses have
    no outcomes: they say so when their turn comes."""

    n_cores: int

    def outcomes(self, twin: Twin, launches: Sequence[Launch]) -> Outcomes:
        """The outcomes of launches, the largest first: at the end no core waits long."""


class OwnCores:
    """The cores of this machine."""

    n_cores = os.cpu_count() or 1

    def outcomes(self, twin: Twin, launches: Sequence[Launch]) -> Outcomes:
        """Of all launches, as many in one call of the engine as fit into memory."""
        found: Outcomes = {}
        texts: list[tuple[tuple[str, int], str]] = []
        n_bytes = 0
        for launch in largest_first(launches):
            for part in twin.parts(launch):
                texts.append((launch.key, json.dumps(part)))
                n_bytes += len(texts[-1][1])
            if n_bytes > MOST_BYTES:
                _simulate(texts, found)
                texts, n_bytes = [], 0
        _simulate(texts, found)
        return found


def _simulate(texts: Sequence[tuple[tuple[str, int], str]], found: Outcomes) -> None:
    if len(texts) < 2:
        return
    with contextlib.suppress(ValueError), engine_at_work("simulating") as engine:
        simulated = engine.simulate([text for _, text in texts], 0)
        for (key, _), outcome in zip(texts, simulated, strict=True):
            found.setdefault(key, []).append(outcome)


class MpiRanks:
    """The other ranks of an MPI job, each with a copy of the twin: this rank hands out launches."""

    def __init__(self, communicator: "Intracomm") -> None:
        self.n_cores = communicator.Get_size() - 1
        self._communicator = communicator
        self._executor: MPICommExecutor | None = None
        self._pool: MPIPoolExecutor | None = None
        self._has_sent = False

    def outcomes(self, twin: Twin, launches: Sequence[Launch]) -> Outcomes:
        """Of all launches; each rank has one at a time."""
        pool = self._pool or self._started(twin)
        machine = to_toml(twin.platform)
        waiting = [
            (launch.key, pool.submit(_on_rank, launch, machine, twin.platform))
            for launch in largest_first(launches)
        ]
        simulated = each(waiting, "simulating", unit="launch")
        found = ((key, future.result()) for key, future in simulated)
        return {key: outcomes for key, outcomes in found if outcomes is not None}

    def close(self, *, failed: bool) -> None:
        """Let the other ranks end; after a failure without what they were to do next."""
        if not self._has_sent:
            _wake(self._communicator)
            self._communicator.bcast(None)
            return
        if self._executor is None or self._pool is None:
            self._communicator.Abort(1)
            return
        if failed:
            self._pool.shutdown(wait=False, cancel_futures=True)
        self._executor.__exit__(None, None, None)

    def _started(self, twin: Twin) -> "MPIPoolExecutor":
        from mpi4py.futures import MPICommExecutor

        _wake(self._communicator)
        self._has_sent = True
        self._communicator.bcast(twin)
        self._executor = MPICommExecutor(self._communicator, root=0)
        self._pool = cast("MPIPoolExecutor", self._executor.__enter__())
        return self._pool


@contextlib.contextmanager
def mpi_ranks() -> Iterator[MpiRanks | None]:
    """The ranks of the MPI job that this process is one of. On the other ranks it returns once all
    is simulated, with None: these have nothing more to do.

    Raises MissingError without mpi4py, InputError for a process that no launcher has started with
    others.
    """
    communicator = _world()
    if communicator.Get_rank() > 0:
        try:
            _serve(communicator)
        except BaseException as error:
            # The first rank would wait for this one for ever.
            where = f"rank {communicator.Get_rank()} on {os.uname().nodename}"
            print(f"weft: {where}: {error or type(error).__name__}", file=sys.stderr, flush=True)
            time.sleep(LAUNCHER_READS_S)
            communicator.Abort(1)
            raise
        yield None
        return
    ranks = MpiRanks(communicator)
    try:
        yield ranks
    except KeyboardInterrupt:
        # Simulations cannot be interrupted, and what is done is kept: the launcher ends them all.
        communicator.Abort(130)
        raise
    except BaseException:
        ranks.close(failed=True)
        raise
    else:
        ranks.close(failed=False)


def largest_first(launches: Sequence[Launch]) -> list[Launch]:
    """By their number of ranks."""
    return sorted(launches, key=lambda launch: launch.trial.n_ranks, reverse=True)


def _world() -> "Intracomm":
    try:
        from mpi4py import MPI
    except ImportError as error:
        is_there = importlib.util.find_spec("mpi4py") is not None
        raise MissingError(
            f"mpi4py does not load: {error}" if is_there else "no mpi4py here",
            where="--executor mpi",
            expected="mpi4py 4 or newer, and the MPI that it was built for",
            hint="pip install mpi4py, or the module of your site; MPI4PY_MPIABI=openmpi where the "
            "launcher is Open MPI's",
        ) from error
    if MPI.COMM_WORLD.Get_size() < 2:
        raise InputError(
            "one process alone has no other to simulate on",
            where="--executor mpi",
            expected="srun -n RANKS weft study run ..., or mpiexec -n RANKS; a core each",
            hint="is mpi4py built for the MPI of this launcher?",
        )
    return MPI.COMM_WORLD


_TWINS: dict[str, Twin] = {}
"""On a rank that simulates, by their platforms the twin that the first rank has sent, and the one
with other figures that was asked for last."""


def _wake(communicator: "Intracomm") -> None:
    """All ranks meet here; those that come early sleep, where a library would take a core."""
    request = communicator.Ibarrier()
    while not request.Test():
        time.sleep(0.01)


def _serve(communicator: "Intracomm") -> None:
    from mpi4py.futures import MPICommExecutor

    _wake(communicator)
    twin = communicator.bcast(None)
    if twin is None:
        return
    _TWINS[to_toml(twin.platform)] = twin
    with MPICommExecutor(communicator, root=0):
        """Simulates until the first rank ends it."""


def _on_rank(launch: Launch, machine: str, platform: Platform) -> list[Mapping[str, Any]] | None:
    """The outcomes of a launch on one core; None where the engine refuses it."""
    if machine not in _TWINS:
        sent, *others = _TWINS
        for other in others:
            del _TWINS[other]
        _TWINS[machine] = _TWINS[sent].with_platform(platform)
    parts = _TWINS[machine].parts(launch)
    try:
        return list(engine_module().simulate([json.dumps(part) for part in parts], 1))
    except ValueError:
        return None
