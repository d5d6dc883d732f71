"""A platform with one figure at another value, for what nobody measured."""

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, TypeVar

from weft.catalog.document import Document, SourceClass
from weft.catalog.machine.platform import HOST_COSTS, Platform, figures

UNSURE = (SourceClass.ASSUMED, SourceClass.UNVERIFIED)

Kind = TypeVar("Kind", bound=Document)


def unsure_figures(machine: Platform) -> Iterator[tuple[str, Callable[[float], Platform]]]:
    """The name of each assumed or unverified figure of a machine and of its host costs, and the
    machine with the figure times a factor (ValidationError where no machine can have it)."""
    for path, figure in figures(machine):
        if figure.class_ in UNSURE:
            yield path, partial(scaled, machine, path)
    regimes = () if machine.host is None else machine.host.regimes
    for cost in HOST_COSTS:
        if any(getattr(regime, cost) for regime in regimes if regime.class_ in UNSURE):
            name = f"host.regimes[].{cost}"
            yield name, partial(scaled_costs, machine, cost)


def scaled(document: Kind, path: str, factor: float) -> Kind:
    """A document with one figure times `factor`. Raises ValidationError."""
    table = document.model_dump(mode="python", by_alias=True, exclude_none=True)
    part: Any = table
    for key in re.findall(r"[^.\[\]]+", path):
        part = part[int(key) if key.isdigit() else key]
    part["value"] *= factor
    return type(document).model_validate(table)


def scaled_costs(machine: Platform, cost: str, factor: float) -> Platform:
    """A platform with one cost of every unsure regime of its host times `factor`."""
    assert machine.host is not None
    # The engine counts whole picoseconds; costs of a byte have more digits.
    digits = 3 if HOST_COSTS[cost] == "ns" else None
    regimes = tuple(
        one.model_copy(update={cost: _rounded(getattr(one, cost) * factor, digits)})
        if one.class_ in UNSURE
        else one
        for one in machine.host.regimes
    )
    host = machine.host.model_copy(update={"regimes": regimes})
    return machine.model_copy(update={"host": host})


def _rounded(value: float, digits: int | None) -> float:
    return value if digits is None else round(value, digits)
