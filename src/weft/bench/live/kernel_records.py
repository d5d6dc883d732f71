"""The kernel's JSON Lines (schema weft.kernel/1, docs/reference/kernel_output.md), read whole.

Lines that are no records (a launcher's, a loader's) are passed over; a record that is broken, or
an output without its `end`, is an error.
"""

import json
import re
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from weft.core.errors import BenchmarkError

KERNEL_SCHEMA = "weft.kernel/1"
MAX_LINE = 2**28  # characters: ten million iterations fit; endless text without an end does not
MAX_NOISE_LINE = 4000
NOISE_KEPT = 40  # lines; launchers say on standard output, too, which process died

# Prefixes that launchers put before a line: '[1,0]<stdout>:', '[0] ', '3: ', and terminal colours.
_PREFIX = re.compile(r"^(?:\x1b\[[0-9;]*m|\[\d+(?:,\d+)*\](?:<std(?:out|err)>)?:?|\d+:|\s)*(?=\{)")
_TERMINAL = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


class _Record(BaseModel):
    """Keys a newer kernel adds are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Header(_Record):
    """The run: kernel, MPI library, ranks, clock."""

    schema_: str = Field(alias="schema")
    kernel_version: str
    mpi_library: str
    mpi_standard: str
    n_ranks: int
    started_unix_ns: int
    clock: str
    clock_resolution_ns: int
    clock_cost_ns: int = 0
    common_clock: bool = True
    n_machines: int | None = None
    quiet_ns: int = 0


class KernelRank(_Record):
    """Where one rank ran."""

    rank: int
    host: str
    local_rank: int
    tasks_per_node: int
    pid: int
    cpus: str | None = None
    cpu: int | None = None
    n_cpus: int | None = None
    n_sharing_cpus: int | None = None
    n_machine_cpus: int | None = None
    cpu_numa_nodes: str | None = None
    rail: str | None = None
    rail_settings: dict[str, str] = {}
    oversubscribed: bool = False


class Skew(_Record):
    """How far apart in time the ranks started, nanoseconds."""

    p50: float
    p90: float
    max: float


class RankTimes(_Record):
    """One rank's own times of a row, nanoseconds."""

    rank: int
    min: float
    p50: float
    mean: float
    max: float


class KernelRow(_Record):
    """One (benchmark, size)."""

    benchmark: str
    size_bytes: int
    iterations: int
    warmup: int
    window: int | None = None
    n_pairs: int | None = None
    times_ns: tuple[int, ...] = Field(min_length=1)
    skew_ns: Skew | None = None
    ranks_ns: tuple[RankTimes, ...] = ()
    late: tuple[int, ...] | None = None
    n_errors: int = 0
    most_bytes: int | None = None

    @property
    def mostly_late(self) -> bool:
        """Whether some rank missed the agreed start of half of the iterations or more."""
        return self.late is not None and 2 * len(self.late) >= len(self.times_ns)

    @property
    def judged_ns(self) -> tuple[int, ...]:
        """The times to judge: those of ranks that started together, all where hardly any did."""
        if not self.late or self.mostly_late:
            return self.times_ns
        late = frozenset(self.late)
        return tuple(t for place, t in enumerate(self.times_ns) if place not in late)


class PairRow(_Record):
    """One (round, pair, size, kind) of the benchmark `pairs`.

    `times_ns` are all of a short series in order, or quantiles of a long one (`times`), evenly from
    the least to the greatest. `crowded`: more ranks of its round than CPUs shared the host of
    either end; None where the kernel did not say.
    """

    round: int
    n_concurrent: int
    rank_a: int
    rank_b: int
    size_bytes: int
    kind: str
    iterations: int
    window: int | None = None
    times_ns: tuple[int, ...] = Field(min_length=1)
    times: str = "all"
    total_ns: int | None = None
    crowded: bool | None = None
    n_errors: int = 0

    @property
    def judged_ns(self) -> tuple[float, ...]:
        """A series with the median of the whole one (latency), or with its mean (bandwidth)."""
        if self.times == "all" or self.total_ns is None or self.kind == "latency":
            return self.times_ns
        return (self.total_ns / self.iterations,)


class _Counter(_Record):
    """A counter of a network device of a host."""

    host: str
    device: str
    port: int | None = None
    link_layer: str | None = None
    virtual: bool = False
    state: str | None = None
    link_rate_gbps: float | None = None
    numa_node: int | None = None
    counter: str

    @property
    def name(self) -> str:
        """The device as it is named to an MPI library: 'mlx5_0:1', 'cxi0', 'eth0'."""
        return self.device if self.port is None else f"{self.device}:{self.port}"


class DeviceCounter(_Counter):
    """One counter, before the first benchmark and after the last."""

    before: int
    after: int

    @property
    def delta(self) -> int:
        """Its growth; a counter that went backwards was reset, and counts as 0."""
        return max(0, self.after - self.before)


class QuietCounter(_Counter):
    """One counter that moved while no rank sent."""

    delta: int = Field(gt=0)
    elapsed_ns: int = Field(gt=0)


class Transport(_Record):
    """The transport that the MPI library of one host reports as selected."""

    host: str
    mpi_selected: str | None = None
    open_devices: tuple[str, ...] = ()


