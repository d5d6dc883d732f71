"""Aggressors: jobs beside the measured one that send until it is done."""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from weft.bench.model import Trial
from weft.core.errors import InputError, unknown_name
from weft.core.units import parse_duration, parse_size
from weft.core.words import counted

OPTION = "aggressors"
"""The option of a trial: a list of texts, each an aggressor."""

ONE_SIDED = {"put_incast": "fan_in", "get_broadcast": "fan_out"}
"""Patterns of remote memory, and which messages they send."""
SENDS = (
    *("alltoall", "allgather", "allreduce", "reduce_scatter", "broadcast", "reduce", "gather"),
    *("scatter", "alltoallv", "fan_in", "fan_out", "random_ring_bandwidth"),
    *("natural_ring_bandwidth", "random_ring_latency", "message_rate"),
    *ONE_SIDED,
)
DEFAULT_BYTES = 4096
"""SOURCE: GPCNeT 1.3, network_load_test: the size of all its congestors."""
FEWEST_NODES = 2
MOST_AGGRESSORS = 8
MOST_BYTES = 2**30
ELEMENT_BYTES = {"allreduce": 4, "reduce": 4, "reduce_scatter": 4}
"""Limits of the measuring program; sums are of floats."""
GRAMMAR = "PATTERN[:SIZE]@NODES[,sl=N][,pkey=0xKEY][,start=TIME][,placement=packed]"
MOST_LEVEL = 14
"""A port has 15 data lanes."""


@dataclass(frozen=True, slots=True)
class Aggressor:
    """What another job repeats, and where: on a `share` of all nodes, on `n_nodes`, or (both None)
    on as many as the measured job. `text` is how it was written."""

    text: str = field(compare=False)
    benchmark: str
    size_bytes: int
    share: float | None
    n_nodes: int | None
    is_packed: bool = False
    start_ns: int = 0
    service_level: int | None = None
    partition_key: int | None = None

    def count(self, n_job: int, n_all: int) -> int:
        """How many nodes it gets beside a job of `n_job`."""
        if self.n_nodes is not None:
            return self.n_nodes
        # As GPCNeT, which rounds down.
        return n_job if self.share is None else math.floor(self.share * n_all + 1e-9)


def aggressors_of(trial: Trial) -> tuple[Aggressor, ...]:
    """The aggressors of a trial. Raises InputError."""
    given = trial.options.get(OPTION, ())
    if isinstance(given, str) or not all(isinstance(one, str) for one in given):
        raise InputError(
            f"option '{OPTION}' is {given!r}", where=trial.id, expected=f'a list of "{GRAMMAR}"'
        )
    if len(given) > MOST_AGGRESSORS:
        raise InputError(
            f"{len(given)} aggressors", where=trial.id, expected=f"at most {MOST_AGGRESSORS}"
        )
    return tuple(map(parse_aggressor, given))


def in_words(aggressors: Sequence[Aggressor]) -> str:
    """'alltoall:4K@20% put_incast@8', as they were written; 'none'."""
    return " ".join(one.text for one in aggressors) or "none"


def parse_aggressor(text: str) -> Aggressor:
    """The aggressor of 'alltoall:1M@20%', 'fan_in@8,sl=1' or 'alltoall:64K@job'. Raises
    InputError."""
    head, *more = text.split(",")
    what, at, where = head.partition("@")
    benchmark, colon, size = what.partition(":")
    if not at or not where:
        raise InputError(f"aggressor '{text}' has no nodes", expected=GRAMMAR)
    if benchmark not in SENDS:
        raise unknown_name(f"no pattern '{benchmark}' for an aggressor", benchmark, SENDS)
    share, n_nodes = _place(text, where)
    named = _named(text, more)
    n_bytes = parse_size(size) if colon else DEFAULT_BYTES
    element = ELEMENT_BYTES.get(benchmark, 1)
    if not 0 < n_bytes <= MOST_BYTES or n_bytes % element:
        raise InputError(
            f"aggressor '{text}' sends {n_bytes} B",
            expected=f"multiples of {element} up to 1 GiB: it adds up floats"
            if element > 1
            else "1 B to 1 GiB",
        )
    return Aggressor(
        text,
        benchmark,
        n_bytes,
        share,
        n_nodes,
        is_packed=named.get("placement") == "packed",
        start_ns=round(parse_duration(named["start"]) * 1e9) if "start" in named else 0,
        service_level=_number(text, named, "sl", 0, MOST_LEVEL),
        partition_key=_number(text, named, "pkey", 1, 0x7FFF),
    )


