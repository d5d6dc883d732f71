"""Faults planted in a twin: a slow cable, a cable that is down, a slow node."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from weft.core.errors import InputError, did_you_mean

GRAMMAR = "'leaf-02[6] rate=0.25', 'leaf-02[6] down' or 'n007 slow=3'"

MAX_SLOW_FACTOR = 1000

_PORT = re.compile(r"^\S+\[[1-9]\d*\]$")
_NODE = re.compile(r"^[^\s\[\]]+$")
_RANDOM_RATES = (0.1, 0.25, 0.5)
_RANDOM_SLOWNESS = (2.0, 3.0, 5.0)


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault. A cable is named by the port at either end and fails in both directions.

    Exactly one of `rate_factor` (what is left of a cable's rate), `down` and `slow_factor` (how
    many times longer a node's own part of every message takes) is set.
    """

    place: str
    rate_factor: float | None = None
    down: bool = False
    slow_factor: float | None = None

    @property
    def is_link(self) -> bool:
        """Whether a cable is at fault, not a node."""
        return self.slow_factor is None

    def describe(self) -> str:
        """The fault in the grammar `parse_fault` reads."""
        if self.down:
            return f"{self.place} down"
        if self.rate_factor is not None:
            return f"{self.place} rate={self.rate_factor:g}"
        return f"{self.place} slow={self.slow_factor:g}"

    def to_document(self) -> dict[str, Any]:
        """The fault as the scenario document has it."""
        if self.down:
            return {"link": self.place, "down": True}
        if self.rate_factor is not None:
            return {"link": self.place, "rate_factor": self.rate_factor}
        return {"node": self.place, "slow_factor": self.slow_factor}


def parse_fault(text: str) -> Fault:
    """The fault of one of the forms of `GRAMMAR`. Raises InputError."""
    words = text.split()
    if len(words) != 2:
        raise _wrong(text, "a place and what is wrong there")
    place, what = words
    if what == "down":
        return Fault(_port(text, place), down=True)
    key, equals, number = what.partition("=")
    if key == "rate" and equals:
        factor = _number(text, number)
        if not 0 < factor <= 1:
            raise _wrong(text, "a rate factor above 0 and up to 1")
        return Fault(_port(text, place), rate_factor=factor)
    if key == "slow" and equals:
        factor = _number(text, number)
        if not 1 <= factor <= MAX_SLOW_FACTOR:
            raise _wrong(text, f"a slow factor from 1 to {MAX_SLOW_FACTOR}")
        if not _NODE.match(place):
            raise _wrong(text, "a node's name before 'slow='")
        return Fault(place, slow_factor=factor)
    raise _wrong(text, "rate=, down or slow=", did_you_mean(key, ["rate", "down", "slow"]))


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
        raise InputError("a fabric without cables has nothing to break", expected="links in it")
    kinds = (["switch"] * 2 if between else []) + ["host", "node"]
    kind = rng.choice(kinds)
    if kind == "node":
        node = rng.choice([str(node["name"]) for node in fabric_document["nodes"]])
        return Fault(node, slow_factor=rng.choice(_RANDOM_SLOWNESS))
    port = rng.choice(between if kind == "switch" else to_hosts)
    return Fault(port, rate_factor=rng.choice(_RANDOM_RATES))


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


def _port(text: str, place: str) -> str:
    if not _PORT.match(place):
        raise _wrong(text, "a port such as leaf-02[6] before 'rate=' or 'down'")
    return place


def _number(text: str, number: str) -> float:
    try:
        return float(number)
    except ValueError:
        raise _wrong(text, "a number after '='") from None


def _wrong(text: str, expected: str, hint: str | None = None) -> InputError:
    return InputError(
        f"'{text}' is not a fault", expected=f"{expected}; the whole is {GRAMMAR}", hint=hint
    )
