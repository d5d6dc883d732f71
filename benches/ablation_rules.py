"""How a rule of the diagnosis is left out: what stands in for its functions and figures."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from weft.check.suspects import drift as over_time

HOME = "weft.check"
MANY = 10**9
_EPISODES = over_time.episodes


@dataclass(frozen=True, slots=True)
class Patch:
    """`target` ('module:Class.name') becomes `instead`; with `wraps`, what that makes of it."""

    target: str
    instead: Callable[..., Any]
    wraps: bool = False


@dataclass(frozen=True, slots=True)
class Ablation:
    """A rule left out. `where`: the routing under which it is asked; `changes_survey`: it is asked
    before suspects are known."""

    name: str
    how: str
    where: str = "both"
    limits: Mapping[str, float] = field(default_factory=dict)
    patches: Sequence[Patch] = ()
    changes_survey: bool = False

    @property
    def changes_draws(self) -> bool:
        """Whether it is asked while pairs to measure again are drawn."""
        drawn = (FOLLOW, OTHERS)
        return "flows_looked_at" in self.limits or any(
            patch.target.startswith(f"{HOME}.{module}:")
            for patch in self.patches
            for module in drawn
        )

    def is_asked(self, asked: frozenset[str]) -> bool:
        """Whether a run that asked for these could change."""
        return f"rule {self.name}" in asked or bool(asked & set(self.limits))


def patch_of(module: str, name: str, instead: Callable[..., Any], **options: bool) -> Patch:
    """A patch of a function of the check."""
    return Patch(f"{HOME}.{module}:{name}", instead, **options)


def figure(name: str, value: float, how: str, where: str = "both", **options: bool) -> Ablation:
    """A figure left out: an extreme value."""
    return Ablation(name, how, where, limits={name: value}, **options)


def nothing(*_: Any, **__: Any) -> tuple[()]:
    """Finds nothing."""
    return ()


def always(*_: Any, **__: Any) -> bool:
    """Yes."""
    return True


def never(*_: Any, **__: Any) -> bool:
    """No."""
    return False


def itself(_: Any, rows: Any) -> Any:
    """The rows as they are."""
    return rows


def no_rows(*_: Any) -> Any:
    """No rows."""
    return np.zeros(0, np.int64)


class AllNumbers(frozenset[int]):
    """A set that holds every number."""

    def issuperset(self, _: Any) -> bool:
        """Yes."""
        return True


OUT, MEET = "suspects.out_of_use.unused_cables", "suspects.out_of_use.collisions"
REROUTED, KEPT = "suspects.out_of_use.reroute", "suspects.out_of_use.kept_paths"
SETTLED = "suspects.review"
CROWDED, OTHERS = "suspects.crowding.crowded_paths", "suspects.crowding.partner_test"
FOLLOW, SURVEYS, TIME = "suspects.follow_up", "suspects.survey", "suspects.drift"


def meetings_once(*given: Any) -> Any:
    """Detours without the second look."""
    from importlib import import_module

    meetings = import_module(f"{HOME}.{MEET}")
    crossings, against, rows = given
    found: list[Any] = []
    while (best := meetings._beside(crossings, against, rows, crossings.limits, found)) is not None:
        found.append(best)
    return tuple(found)


def strongest_anew(original: Callable[..., Any]) -> Callable[..., Any]:
    """The strongest detour, with nothing excused."""
    return lambda self, _: original(self, np.zeros(0, np.int64))


def plain_room(_: Any, rows: Any) -> Any:
    """Room for one message."""
    return np.ones(rows.size)


def all_met(self: Any, place: int) -> Any:
    """All that a row may have met."""
    return self._met[place]


def without(look: str) -> Callable[..., Any]:
    """One of several looks is not taken."""

    def wrapped(original: Callable[..., Any]) -> Callable[..., Any]:
        def found(self: Any, asked: Any, rows: Any) -> Any:
            return iter(()) if asked.name == look else original(self, asked, rows)

        return found

    return wrapped


def one_kind(original: Callable[..., Any]) -> Callable[..., Any]:
    """Up and down are one kind."""

    def out_of_kind(self: Any, delivered: Any) -> Any:
        return original(self, replace(delivered, climbs=np.zeros_like(delivered.climbs)))

    return out_of_kind


def same_pairs(_: Any, pairs: Any, __: Any) -> list[Any]:
    """The pairs as they are."""
    return list(pairs)


def every_pair(_: Any, pairs: Any) -> Any:
    """All pairs of which no rank is taken."""
    taken: set[str] = set()
    kept = []
    for pair in pairs:
        if not taken & set(pair):
            taken |= set(pair)
            kept.append(pair)
    return tuple(kept)


def usual(*given: Any) -> Any:
    """The usual share of disturbed readings."""
    return np.full(3, given[-1].disturbed_share)


def no_once_more(original: Callable[..., Any]) -> Callable[..., Any]:
    """Lone pairs are not measured a third time."""

    def follow_up(survey: Any, size: Any, seed: int) -> Any:
        plan = original(survey, size, seed)
        n = len(plan.alone) // max(1, size.times) * size.times
        return replace(plan, alone=plan.alone[:n])

    return follow_up


def episodes_only(survey: Any, limits: Any) -> Any:
    """Stretches, those of bursts among them."""
    return _EPISODES(survey, limits)


def episodes_with(**figures: float) -> Callable[..., Any]:
    """Stretches by other figures."""
    return lambda survey, limits: _EPISODES(survey, replace(limits, **figures))


def episodes_by(name: str, instead: Callable[..., Any]) -> Callable[..., Any]:
    """Stretches found with another function."""

    def episodes(survey: Any, limits: Any) -> Any:
        original = getattr(over_time, name)
        setattr(over_time, name, instead)
        try:
            return _EPISODES(survey, limits)
        finally:
            setattr(over_time, name, original)

    return episodes