class AggressorRecord(_Record):
    """What the ranks of an aggressor repeated beside a benchmark."""

    beside: str
    benchmark: str
    size_bytes: int
    n_ranks: int
    iterations: int
    elapsed_ns: int = Field(gt=0)


class KernelFailure(_Record):
    """An error record: the kernel stopped itself."""

    rank: int | None = None
    host: str | None = None
    where: str | None = None
    message: str


class End(_Record):
    """The run came to its end."""

    elapsed_ns: int


@dataclass(slots=True)
class KernelOutput:
    """All records of a launch so far, in their order."""

    header: Header | None = None
    ranks: list[KernelRank] = field(default_factory=list)
    rows: list[KernelRow] = field(default_factory=list)
    pair_rows: list[PairRow] = field(default_factory=list)
    quiet: list[QuietCounter] = field(default_factory=list)
    aggressors: list[AggressorRecord] = field(default_factory=list)
    devices: list[DeviceCounter] = field(default_factory=list)
    transports: list[Transport] = field(default_factory=list)
    failures: list[KernelFailure] = field(default_factory=list)
    end: End | None = None
    n_noise_lines: int = 0
    last_noise: deque[str] = field(default_factory=lambda: deque(maxlen=NOISE_KEPT))
    broken: str | None = None

    @property
    def n_measuring(self) -> int:
        """The ranks that measure: without those of aggressors."""
        first = self.aggressors[0].beside if self.aggressors else ""
        beside = (one.n_ranks for one in self.aggressors if one.beside == first)
        return len(self.ranks) - sum(beside)

    def host_of(self, rank: int) -> str | None:
        """The host that a rank reported."""
        return next((r.host for r in self.ranks if r.rank == rank), None)

    @property
    def last_record(self) -> str:
        """The last thing the kernel reported, in words."""
        if self.pair_rows:
            row = self.pair_rows[-1]
            return f"round {row.round} of pairs, ranks {row.rank_a} and {row.rank_b}"
        if self.rows:
            return f"{self.rows[-1].benchmark} at {self.rows[-1].size_bytes} B"
        if self.ranks:
            return f"all {len(self.ranks)} ranks had started"
        return "the kernel had started" if self.header else "nothing"


_LISTS: dict[str, tuple[str, type[_Record]]] = {
    "rank": ("ranks", KernelRank),
    "row": ("rows", KernelRow),
    "pair_row": ("pair_rows", PairRow),
    "quiet": ("quiet", QuietCounter),
    "aggressor": ("aggressors", AggressorRecord),
    "device": ("devices", DeviceCounter),
    "transport": ("transports", Transport),
    "error": ("failures", KernelFailure),
}
_ONCE: dict[str, tuple[str, type[_Record]]] = {"header": ("header", Header), "end": ("end", End)}


def read_kernel_output(path: Path) -> KernelOutput:
    """Everything the kernel wrote to this file, whether or not it came to its end.

    `broken` names the first record that could not be read. Raises BenchmarkError on another
    schema.
    """
    with path.open(encoding="utf-8", errors="replace") as file:
        return parse_lines(iter(lambda: file.readline(MAX_LINE), ""), str(path))


def parse_lines(lines: Iterable[str], where: str) -> KernelOutput:
    """The same, of lines. `where` names their source in errors."""
    output = KernelOutput()
    for number, record in _records(lines, where, output):
        try:
            _take(output, record)
        except ValidationError as error:
            first = error.errors()[0]
            key = ".".join(str(part) for part in first["loc"])
            _note_broken(output, f"{where}:{number}: '{key}': {first['msg']}")
    _check_schema(output, where)
    return output


def _records(
    lines: Iterable[str], where: str, output: KernelOutput
) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(lines, start=1):
        text = _PREFIX.sub("", line, count=1).strip()
        if "\x1b" in text:
            text = _TERMINAL.sub("", text)
        try:
            record = json.loads(text) if text.startswith("{") else None
        except ValueError:
            record = None
            if '"record"' in text:
                _note_broken(output, f"{where}:{number}: a record that is cut or mixed with text")
        if isinstance(record, dict) and isinstance(record.get("record"), str):
            yield number, record
        elif text:
            output.n_noise_lines += 1
            output.last_noise.append(text[:MAX_NOISE_LINE])


def _take(output: KernelOutput, record: dict[str, Any]) -> None:
    kind = record["record"]
    if kind in _ONCE:
        name, model = _ONCE[kind]
        setattr(output, name, model.model_validate(record))
    elif kind in _LISTS:
        name, model = _LISTS[kind]
        getattr(output, name).append(model.model_validate(record))


def _note_broken(output: KernelOutput, text: str) -> None:
    if output.broken is None:
        output.broken = text


def _check_schema(output: KernelOutput, where: str) -> None:
    if output.header is not None and output.header.schema_ != KERNEL_SCHEMA:
        raise BenchmarkError(
            f"the kernel speaks '{output.header.schema_}'",
            where=where,
            expected=KERNEL_SCHEMA,
            hint="the compiled kernel and weft are of different versions",
        )
