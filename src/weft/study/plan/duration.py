"""How long a twin takes to simulate launches, before it simulates them."""

import json
import math
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from weft.bench.model import Launch, Trial
from weft.bench.twin.backend import TwinBackend, simulate
from weft.core.errors import BenchmarkError, InputError
from weft.topology.engine import engine_module
from weft.topology.fabric_spec import Document

EVENTS_A_HOP = 1.56
EVENTS_A_MOVE = 0.83
"""Events of the engine: relative least squares over 21 launches (two nodes to 2,024, 28,672 ranks).
tests/unit/study/plan/test_duration.py holds them within a factor of two."""
PILOT_EVENTS = 1_000_000
"""A pilot is a launch of the study that ends after so many events: a fraction of a second."""
COUNTING_SECONDS = 5.0
"""Cells of a large study are counted for so long; the others are taken to be like them."""


@dataclass(frozen=True, slots=True)
class _Cell:
    """Launches that differ in their nodes and repeats alone. `build_s` is the time to write its
    scenario."""

    trial: Trial
    n_events: float
    build_s: float
    document: Document

    def unlike(self, trial: Trial) -> float:
        """How far another cell is in what its work depends on; 0 for the same cell."""
        mine, other = self.trial, trial
        far = abs(math.log2(len(mine.nodes) / len(other.nodes)))
        far += abs(math.log2(mine.tasks_per_node / other.tasks_per_node))
        far += abs(math.log2(_n_packets(mine) / _n_packets(other)))
        far += 2.0 * (_settings(mine) != _settings(other))
        return far + 100.0 * (mine.benchmark != other.benchmark)


@dataclass(frozen=True, slots=True)
class Durations:
    """`build_s`: seconds to write a scenario, one after the other; `read_s`: to read it, on any
    core. `rates`: seconds an event, by events."""

    cells: tuple[_Cell, ...]
    build_s: float
    read_s: float
    rates: tuple[tuple[float, float], ...]

    def of(self, trial: Trial) -> float:
        """Seconds of a trial's simulation on one core."""
        near = min(self.cells, key=lambda cell: cell.unlike(trial))
        n_events = near.n_events * trial.n_ranks / near.trial.n_ranks
        if near.trial.benchmark == trial.benchmark:
            n_events *= _n_packets(trial) / _n_packets(near.trial)
        _, rate = min(self.rates, key=lambda rate: abs(math.log(rate[0] / n_events)))
        return self.read_s + n_events * rate


def durations(backend: TwinBackend, trials: Sequence[Trial]) -> Durations | None:
    """About how long each trial takes on one core of this machine: the engine counts the work of
    one of each cell, and simulates the first part of three. None where it refuses all of them."""
    cells = sorted(_counted(backend, trials), key=lambda cell: cell.n_events)
    if not cells:
        return None
    build_s = sum(cell.build_s for cell in cells) / len(cells)
    first, *more = (cells[0], cells[len(cells) // 2], cells[-1])
    least_s, n_least = min(_pilot(first), _pilot(first))
    rates = []
    most_s, n_most = least_s, n_least
    for cell in more:
        seconds, n_events = _pilot(cell)
        if n_events >= n_most:
            most_s, n_most = seconds, n_events
        # Else reading the scenario is nearly all of it.
        if seconds > 1.5 * least_s and n_events > 1.5 * n_least:
            rates.append((cell.n_events, (seconds - least_s) / (n_events - n_least)))
    if not rates:
        # The one of most events tells most of what an event takes.
        return Durations(tuple(cells), build_s, 0.0, ((cells[-1].n_events, most_s / n_most),))
    read_s = max(least_s - n_least * rates[0][1], 0.0)
    return Durations(tuple(cells), build_s, read_s, tuple(rates))


def simulation_seconds(found: Durations, launches: Sequence[Launch], n_cores: int) -> float:
    """About how long the launches take on these cores, and no less than the longest."""
    of_cell: dict[str, float] = {}
    for launch in launches:
        key = _key(launch.trial)
        if key not in of_cell:
            of_cell[key] = found.of(launch.trial)
    each = [of_cell[_key(launch.trial)] for launch in launches]
    return found.build_s * len(each) + max(sum(each) / n_cores, *each)


def _counted(backend: TwinBackend, trials: Sequence[Trial]) -> list[_Cell]:
    by_cell = {_key(trial): trial for trial in trials}
    # The largest of each benchmark first, which take most of the time: the others are much like
    # them.
    place: Counter[str] = Counter()
    order: list[tuple[int, Trial]] = []
    for trial in sorted(by_cell.values(), key=lambda trial: trial.n_ranks, reverse=True):
        order.append((place[trial.benchmark], trial))
        place[trial.benchmark] += 1
    order.sort(key=lambda one: one[0])
    began = time.perf_counter()
    cells: list[_Cell] = []
    for number, trial in order:
        before = time.perf_counter()
        if number > 0 and before - began > COUNTING_SECONDS:
            break
        try:
            document = backend.scenario(Launch(trial, 0, 0))
            text = json.dumps(document)
            build_s = time.perf_counter() - before
            ((hops, moves),) = engine_module().count_work([text])
        except (ValueError, InputError):
            continue  # The launch says so when its turn comes.
        n_events = EVENTS_A_HOP * hops + EVENTS_A_MOVE * moves
        cells.append(_Cell(trial, max(n_events, 1.0), build_s, document))
    return cells


def _pilot(cell: _Cell) -> tuple[float, float]:
    """Seconds and events, as counted, of the first part of a simulation."""
    document = {**cell.document, "limits": {"max_events": PILOT_EVENTS}}
    began = time.perf_counter()
    try:
        outcome = simulate(document)
    except (BenchmarkError, InputError):
        return 0.0, cell.n_events
    seconds = time.perf_counter() - began
    return seconds, cell.n_events if outcome["status"] == "complete" else PILOT_EVENTS


def _n_packets(trial: Trial) -> int:
    """Packets of one message of each size, of 4 KiB."""
    return sum(max(1, -(-size // 4096)) for size in trial.sizes_bytes)


def _key(trial: Trial) -> str:
    """What launches that take about as long have in common."""
    of_cell = (trial.benchmark, trial.sizes_bytes, len(trial.nodes), trial.tasks_per_node)
    return f"{of_cell} {_settings(trial)}"


def _settings(trial: Trial) -> list[tuple[str, str]]:
    return sorted({**trial.arm, **trial.condition}.items())
