"""Faults planted in a twin: cables that are slow, narrow, down or full of errors, bad nodes."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from weft.core.errors import InputError, did_you_mean

GRAMMAR = (
    "'leaf-02[6] rate=0.25', 'leaf-02[6] lanes=1/4', 'leaf-02[6] down', "
    "'leaf-02[6] corrected=0.01,300' (probability, ns), 'leaf-02[6] lost=0.001', "
    "'n007 slow=3' or 'n007 noise=0.1,500' (probability, mean ns)"
)

MAX_SLOW_FACTOR = 1000
MAX_LANES = 12
MAX_NS = 1e12

_PORT = re.compile(r"^\S+\[[1-9]\d*\]$")
_NODE = re.compile(r"^[^\s\[\]]+$")
_NUMBER = re.compile(r"^faults\[(\d+)\]")
_LANES = re.compile(r"^(\d{1,2})/(\d{1,2})$")
_KEYS = ("rate_factor", "lanes", "down", "corrected", "lost", "slow_factor", "noise")
_CHANCE_AND_TIME = {"corrected": "cost_ns", "noise": "mean_ns"}
_RANDOM_RATES = (0.1, 0.25, 0.5)
_RANDOM_SLOWNESS = (2.0, 3.0, 5.0)


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault. A cable is named by the port at either end and fails in both directions.

    Exactly one of the others is set: of a cable, `rate_factor` (what is left of its rate), `lanes`
    (left, of how many), `down`, `corrected` (probability, ns on the link for each) and `lost`
    (probability); of a node, `slow_factor` (how many times longer its own part of every message
    takes) and `noise` (probability, mean ns of an interruption).
    """

    place: str
    rate_factor: float | None = None
    down: bool = False
    slow_factor: float | None = None
    lanes: tuple[int, int] | None = None
    corrected: tuple[float, float] | None = None
    lost: float | None = None
    noise: tuple[float, float] | None = None

    @property
    def is_link(self) -> bool:
        """Whether a cable is at fault, not a node."""
        return self.slow_factor is None and self.noise is None

    def _kind(self) -> tuple[str, Any]:
        """The key of the scenario document that says what is wrong, and its value."""
        values = ((key, getattr(self, key)) for key in _KEYS)
        given = ((key, value) for key, value in values if value is not None)
        return next((key, value) for key, value in given if value is not False)

    def describe(self) -> str:
        """The fault in the grammar `parse_fault` reads."""
        key, value = self._kind()
        if key == "down":
            return f"{self.place} down"
        parts = value if isinstance(value, tuple) else (value,)
        text = ("/" if key == "lanes" else ",").join(f"{part:g}" for part in parts)
        return f"{self.place} {key.removesuffix('_factor')}={text}"

    def to_document(self) -> dict[str, Any]:
        """The fault as the scenario document has it."""
        key, value = self._kind()
        if key in _CHANCE_AND_TIME:
            value = dict(zip(("probability", _CHANCE_AND_TIME[key]), value, strict=True))
        elif key == "lanes":
            value = list(value)
        return {"link" if self.is_link else "node": self.place, key: value}


def by_fault(refused: InputError, faults: Sequence[Fault]) -> InputError:
    """What the engine refused, with a planted fault by its text and not by its number."""
    found = _NUMBER.match(refused.where or "")
    if found is None:
        return refused
    where = f"the fault '{faults[int(found.group(1))].describe()}'"
    return InputError(refused.what, where=where, expected=refused.expected, hint=refused.hint)


def parse_fault(text: str) -> Fault:
    """The fault of one of the forms of `GRAMMAR`. Raises InputError."""
    words = text.split()
    if len(words) != 2:
        raise _wrong(text, "a place and what is wrong there")
    place, what = words
    if what == "down":
        return Fault(_port(text, place), down=True)
    key, equals, value = what.partition("=")
    if not equals or key not in _READERS:
        known = [*_READERS, "down"]
        raise _wrong(text, "rate=, lanes=, down, slow= or another", did_you_mean(key, known))
    return _READERS[key](text, place, value)


def _read_rate(text: str, place: str, value: str) -> Fault:
    factor = _number(text, value)
    if not 0 < factor <= 1:
        raise _wrong(text, "a rate factor above 0 and up to 1")
    return Fault(_port(text, place), rate_factor=factor)


def _read_lanes(text: str, place: str, value: str) -> Fault:
    match = _LANES.match(value)
    left, of = (int(match[1]), int(match[2])) if match else (0, 0)
    if not 1 <= left <= of <= MAX_LANES:
        raise _wrong(text, f"lanes left / of how many, from 1 to {MAX_LANES}")
    return Fault(_port(text, place), lanes=(left, of))


def _read_corrected(text: str, place: str, value: str) -> Fault:
    return Fault(_port(text, place), corrected=_chance_and_ns(text, value))


def _read_lost(text: str, place: str, value: str) -> Fault:
    return Fault(_port(text, place), lost=_probability(text, value))


def _read_slow(text: str, place: str, value: str) -> Fault:
    factor = _number(text, value)
    if not 1 <= factor <= MAX_SLOW_FACTOR:
        raise _wrong(text, f"a slow factor from 1 to {MAX_SLOW_FACTOR}")
    return Fault(_node(text, place, "slow="), slow_factor=factor)


def _read_noise(text: str, place: str, value: str) -> Fault:
    return Fault(_node(text, place, "noise="), noise=_chance_and_ns(text, value))


_READERS: dict[str, Callable[[str, str, str], Fault]] = {
    "rate": _read_rate,
    "lanes": _read_lanes,
    "corrected": _read_corrected,
    "lost": _read_lost,
    "slow": _read_slow,
    "noise": _read_noise,
}


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
        raise _wrong(text, "a port such as leaf-02[6] before 'rate=', 'down' and their like")
    return place


def _node(text: str, place: str, key: str) -> str:
    if not _NODE.match(place):
        raise _wrong(text, f"a node's name before '{key}'")
    return place


def _chance_and_ns(text: str, value: str) -> tuple[float, float]:
    probability, comma, ns = value.partition(",")
    if not comma:
        raise _wrong(text, "a probability and nanoseconds, as in 0.01,300")
    time_ns = _number(text, ns)
    if not (0 <= time_ns <= MAX_NS and float(f"{time_ns:.3f}") == time_ns):
        raise _wrong(text, "nanoseconds from 0 to 1e12 with at most 3 decimals")
    return _probability(text, probability), time_ns


def _probability(text: str, value: str) -> float:
    probability = _number(text, value)
    if not 0 <= probability <= 1:
        raise _wrong(text, "a probability from 0 to 1")
    return probability


def _number(text: str, number: str) -> float:
    try:
        return float(number)
    except ValueError:
        raise _wrong(text, "a number after '='") from None


def _wrong(text: str, expected: str, hint: str | None = None) -> InputError:
    return InputError(
        f"'{text}' is not a fault", expected=f"{expected}; the whole is {GRAMMAR}", hint=hint
    )
