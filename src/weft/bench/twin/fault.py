"""Faults planted in a twin: cables that are slow, narrow, down or full of errors, bad nodes."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from weft.core.errors import InputError, did_you_mean

MAX_SLOW_FACTOR = 1000
MAX_LANES = 12
MAX_NS = 1e12

_PORT = re.compile(r"^\S(?:.*\S)?\[[1-9]\d*\]$")
_NODE = re.compile(r"^[^\s\[\]]+$")
_NUMBER = re.compile(r"^faults\[(\d+)\]")
_LANES = re.compile(r"^(\d{1,2})/(\d{1,2})$")
_RANDOM_RATES = (0.1, 0.25, 0.5)
_RANDOM_SLOWNESS = (2.0, 3.0, 5.0)

Numbers = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault. `place` is a node, or the port at either end of a cable, which fails in both
    directions. `kind` is a name in FAULT_KINDS, `values` are its numbers."""

    place: str
    kind: str
    values: Numbers = ()

    @property
    def is_link(self) -> bool:
        """Whether a cable is at fault, not a node."""
        return not FAULT_KINDS[self.kind].of_node

    @property
    def is_random(self) -> bool:
        """Whether each message draws if it is hit."""
        return FAULT_KINDS[self.kind].is_random

    def describe(self) -> str:
        """The fault in the grammar that `parse_fault` reads."""
        separator = FAULT_KINDS[self.kind].separator
        values = separator.join(f"{value:g}" for value in self.values)
        return f"{self.place} {self.kind}={values}" if values else f"{self.place} {self.kind}"

    def to_document(self) -> dict[str, Any]:
        """The fault as the scenario document has it."""
        kind = FAULT_KINDS[self.kind]
        where = "node" if kind.of_node else "link"
        return {where: self.place, kind.key: kind.document(self.values)}


def by_fault(refused: InputError, faults: Sequence[Fault]) -> InputError:
    """The engine's refusal, with a planted fault by its text and not by its number."""
    found = _NUMBER.match(refused.where or "")
    if found is None:
        return refused
    where = f"the fault '{faults[int(found.group(1))].describe()}'"
    return InputError(refused.what, where=where, expected=refused.expected, hint=refused.hint)


def parse_fault(text: str) -> Fault:
    """The fault of one of the forms of `GRAMMAR`. Raises InputError."""
    # Switches of real fabrics have blanks in their names.
    place, _, fault = text.strip().rpartition(" ")
    place, (name, equals, value) = place.rstrip(), fault.partition("=")
    if not place:
        raise _wrong(text, "a place and what is wrong there")
    kind = FAULT_KINDS.get(name)
    if kind is None or bool(equals) != bool(kind.example):
        names = ", ".join(f"{name}=" if kind.example else name for name, kind in _KINDS)
        raise _wrong(text, names, did_you_mean(name, list(FAULT_KINDS)))
    if kind.of_node and not _NODE.match(place):
        raise _wrong(text, f"a node's name before '{name}='")
    if not kind.of_node and not _PORT.match(place):
        raise _wrong(text, f"a port such as leaf-02[6] before '{fault}'")
    try:
        return Fault(place, name, kind.read(value))
    except _NotReadError as error:
        raise _wrong(text, str(error)) from None


class _NotReadError(Exception):
    """A value is none of its kind; the text says what was expected."""


def _rate(text: str) -> Numbers:
    factor = _number(text)
    if not 0 < factor <= 1:
        raise _NotReadError("a rate factor above 0 and up to 1")
    return (factor,)


def _lanes(text: str) -> Numbers:
    match = _LANES.match(text)
    left, of = (int(match[1]), int(match[2])) if match else (0, 0)
    if not 1 <= left <= of <= MAX_LANES:
        raise _NotReadError(f"lanes left / of how many, from 1 to {MAX_LANES}")
    return left, of


def _slow(text: str) -> Numbers:
    factor = _number(text)
    if not 1 <= factor <= MAX_SLOW_FACTOR:
        raise _NotReadError(f"a slow factor from 1 to {MAX_SLOW_FACTOR}")
    return (factor,)


def _probability(text: str) -> Numbers:
    probability = _number(text)
    if not 0 <= probability <= 1:
        raise _NotReadError("a probability from 0 to 1")
    return (probability,)


def _probability_and_ns(text: str) -> Numbers:
    probability, comma, ns = text.partition(",")
    if not comma:
        raise _NotReadError("a probability and nanoseconds, as in 0.01,300")
    time_ns = _number(ns)
    if not (0 <= time_ns <= MAX_NS and float(f"{time_ns:.3f}") == time_ns):
        raise _NotReadError("nanoseconds from 0 to 1e12 with at most 3 decimals")
    return *_probability(probability), time_ns


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise _NotReadError("a number after '='") from None


