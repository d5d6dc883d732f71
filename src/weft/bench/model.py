"""Trial, Launch, Sample and the Backend protocol: what every backend shares."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol

from weft.bench.twin.fault import Fault
from weft.cluster.ssh_failure import SshFailure
from weft.core.errors import InputError
from weft.core.units import MOST_BYTES
from weft.results.lines.number import LARGEST_MEASURED

SAMPLE_SCHEMA = "weft.sample/1"


@dataclass(frozen=True, slots=True)
class Trial:
    """One cell of a plan: arm x nodes x tasks_per_node x benchmark x node set.

    `id` is stable for a given study and unique in its plan. `arm` names the setting of each factor
    that is compared, `condition` of each other; `env` and `options` are what these settings mean to
    a backend (environment variables of a live launch; benchmark options such as `iterations`,
    `warmup`, `window`, `validate`, `sync`, `rounds`, `phases`). `sizes_bytes` is (0,) for a
    benchmark without sizes.
    """

    id: str
    benchmark: str
    sizes_bytes: tuple[int, ...]
    nodes: tuple[str, ...]
    tasks_per_node: int
    arm: Mapping[str, str] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    node_set: int = 0
    timeout_s: float = 300.0
    condition: Mapping[str, str] = field(default_factory=dict)

    @property
    def n_ranks(self) -> int:
        """Ranks of one launch."""
        return len(self.nodes) * self.tasks_per_node

    def setting(self, factor: str) -> str:
        """The setting of a factor, compared or not."""
        return {**self.arm, **self.condition}[factor]

    def node_of(self, rank: int) -> str:
        """The node of a rank: ranks fill one node after the other."""
        return self.nodes[rank // self.tasks_per_node]

    def endpoint(self, rank: int) -> str:
        """'n001', or 'n001:3' where a node holds several ranks."""
        node = self.node_of(rank)
        return node if self.tasks_per_node == 1 else f"{node}:{rank}"


@dataclass(frozen=True, slots=True)
class Launch:
    """One repetition of a trial: the unit of replication. `order` is its place in the run."""

    trial: Trial
    repeat: int
    order: int
    block: int = 0

    @property
    def key(self) -> tuple[str, int]:
        """Identity within a run: (trial id, repeat)."""
        return (self.trial.id, self.repeat)

    @property
    def name(self) -> str:
        """A file-name-safe name: 't003-latency.r01'."""
        return f"{self.trial.id}.r{self.repeat:02d}"


class State(StrEnum):
    """The fate of the cell a sample stands for. Only OK samples support a verdict."""

    OK = "ok"
    FAILED = "failed"
    HUNG = "hung"
    UNTREATED = "untreated"
    NOT_ON_FABRIC = "not_on_fabric"


@dataclass(frozen=True, slots=True)
class Pair:
    """Two endpoints of a pairwise measurement (node names, or node:rank when a node holds several
    ranks), the round it ran in, and how many pairs ran at the same time."""

    a: str
    b: str
    round: int
    n_concurrent: int


@dataclass(frozen=True, slots=True)
class Sample:
    """One measured value vector: (launch, size) or (launch, size, pair).

    `metrics` are by name with the unit last (`latency_us_p50`, `bandwidth_mb_s`,
    `msg_rate_mps`...). `times_ns` is the whole series, one integer per timed iteration, of the
    maximum over ranks of local stop - start (for pt2pt: of the timing rank). `flags` are caveats:
    `oversubscribed`, `skew_dominates`, `late_starts`, `invalid_data`, `outside_fit`,
    `flow_level`, `extrapolated`. `evidence` holds what proves transport and treatment.
    """

    trial: str
    repeat: int
    benchmark: str
    size_bytes: int
    metrics: Mapping[str, float]
    iterations: int
    started_unix_s: float
    state: State = State.OK
    flags: tuple[str, ...] = ()
    pair: Pair | None = None
    times_ns: tuple[int, ...] | None = None
    note: str | None = None
    evidence: Mapping[str, Any] = field(default_factory=dict)

    def to_record(self) -> dict[str, Any]:
        """The sample as plain JSON values (schema weft.sample/1)."""
        record: dict[str, Any] = {
            "record": "sample",
            "trial": self.trial,
            "repeat": self.repeat,
            "benchmark": self.benchmark,
            "size_bytes": self.size_bytes,
            "metrics": dict(self.metrics),
            "iterations": self.iterations,
            "started_unix_s": self.started_unix_s,
            "state": self.state.value,
        }
        if self.flags:
            record["flags"] = list(self.flags)
        if self.pair is not None:
            pair = self.pair
            record["pair"] = [pair.a, pair.b, pair.round, pair.n_concurrent]
        if self.times_ns is not None:
            record["times_ns"] = list(self.times_ns)
        if self.note is not None:
            record["note"] = self.note
        if self.evidence:
            record["evidence"] = dict(self.evidence)
        return record

    @staticmethod
    def from_record(record: Mapping[str, Any]) -> "Sample":
        """The sample of a record. Unknown keys are ignored (a newer writer); raises InputError."""
        try:
            pair = record.get("pair")
            times = record.get("times_ns")
            return Sample(
                trial=str(record["trial"]),
                repeat=_whole(record["repeat"]),
                benchmark=str(record["benchmark"]),
                size_bytes=_whole(record["size_bytes"]),
                metrics={str(k): _measured(v) for k, v in record["metrics"].items()},
                iterations=_whole(record["iterations"]),
                started_unix_s=_measured(record["started_unix_s"]),
                state=State(record["state"]),
                flags=tuple(map(str, record.get("flags", ()))),
                pair=_pair(pair) if pair else None,
                times_ns=_wholes(times) if times is not None else None,
                note=record.get("note"),
                evidence=dict(record.get("evidence", {})),
            )
        except (LookupError, TypeError, ValueError, OverflowError, AttributeError) as error:
            raise InputError(
                f"not a sample record ({type(error).__name__}: {error})",
                expected=f"schema {SAMPLE_SCHEMA}",
            ) from error


def _whole(value: Any) -> int:
    number = int(value)
    if abs(number) > MOST_BYTES:
        raise ValueError(f"a number above {MOST_BYTES}")
    return number


def _wholes(values: Sequence[Any]) -> tuple[int, ...]:
    """As `_whole` of each: at once where all are integers, as in each file of weft's own."""
    if set(map(type, values)) <= {int} and values and max(map(abs, values)) <= MOST_BYTES:
        return tuple(values)
    return tuple(map(_whole, values))


