"""Aggressors: jobs beside the measured one that send until it is done."""

import math
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from weft.bench.model import Trial
from weft.core.errors import InputError, unknown_name
from weft.core.nodeset import expand
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
GRAMMAR = (
    "PATTERN[:SIZE]@NODES[,sl=N][,pkey=0xKEY][,start=TIME][,placement=packed][,law=LAW]"
    "[,routing=adaptive]"
)
MOST_LEVEL = 14
"""A port has 15 data lanes."""
_COMMA = re.compile(r",(?![^\[]*\])")
"""Not those of a node set, inside its brackets."""
_COUNTED = re.compile(r"@([\d.]+%?|job)?$")


@dataclass(frozen=True, slots=True)
class Aggressor:
    """What another job repeats, and where: on a `share` of all nodes, on `n_nodes`, on the `nodes`
    named, or (none of these) on as many as the measured job. `law` of congestion control and
    `routing` are the job's where it has none of its own. `text` is how it was written."""

    text: str = field(compare=False)
    benchmark: str
    size_bytes: int
    share: float | None
    n_nodes: int | None
    is_packed: bool = False
    start_ns: int = 0
    service_level: int | None = None
    partition_key: int | None = None
    nodes: tuple[str, ...] = ()
    law: str | None = None
    routing: str | None = None

    def count(self, n_job: int, n_all: int) -> int:
        """How many nodes it gets beside a job of `n_job`."""
        if self.nodes:
            return len(self.nodes)
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
    """The aggressor of 'alltoall:1M@20%', 'fan_in@8,sl=1', 'alltoall:64K@job' or
    'alltoall@n[017-032]'. Raises InputError."""
    head, *more = _COMMA.split(text)
    while more and "=" not in more[0] and not _COUNTED.search(head):
        # Names of nodes have commas, too.
        head = f"{head},{more.pop(0)}"
    what, at, where = head.partition("@")
    benchmark, colon, size = what.partition(":")
    if not at or not where:
        raise InputError(f"aggressor '{text}' has no nodes", expected=GRAMMAR)
    if benchmark not in SENDS:
        raise unknown_name(f"no pattern '{benchmark}' for an aggressor", benchmark, SENDS)
    share, n_nodes, nodes = _place(text, where)
    named = _named(text, more)
    if nodes and "placement" in named:
        raise InputError(
            f"aggressor '{text}' is placed and names its nodes", expected="one of them"
        )
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
        nodes=nodes,
        law=named.get("law"),
        routing=named.get("routing"),
    )


def named_nodes(options: Mapping[str, Any]) -> frozenset[str]:
    """The nodes that aggressors of a trial's options name: no job is drawn there. Raises
    InputError."""
    given = options.get(OPTION, ())
    # What is no list of texts is refused with its trial (`aggressors_of`).
    texts = [] if isinstance(given, str) else [one for one in given if isinstance(one, str)]
    return frozenset(node for one in map(parse_aggressor, texts) for node in one.nodes)


def _place(text: str, where: str) -> tuple[float | None, int | None, tuple[str, ...]]:
    """A share of all nodes, a number of them, or their names."""
    if where == "job":
        return None, None, ()
    try:
        if where.endswith("%"):
            share = float(where[:-1]) / 100
            if 0 < share < 1:
                return share, None, ()
        elif int(where) >= FEWEST_NODES:
            return None, int(where), ()
    except ValueError:
        names = () if where.endswith("%") else expand(where)
        if len(names) >= FEWEST_NODES:
            return None, None, names
    raise InputError(
        f"aggressor '{text}' is on '{where}'",
        expected=f"a share of all nodes (20%), {FEWEST_NODES} nodes or more, job (as many as it), "
        "or names (n[017-032])",
    )


_KEYS = ("sl", "pkey", "start", "placement", "law", "routing")
_CHOICES = {"placement": ("packed", "scattered"), "routing": ("adaptive", "static")}


def _named(text: str, parts: Sequence[str]) -> dict[str, str]:
    named: dict[str, str] = {}
    for part in parts:
        key, equals, value = part.partition("=")
        if key not in _KEYS or not equals or key in named:
            raise InputError(f"aggressor '{text}' has '{part}'", expected=GRAMMAR)
        named[key] = value
    for key, choices in _CHOICES.items():
        if named.get(key, choices[0]) not in choices:
            raise InputError(
                f"aggressor '{text}' has {key}={named[key]}", expected=" or ".join(choices)
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
    _refuse_misplaced(aggressors, trial, nodes)
    job = {*trial.nodes, *(node for one in aggressors for node in one.nodes)}
    others = [node for node in nodes if node not in job]
    counts = [one.count(len(trial.nodes), len(nodes)) for one in aggressors]
    for one, n in zip(aggressors, counts, strict=True):
        if n < FEWEST_NODES:
            raise InputError(
                f"aggressor '{one.text}' gets {counted(n, 'node')} of {len(nodes)}",
                where=trial.id,
                expected=f"{FEWEST_NODES} or more: its messages are between nodes",
                hint="more nodes",
            )
    n_drawn = sum(n for one, n in zip(aggressors, counts, strict=True) if not one.nodes)
    if n_drawn > len(others):
        raise InputError(
            f"too few nodes are left for aggressors: the job has {len(trial.nodes)} of "
            f"{len(nodes)}, they ask for {sum(counts)}",
            where=trial.id,
            expected=f"at most {len(others)} for them",
            hint="more --nodes, fewer --job-nodes, or smaller shares",
        )
    rng = random.Random("/".join(sorted(trial.nodes)))  # noqa: S311 - reproducible, not secret
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
    named = [number for number, one in enumerate(aggressors) if one.nodes]
    scattered = [n for n in range(len(aggressors)) if n not in found and n not in named]
    drawn = rng.sample(free, sum(counts[number] for number in scattered))
    for number in scattered:
        found[number], drawn = sorted(drawn[: counts[number]]), drawn[counts[number] :]
    return [
        one.nodes or tuple(others[at] for at in found[number])
        for number, one in enumerate(aggressors)
    ]


def _refuse_misplaced(aggressors: Sequence[Aggressor], trial: Trial, nodes: Sequence[str]) -> None:
    """Raises InputError for a named node that there is not, or that has another job."""
    taken = dict.fromkeys(trial.nodes, "the job")
    for one in aggressors:
        for node in one.nodes:
            if node not in nodes:
                raise InputError(
                    f"aggressor '{one.text}': no node '{node}'",
                    where=trial.id,
                    expected=f"nodes {nodes[0]} to {nodes[-1]}",
                )
            if node in taken:
                raise InputError(
                    f"aggressor '{one.text}': node '{node}' has {taken[node]}",
                    where=trial.id,
                    expected="nodes of its own",
                )
            taken[node] = f"aggressor '{one.text}'"


def _run(free: Sequence[int], n: int) -> list[int]:
    """The first n neighbours in the order of nodes, [] where there are none."""
    for first in range(len(free) - n + 1):
        if free[first + n - 1] - free[first] == n - 1:
            return list(free[first : first + n])
    return []