def _one(values: Numbers) -> object:
    return values[0]


@dataclass(frozen=True, slots=True)
class FaultKind:
    """A kind of fault: its `key` in the scenario document, its value there, an `example` of its
    value in the grammar ('' for none), and the `meaning` of the value's numbers."""

    key: str
    example: str
    read: Callable[[str], Numbers]
    document: Callable[[Numbers], object] = _one
    meaning: str = ""
    of_node: bool = False
    is_random: bool = False
    separator: str = ","

    def form(self, name: str) -> str:
        """One line of the grammar: "'leaf-02[6] rate=0.25'"."""
        place = "n007" if self.of_node else "leaf-02[6]"
        value = f"={self.example}" if self.example else ""
        return f"'{place} {name}{value}'" + (f" ({self.meaning})" if self.meaning else "")


FAULT_KINDS: Mapping[str, FaultKind] = {
    "rate": FaultKind("rate_factor", "0.25", _rate),
    "lanes": FaultKind("lanes", "1/4", _lanes, list, separator="/"),
    "down": FaultKind("down", "", lambda _: (), lambda _: True),
    "corrected": FaultKind(
        "corrected",
        "0.01,300",
        _probability_and_ns,
        lambda values: {"probability": values[0], "cost_ns": values[1]},
        "probability, ns",
        is_random=True,
    ),
    "lost": FaultKind("lost", "0.001", _probability, meaning="probability", is_random=True),
    "slow": FaultKind("slow_factor", "3", _slow, of_node=True),
    "noise": FaultKind(
        "noise",
        "0.1,500",
        _probability_and_ns,
        lambda values: {"probability": values[0], "mean_ns": values[1]},
        "probability, mean ns",
        of_node=True,
        is_random=True,
    ),
}
"""By the name in the grammar. Of a cable: the share of its rate that is left, lanes left of how
many, down, errors that the link corrects (each costs time), and lost packets. Of a node: how many
times longer its own part of every message takes, and interruptions of its processors."""

_KINDS = tuple(FAULT_KINDS.items())
GRAMMAR = ", ".join(kind.form(name) for name, kind in _KINDS)


def random_fault(fabric_document: Mapping[str, Any], seed: int) -> Fault:
    """A slow cable between switches, a slow cable of a node, or a slow node, drawn by seed.

    Raises InputError on a fabric without cables.
    """
    rng = Random(f"fault/{seed}")  # noqa: S311
    switches = {switch["name"] for switch in fabric_document["switches"]}
    between: list[str] = []
    to_hosts: list[str] = []
    for link in fabric_document["links"]:
        ends = (str(link["a"]), str(link["b"]))
        inner = all(vertex_of(end) in switches for end in ends)
        (between if inner else to_hosts).append(
            next(end for end in ends if vertex_of(end) in switches)
        )
    if not between and not to_hosts:
        raise InputError("this fabric has no cable to break", expected="links in it")
    kinds = (["switch"] * 2 if between else []) + ["host", "node"]
    kind = rng.choice(kinds)
    if kind == "node":
        node = rng.choice([str(node["name"]) for node in fabric_document["nodes"]])
        return Fault(node, "slow", (rng.choice(_RANDOM_SLOWNESS),))
    port = rng.choice(between if kind == "switch" else to_hosts)
    return Fault(port, "rate", (rng.choice(_RANDOM_RATES),))


def check_fault(fault: Fault, fabric_document: Mapping[str, Any]) -> None:
    """Raises InputError where the fabric has no such cable or node."""
    if fault.is_link:
        known = [str(link[end]) for link in fabric_document["links"] for end in ("a", "b")]
        what, expected = "cable at", "a cabled port of this fabric, such as"
    else:
        known = [str(node["name"]) for node in fabric_document["nodes"]]
        what, expected = "node", "a node of this fabric, such as"
    if fault.place not in known:
        raise InputError(
            f"no {what} '{fault.place}' to plant a fault in",
            where=f"'{fault.describe()}'",
            expected=f"{expected} {known[-1] if known else 'none: it has none'}",
            hint=did_you_mean(fault.place, known),
        )


def vertex_of(port: str) -> str:
    """'leaf-02' of 'leaf-02[6]'."""
    return port.rpartition("[")[0]


def _wrong(text: str, expected: str, hint: str | None = None) -> InputError:
    return InputError(
        f"'{text}' is not a fault", expected=f"{expected}; the forms are {GRAMMAR}", hint=hint
    )