def _measured(value: Any) -> float:
    number = float(value)
    if not abs(number) <= LARGEST_MEASURED:
        raise ValueError(f"a figure above {LARGEST_MEASURED:g}")
    return number


def _pair(ends: Sequence[Any]) -> Pair:
    return Pair(str(ends[0]), str(ends[1]), _whole(ends[2]), _whole(ends[3]))


class Backend(Protocol):
    """The protocol of everything that turns a launch into samples.

    `prepare` is called once, before any launch, with the run directory to write `raw/` and
    `recipes/` into. `ahead` is told the launches that come next. `measure` yields the samples of
    one launch; it raises BenchmarkError when the launch failed or hung (after ending whatever it
    started) and MissingError when this machine lacks what it needs. `recipe` says, without running
    anything, what `measure` would do: for a live backend the exact command line, for a twin the
    scenario.
    """

    name: str

    @property
    def fabric_document(self) -> Mapping[str, Any] | None:
        """The fabric under test (schema weft.fabric/1); None where the backend knows none."""
        ...

    @property
    def faults(self) -> Sequence[Fault]:
        """The planted faults; only a twin has any."""
        ...

    @property
    def lost_hosts(self) -> Mapping[str, SshFailure]:
        """The hosts that did not answer when last asked, and why; only a live backend has any."""
        ...

    def prepare(self, trials: Sequence[Trial], run_dir: Path) -> None:
        """Get ready once, before any launch; `raw/` and `recipes/` go into `run_dir`."""
        ...

    def ahead(self, launches: Sequence[Launch]) -> None:
        """Do what can be done together for the launches that come next, before the first of
        them; a machine does nothing."""
        ...

    def measure(self, launch: Launch) -> Iterator[Sample]:
        """Run one launch and yield its samples."""
        ...

    def recipe(self, launch: Launch) -> str:
        """The command or scenario of `measure`, without running it."""
        ...

    def facts(self) -> Mapping[str, Any]:
        """The record of this backend in a run: versions, platform digest, host facts."""
        ...

    def close(self) -> None:
        """Release what `prepare` took."""
        ...
