"""Units of replication: launches of a machine; on a twin, which repeats itself, the node sets."""

import dataclasses
from collections.abc import Callable, Sequence
from enum import StrEnum
from statistics import median
from typing import TypeVar

from weft.core.units import ROUNDING
from weft.study.comparison.cells import Value, mostly_bimodal
from weft.study.run.backend_record import backend_of
from weft.study.run.store import StudyRun

Pair = tuple[Value, Value]
_One = TypeVar("_One")


class Unit(StrEnum):
    """The unit of replication, as a word for several of them."""

    LAUNCH = "launches"
    NODE_SET = "node sets"

    @property
    def one(self) -> str:
        """The word for one of them."""
        return "launch" if self is Unit.LAUNCH else "node set"

    @property
    def option(self) -> str:
        """The option of `weft study run` that sets their number."""
        return "--repeats" if self is Unit.LAUNCH else "--node-sets"


def are_simulated(runs: Sequence[StudyRun]) -> bool:
    """Whether all runs measured a twin."""
    return all(backend_of(run).is_twin for run in runs)


def units_of_pairs(pairs: Sequence[Pair], *, simulated: bool) -> tuple[list[Pair], Unit]:
    """The pairs of a cell that count as independent, and what each of them is."""
    return _units(pairs, lambda pair: pair, _median_pair, simulated=simulated)


def units_of_values(values: Sequence[Value], *, simulated: bool) -> tuple[list[Value], Unit]:
    """The values of a cell under one arm that count as independent, and what each of them is."""
    return _units(values, lambda value: (value,), _median_value, simulated=simulated)


def _units(
    found: Sequence[_One],
    values_of: Callable[[_One], Sequence[Value]],
    merge: Callable[[list[_One]], _One],
    *,
    simulated: bool,
) -> tuple[list[_One], Unit]:
    """A twin's launches on one node set count once where there are several sets, or where an arm
    repeats itself. Launches of one set count each if the chance of the model moves both arms."""
    by_set: dict[frozenset[str], list[_One]] = {}
    for one in found:
        by_set.setdefault(values_of(one)[0].nodes, []).append(one)
    alike = all(_repeats_itself([values_of(one) for one in group]) for group in by_set.values())
    if not simulated or (len(by_set) == 1 and not alike):
        return list(found), Unit.LAUNCH
    return [merge(group) for group in by_set.values()], Unit.NODE_SET


def _repeats_itself(launches: Sequence[Sequence[Value]]) -> bool:
    """Whether the launches of one side, or of either, gave the same value."""
    sides = zip(*launches, strict=True)
    return any(
        max(one.value for one in side) <= min(one.value for one in side) * (1 + ROUNDING)
        for side in sides
    )


def _median_pair(pairs: list[Pair]) -> Pair:
    first, second = zip(*pairs, strict=True)
    return _median_value(list(first)), _median_value(list(second))


def _median_value(values: list[Value]) -> Value:
    flags = dict.fromkeys(flag for value in values for flag in value.no_verdict)
    return dataclasses.replace(
        values[0],
        repeat=0,
        value=median(value.value for value in values),
        no_verdict=tuple(flags),
        bimodal=mostly_bimodal(values),
    )