def _place(text: str, where: str) -> tuple[float | None, int | None]:
    if where == "job":
        return None, None
    try:
        if where.endswith("%"):
            share = float(where[:-1]) / 100
            if 0 < share < 1:
                return share, None
        elif int(where) >= FEWEST_NODES:
            return None, int(where)
    except ValueError:
        pass
    raise InputError(
        f"aggressor '{text}' is on '{where}'",
        expected=f"a share of all nodes (20%), {FEWEST_NODES} nodes or more, or job: as many as it",
    )


_KEYS = ("sl", "pkey", "start", "placement")


def _named(text: str, parts: Sequence[str]) -> dict[str, str]:
    named: dict[str, str] = {}
    for part in parts:
        key, equals, value = part.partition("=")
        if key not in _KEYS or not equals or key in named:
            raise InputError(f"aggressor '{text}' has '{part}'", expected=GRAMMAR)
        named[key] = value
    if named.get("placement", "packed") not in {"packed", "scattered"}:
        raise InputError(
            f"aggressor '{text}' is placed '{named['placement']}'", expected="packed or scattered"
        )
    return named


def _number(text: str, named: dict[str, str], key: str, least: int, most: int) -> int | None:
    if key not in named:
        return None
    try:
        value = int(named[key], 0)
    except ValueError:
        value = -1
    if not least <= value <= most:
        raise InputError(
            f"aggressor '{text}' has {key}={named[key]}",
            expected=f"a number from {least} to {most}",
        )
    return value


def nodes_of(
    aggressors: Sequence[Aggressor], trial: Trial, nodes: Sequence[str]
) -> list[tuple[str, ...]]:
    """The nodes of each aggressor: others than the job's, no node twice, drawn alike for all
    launches on the job's nodes. Raises InputError where there are not so many."""
    job = set(trial.nodes)
    others = [node for node in nodes if node not in job]
    counts = [one.count(len(job), len(nodes)) for one in aggressors]
    for one, n in zip(aggressors, counts, strict=True):
        if n < FEWEST_NODES:
            raise InputError(
                f"aggressor '{one.text}' gets {counted(n, 'node')} of {len(nodes)}",
                where=trial.id,
                expected=f"{FEWEST_NODES} or more: its messages are between nodes",
                hint="more nodes",
            )
    if sum(counts) > len(others):
        raise InputError(
            f"too few nodes are left for aggressors: the job has {len(job)} of {len(nodes)}, they "
            f"ask for {sum(counts)}",
            where=trial.id,
            expected=f"at most {len(others)} for them",
            hint="more --nodes, fewer --job-nodes, or smaller shares",
        )
    rng = random.Random("/".join(sorted(job)))  # noqa: S311 - reproducible, not secret
    free = list(range(len(others)))
    found: dict[int, list[int]] = {}
    # Neighbours first, while there are any.
    for number, (one, n) in enumerate(zip(aggressors, counts, strict=True)):
        if one.is_packed:
            found[number] = _run(free, n)
            if not found[number]:
                raise InputError(
                    f"no {n} neighbours are left for the aggressor '{one.text}'",
                    where=trial.id,
                    expected="placement=scattered, or fewer nodes",
                )
            free = [at for at in free if at not in found[number]]
    scattered = [number for number in range(len(aggressors)) if number not in found]
    drawn = rng.sample(free, sum(counts[number] for number in scattered))
    for number in scattered:
        found[number], drawn = sorted(drawn[: counts[number]]), drawn[counts[number] :]
    return [tuple(others[at] for at in found[number]) for number in range(len(aggressors))]


def _run(free: Sequence[int], n: int) -> list[int]:
    """The first n neighbours in the order of nodes, [] where there are none."""
    for first in range(len(free) - n + 1):
        if free[first + n - 1] - free[first] == n - 1:
            return list(free[first : first + n])
    return []
