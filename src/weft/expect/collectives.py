"""Collectives of MPI: a sum over the steps of the fastest algorithm, or of the one asked for."""

from collections.abc import Sequence
from dataclasses import replace

from weft.catalog.machine.platform import Platform
from weft.catalog.machine.practice import practice
from weft.core.errors import InputError, unknown_name
from weft.expect.algorithms import ALGORITHMS, Ranks, Step
from weft.expect.channel import Channel, channel_of, tapered
from weft.expect.model import Conditions, Expectation, Term, joined, largest
from weft.expect.pt2pt import times

LINEAR = ("alltoall", "alltoallv", "gather", "scatter")
"""Collectives whose ranks (or whose root) may send to all others at once."""


ROOTED = ("broadcast", "reduce", "gather", "scatter")
"""Collectives in which one rank gives or takes everything."""


def collective(platform: Platform, conditions: Conditions) -> Expectation:
    """Time of a collective in us. Raises InputError.

    Without `conditions.algorithm` the fastest is taken, for what a library chooses is its own
    table; the interval reaches from the fastest's best to its worst with ranks waiting.
    """
    if conditions.n_ranks < 2:
        raise InputError("one rank alone has no collective", expected="2 ranks or more")
    costs = {
        name: _terms(platform, conditions, steps) for name, steps in _schedules(conditions).items()
    }
    if conditions.benchmark in LINEAR and conditions.algorithm in ("", "linear"):
        costs["linear"] = _linear(platform, conditions)
    spent_ns = {name: sum(term.time_ns for term in terms) for name, terms in costs.items()}
    name, *others = sorted(costs, key=lambda name: spent_ns[name])
    channel = channel_of(platform, conditions)
    terms = costs[name]
    skew = practice("collective-skew")
    waiting = [
        replace(term, spread=(term.factors[0] * skew.low, term.factors[1] * skew.high))
        for term in terms
        if term.time_ns > 0
    ]
    floor_ns, floor_name = _floor(channel, conditions)
    found = times(
        channel,
        waiting,
        conditions.size_bytes,
        formula=_formula(name, conditions),
        floor_ns=floor_ns,
        floor_name=floor_name,
        algorithm=name,
    )
    return replace(found, others=tuple((one, max(floor_ns, spent_ns[one]) / 1e3) for one in others))


def algorithms_of(benchmark: str) -> list[str]:
    """Names that `conditions.algorithm` may have."""
    linear = ["linear"] if benchmark in LINEAR else []
    return [*ALGORITHMS[benchmark], *linear]


def _schedules(conditions: Conditions) -> dict[str, list[Step]]:
    known = ALGORITHMS[conditions.benchmark]
    wanted = conditions.algorithm
    names = algorithms_of(conditions.benchmark)
    if wanted and wanted not in names:
        raise unknown_name(f"no closed form of {conditions.benchmark} by '{wanted}'", wanted, names)
    ranks = Ranks(conditions.n_nodes, conditions.tasks_per_node)
    return {
        name: schedule(ranks, conditions.size_bytes)
        for name, schedule in known.items()
        if wanted in ("", name)
    }


def _terms(platform: Platform, conditions: Conditions, steps: Sequence[Step]) -> list[Term]:
    """The parts of all steps, those of one name added up."""
    outside = None if conditions.n_nodes == 1 else channel_of(platform, conditions, inside=False)
    inside = channel_of(platform, conditions, inside=True)
    terms = []
    for step in steps:
        channel = outside if step.crossing and outside is not None else inside
        terms += [term.times(step.count) for term in _step_terms(channel, step)]
    return _by_name(terms)


def _by_name(terms: Sequence[Term]) -> list[Term]:
    parts: dict[str, list[Term]] = {}
    for term in terms:
        parts.setdefault(term.name, []).append(term)
    return [joined(name, own) for name, own in parts.items()]


def _step_terms(channel: Channel, step: Step) -> list[Term]:
    terms = channel.latency_terms(step.size_bytes)
    alone = channel.stages(step.size_bytes)
    crowded = channel.stages(step.size_bytes, max(1, step.crossing))
    if step.everywhere:
        crowded = tapered(channel, crowded)
    slowest, before = largest(crowded), largest(alone)
    excess_ns = slowest.time_ns - before.time_ns
    if excess_ns > 0:
        name = slowest.name
        if step.crossing > channel.n_hcas and "taper" not in name:
            name = f"{name}, shared by {step.crossing} ranks of a node"
        terms = [*terms, replace(slowest, name=name, time_ns=excess_ns, spread=slowest.factors)]
    if step.reduces and step.size_bytes:
        figure = practice("reduction")
        time_ns = step.size_bytes / figure.value
        spread = figure.inverse_spread
        terms = [*terms, Term("adding up", time_ns, figure.class_, spread, figure.source)]
    return terms


def _linear(platform: Platform, conditions: Conditions) -> list[Term]:
    """All messages at once: the slowest stage for each, and one latency."""
    n, size = conditions.n_ranks, conditions.size_bytes
    per_node = conditions.tasks_per_node
    one_root = conditions.benchmark in ("gather", "scatter")
    senders = 1 if one_root else per_node
    terms: list[Term] = []
    if conditions.n_nodes > 1:
        channel = channel_of(platform, conditions, inside=False)
        stages = channel.stages(size, senders)
        slowest = largest(stages if one_root else tapered(channel, stages))
        terms += [*channel.latency_terms(size), slowest.times(n - per_node)]
    if per_node > 1:
        channel = channel_of(platform, conditions, inside=True)
        terms.append(largest(channel.stages(size, senders)).times(per_node - 1))
    return _by_name(terms)


def _floor(channel: Channel, conditions: Conditions) -> tuple[float, str]:
    """Bytes that must pass the adapters of one node under any algorithm.

    Benchmarks print the mean over ranks. Where one root gives or takes everything the others may be
    done at once, their messages buffered: the mean is at least the root's own time over all ranks.
    Of a broadcast every other node must wait for the bytes.
    """
    nodes, per_node, size = conditions.n_nodes, conditions.tasks_per_node, conditions.size_bytes
    if nodes == 1:
        return 0.0, ""
    away = (nodes - 1) * per_node
    n_bytes = {
        "barrier": 0,
        # Switches may add up: each node then gives its vector and takes the sum.
        "allreduce": size,
        "reduce": size,
        "broadcast": size,
        "reduce_scatter": size * (nodes - 1) / nodes,
        "allgather": away * size,
        "alltoall": away * per_node * size,
        "alltoallv": away * per_node * size,
        "gather": away * size,
        "scatter": away * size,
    }[conditions.benchmark]
    if conditions.benchmark in ROOTED:
        share = (
            (nodes - 1) / nodes if conditions.benchmark == "broadcast" else 1 / conditions.n_ranks
        )
        mean_ns = channel.least_ns(n_bytes) * share
        return mean_ns, "mean over ranks of the bytes of the root's node, at its adapters' rate"
    return channel.least_ns(n_bytes), "the bytes of each node at its adapters' rate"


def _formula(name: str, conditions: Conditions) -> str:
    if name == "linear":
        return f"linear: {conditions.n_ranks - 1} messages at once, slowest stage each + latency"
    ranks = Ranks(conditions.n_nodes, conditions.tasks_per_node)
    steps = ALGORITHMS[conditions.benchmark][name](ranks, conditions.size_bytes)
    n_steps = sum(step.count for step in steps)
    return f"{name}: sum over {n_steps} steps of latency + shared stages"
