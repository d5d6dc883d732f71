"""The faults of a case of the scoreboard, one or two drawn from a seed; and its noise."""

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from weft.bench.twin.fault import Fault, parse_fault, vertex_of

Document = Mapping[str, Any]
Thing = tuple[str, tuple[str, ...]]
"""A physical thing: ("cable", its two ports, sorted), ("hca", one), ("node", one)..."""

KINDS = ("nic-slow", "nic-half", "uplink-slow", "uplink-down", "node-slow", "node-latency")


@cache
def figures() -> dict[str, Any]:
    """The figures of check.toml."""
    return tomllib.loads((Path(__file__).parent / "check.toml").read_text("utf-8"))


@dataclass(frozen=True, slots=True)
class Planted:
    """One fault of a case.

    `things`: the component, by every name that is right for it. `node` is where it is, None for a
    cable between switches. `delay_ns`, on each cable of the node, is planted in the fabric;
    everything else is a fault of the scenario.
    """

    kind: str
    text: str
    things: frozenset[Thing]
    node: str | None = None
    fault: Fault | None = None
    delay_ns: int = 0


@dataclass(frozen=True, slots=True)
class Noise:
    """Lognormal noise of every measured value, and outliers: `sigma` is a natural logarithm."""

    sigma: float
    outliers: float
    outlier_factor: float


@dataclass(frozen=True, slots=True)
class Case:
    """A measured fabric with `planted` faults; none in a healthy run."""

    number: int
    twin: str
    routing: str
    planted: tuple[Planted, ...]
    noise: Noise
    seed: str


def draw_case(
    fabric: Document, *, number: int, twin: str, routing: str, seed: int, only: str | None = None
) -> Case:
    """Case `number` of a seed with one or two faults in different places."""
    name = f"check/{seed}/{twin}/{routing}/{number}"
    draws = Random(name)  # noqa: S311
    lanes = figures()["twins"][twin]["lanes"]
    planted: list[Planted] = []
    for _ in range(draws.choice((1, 2))):
        kind = only or draws.choice(KINDS)
        planted.append(_planted(kind, fabric, lanes, planted, draws))
    return Case(number, twin, routing, tuple(planted), _noise(draws), name)


def healthy_case(*, number: int, twin: str, routing: str, seed: int) -> Case:
    """A run in which nothing is wrong."""
    name = f"healthy/{seed}/{twin}/{routing}/{number}"
    return Case(number, twin, routing, (), _noise(Random(name)), name)  # noqa: S311


def _noise(draws: Random) -> Noise:
    noise = figures()["noise"]
    sigma = draws.uniform(*noise["sigma"])
    return Noise(sigma, noise["outliers"], noise["outlier_factor"])


def _planted(
    kind: str, fabric: Document, lanes: str, before: list[Planted], draws: Random
) -> Planted:
    """A fault that shares no node and no cable with those before it."""
    taken = {thing for planted in before for thing in planted.things}
    nodes = {planted.node for planted in before} - {None}
    while True:
        if kind.startswith("uplink"):
            planted = _of_uplink(kind, draws.choice(between_switches(fabric)), draws)
        elif kind.startswith("nic"):
            planted = _of_nic(kind, draws.choice(fabric["nodes"]), fabric, lanes, draws)
        else:
            planted = _of_node(kind, draws.choice(fabric["nodes"])["name"], draws)
        if not planted.things & taken and planted.node not in nodes:
            return planted


def between_switches(fabric: Document) -> list[tuple[str, str]]:
    """Every cable that joins two switches."""
    switches = {switch["name"] for switch in fabric["switches"]}
    ends = [(link["a"], link["b"]) for link in fabric["links"]]
    return [(a, b) for a, b in ends if {vertex_of(a), vertex_of(b)} <= switches]


def _of_uplink(kind: str, ends: tuple[str, str], draws: Random) -> Planted:
    text = f"{ends[0]} down"
    if kind == "uplink-slow":
        text = f"{ends[0]} rate={1 - _drawn(kind, 'loss', draws):.4f}"
    return Planted(kind, text, frozenset({cable(*ends)}), fault=parse_fault(text))


def _of_nic(kind: str, node: Document, fabric: Document, lanes: str, draws: Random) -> Planted:
    hca = draws.choice(node["hcas"])
    ends = [(link["a"], link["b"]) for link in fabric["links"]]
    a, b = next(pair for pair in ends if hca in map(vertex_of, pair))
    things = {cable(a, b), ("hca", (hca,))}
    if len(node["hcas"]) == 1:
        things.add(("node", (node["name"],)))
    text = f"{a} lanes={lanes}"
    if kind == "nic-slow":
        text = f"{a} rate={1 - _drawn(kind, 'loss', draws):.4f}"
    return Planted(kind, text, frozenset(things), node["name"], parse_fault(text))


def _of_node(kind: str, name: str, draws: Random) -> Planted:
    things = frozenset({("node", (name,))})
    if kind == "node-slow":
        text = f"{name} slow={_drawn(kind, 'slower', draws):.3f}"
        return Planted(kind, text, things, name, parse_fault(text))
    delay_ns = round(_drawn(kind, "delay_ns", draws))
    return Planted(kind, f"{name} +{delay_ns} ns", things, name, delay_ns=delay_ns)


def _drawn(kind: str, key: str, draws: Random) -> float:
    """A figure between its least and its most; times evenly by their order of magnitude."""
    least, most = figures()["kinds"][kind][key]
    if key.endswith("_ns"):
        return math.exp(draws.uniform(math.log(least), math.log(most)))
    return draws.uniform(least, most)


def cable(a: str, b: str) -> Thing:
    """A cable as a thing."""
    return ("cable", (min(a, b), max(a, b)))
