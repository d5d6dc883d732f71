"""Every rule and figure of the diagnosis that can be left out, and what stands in for it."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pkgutil import resolve_name
from typing import Any

import numpy as np

from weft.check.suspects.drift import episodes
from weft.check.suspects.follow_up import FollowUpPlan
from weft.check.suspects.out_of_use import collisions
from weft.check.thresholds import CheckThresholds, thresholds

MANY = 10**9
Instead = Callable[..., Any]
"""Called with the function it stands in for, then with that function's arguments."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule left out. `changes`: what stands in for functions of weft.check ('module:Class.name'),
    and extreme values of thresholds. `routing`: the only one under which it is asked, or ""."""

    name: str
    instead: str
    routing: str
    changes: Mapping[str, Any]

    def is_asked(self, asked: set[str]) -> bool:
        """Whether a run that asked for these functions and thresholds may change without it."""
        return not asked.isdisjoint(self.changes)


@contextmanager
def left_out(rule: Rule) -> Iterator[None]:
    """The diagnosis without a rule."""
    limits = thresholds()
    with ExitStack() as stack:
        for target, instead in rule.changes.items():
            if ":" in target:
                _replace(stack, target, instead)
            else:
                stack.callback(object.__setattr__, limits, target, getattr(limits, target))
                object.__setattr__(limits, target, instead)
        yield


class _NotedThresholds(CheckThresholds):
    """The thresholds, which note those that are asked for."""

    __slots__ = ()
    asked: set[str] = set()  # noqa: RUF012

    def __getattribute__(self, name: str) -> Any:
        _NotedThresholds.asked.add(name)
        return object.__getattribute__(self, name)


@contextmanager
def noted() -> Iterator[set[str]]:
    """The functions and thresholds that the diagnosis asks for meanwhile."""
    limits = thresholds()
    _NotedThresholds.asked = asked = set()

    def noting(target: str) -> Instead:
        def instead(function: Instead, *args: Any, **options: Any) -> Any:
            asked.add(target)
            return function(*args, **options)

        return instead

    with ExitStack() as stack:
        stack.callback(object.__setattr__, limits, "__class__", CheckThresholds)
        object.__setattr__(limits, "__class__", _NotedThresholds)
        for target in {target for rule in RULES for target in rule.changes if ":" in target}:
            _replace(stack, target, noting(target))
        yield asked


def _replace(stack: ExitStack, target: str, instead: Instead) -> None:
    """Let `instead` stand in for a function, method or property until the stack is left."""
    module, _, path = target.partition(":")
    outer, _, name = path.rpartition(".")
    holder = resolve_name(f"weft.check.{module}:{outer}" if outer else f"weft.check.{module}")
    original = vars(holder)[name]
    function = getattr(original, "fget", None) or getattr(original, "func", original)

    def replaced(*args: Any, **options: Any) -> Any:
        return instead(function, *args, **options)

    stack.callback(setattr, holder, name, original)
    setattr(holder, name, replaced if function is original else property(replaced))


def constant(value: Any) -> Instead:
    """Gives this, whatever is asked."""
    return lambda *_, **__: value


nothing, yes, no, none = constant(()), constant(True), constant(False), constant(None)


def _no_rows(*_: Any) -> Any:
    return np.zeros(0, np.int64)


class _AllNumbers(frozenset[int]):
    """A set that holds every number."""

    def issuperset(self, _: Any) -> bool:
        return True


def _first_detours(_: Instead, crossings: Any, against: Any, rows: Any) -> Any:
    """Detours without the second look."""
    found: list[Any] = []
    while (best := collisions._next_detour(crossings, against, rows, found)) is not None:
        found.append(best)
    return tuple(found)


def _without(look: str) -> Instead:
    def found(function: Instead, shared: Any, asked: Any, rows: Any) -> Any:
        return iter(()) if asked.name == look else function(shared, asked, rows)

    return found


def _pairs_without_room(_: Instead, __: Any, pairs: Any) -> Any:
    """All pairs of which no rank is taken."""
    kept: list[Any] = []
    for pair in pairs:
        if not {*pair} & {rank for other in kept for rank in other}:
            kept.append(pair)
    return tuple(kept)


def _not_once_more(function: Instead, survey: Any, size: Any, seed: int) -> Any:
    """Slow pairs without a suspect are not measured a third time."""
    plan = function(survey, size, seed)
    return replace(plan, alone=plan.alone[: len(plan.alone) // size.times * size.times])


UNUSED, COLLISIONS = "suspects.out_of_use.unused_cables:", "suspects.out_of_use.collisions:"
REVIEW, FOLLOW_UP = "suspects.review:", "suspects.follow_up:"
SEARCH, SHARED = f"{COLLISIONS}_Search.", "suspects.crowding.crowded_paths:SharedPaths."
PARTNERS, DRIFT = "suspects.crowding.partner_test:", "suspects.drift:"
SPOILED, OUT_OF_USE = "verdict.verdict:_spoiled", "suspects.survey:out_of_use"

_RULES: dict[str, tuple[tuple[str, str, Mapping[str, Any]], ...]] = {
    "static": (
        ("out_of_use (all of it)", "no cable is out of use",
         {OUT_OF_USE: nothing, f"{REVIEW}surely_out_of_use": nothing}),
        ("_by_engines", "engines are not asked: `meetings` answers",
         {f"{UNUSED}_by_engines": none}),
        ("meetings (all of it)", "no cable is found where no path is known",
         {f"{UNUSED}detours_of": nothing}),
        ("kept, fitted (all of it)", "no cable is found where tables were read",
         {f"{UNUSED}_by_tables": nothing}),
        ("kept, fitted: meetings instead", "`meetings` answers where tables were read",
         {f"{UNUSED}_by_tables": none}),
        ("crossed_cables", "cables may be named that no other reading crosses",
         {"suspects.out_of_use.reroute:Rerouted.crossed_cables": constant(_AllNumbers())}),
        ("shows_in_both_directions", "one direction is enough",
         {"suspects.out_of_use.kept_paths:Kept.shows_in_both_directions": yes}),
        ("second look (meetings)", "the first detours stay",
         {f"{UNUSED}detours_of": _first_detours}),
        ("shown_apart", "a second detour need not show by itself",
         {f"{UNUSED}shown_apart": lambda _, c, found: tuple(d for d in found if d.is_sure(c))}),
        ("shown_in_most", "a few of the messages of a cable are enough",
         {f"{UNUSED}shown_in_most": lambda _, __, ___, found: tuple(found)}),
        ("_touched", "messages that waited behind a collision are not excused",
         {f"{SEARCH}_touched":
          lambda _, self, mine: {*mine, *(other for one in mine for other in self._met[one])}}),
        ("_parallel", "cables between the same switches are not excused",
         {f"{SEARCH}_parallel": lambda *_: set()}),
        ("excused", "messages that met a detour count for the next",
         {f"{SEARCH}strongest": lambda function, self, _: function(self, _no_rows())}),
        ("_room", "one message fills any cable",
         {f"{COLLISIONS}_room": lambda _, __, rows: np.ones(rows.size)}),
        ("_on_one_path", "a message may have met all that it can",
         {f"{SEARCH}_on_one_path": lambda _, self, place: self._met[place]}),
        ("detour_again", "need not be slow again", {"detour_again": 0}),
        ("meeting_sigma", "no clearer than noise", {"meeting_sigma": 0}),
        ("meeting_least", "slow by anything", {"meeting_least": 0}),
        ("meeting_guests", "one guest only", {"meeting_guests": 1}),
        ("meeting_moments", "shown once", {"meeting_moments": 0}),
        ("free_path", "free paths cost nothing", {"free_path": 0}),
        ("one_story", "never a tie", {"one_story": 2}),
        ("least_slowed", "any share of messages", {"least_slowed": 0}),
        ("left_open", "any amount left open", {"left_open": MANY}),
        ("most_placed", "however long it takes", {"most_placed": MANY}),
        ("rerouted_most", "all cables tried", {"rerouted_most": MANY}),
        ("_met", "a candidate that met a detour stays accused", {f"{REVIEW}_met": no}),
    ),
    "": (
        ("_without_waiting", "paths on which messages wait are accused",
         {f"{REVIEW}_without_waiting": lambda _, __, made: list(made)}),
        ("_is_slow_without", "a certain suspect never waits", {f"{REVIEW}_is_slow_without": yes}),
        ("waiting (all of it)", "no message waits behind a slow one",
         {f"{module}waiting": lambda _, __, rows: rows
          for module in (UNUSED, REVIEW, FOLLOW_UP, SHARED.rpartition("Shared")[0])}),
        ("follow_up (all of it)", "no suspect is measured again",
         {"launches:follow_up": constant(FollowUpPlan((), ()))}),
        ("rounds again", "no round of the survey comes again",
         {f"{FOLLOW_UP}_rounds_again": nothing}),
        ("controls", "no pairs that cross no suspect",
         {f"{FOLLOW_UP}_Finder.controls": lambda *_: []}),
        ("lone pairs again", "slow pairs without a suspect are not measured again",
         {f"{FOLLOW_UP}_pairs_again": lambda *_: []}),
        ("once more", "slow pairs without a suspect twice, not three times",
         {"launches:follow_up": _not_once_more}),
        ("_fill", "one flow however fast the cable", {f"{FOLLOW_UP}_Finder._fill": constant(1)}),
        ("tests_a_suspect", "one test", {"tests_a_suspect": 1}),
        ("times_again", "once", {"times_again": 1}),
        ("flows_looked_at", "a twentieth of the flows", {"flows_looked_at": 20}),
        ("least_controls", "readings alone are compared with full rounds",
         {"least_controls": MANY}),
        ("disturbed (all of it)", "one reading in fifty, always",
         {"suspects.survey:shares": lambda *given: np.full(3, given[-1].disturbed_share)}),
        ("over_time (all of it)", "no stretch is left out", {SPOILED: nothing}),
        ("bursts are no stretch", "rounds that fill single paths may be a stretch",
         {SPOILED: lambda _, survey, limits: episodes(survey, limits)}),
        ("_most_of_one", "the share of one endpoint counts",
         {f"{DRIFT}_most_of_one": constant(0.0)}),
        ("_drift_at", "drift may be a stretch",
         {f"{DRIFT}_drift_at": lambda _, place, *__: np.zeros(place.size)}),
        ("longest_episode", "all of the run", {"longest_episode": 1}),
        ("fewest_rounds", "of any number", {"fewest_rounds": 2}),
        ("most_episodes", "any number of stretches", {"most_episodes": MANY}),
    ),
    "adaptive": (
        ("crowded (all of it)", "no path is crowded", {f"{SHARED}crowded": nothing}),
        ("Look.ALONE", "not looked at", {f"{SHARED}_found": _without("ALONE")}),
        ("Look.ALL", "not looked at", {f"{SHARED}_found": _without("ALL")}),
        ("_in_both_directions", "each direction for itself",
         {f"{SHARED}_in_both_directions": lambda _, __, ___, clear: clear}),
        ("climbs", "up and down are one kind",
         {f"{SHARED}_out_of_kind": lambda function, self, delivered: function(
             self, replace(delivered, climbs=np.zeros_like(delivered.climbs)))}),
        ("shows_again", "need not show again", {f"{SHARED}shows_again": yes}),
        ("_groups_with_suspects", "moments with something slow count",
         {f"{SHARED}_groups_with_suspects": _no_rows}),
        ("_behind", "messages that waited count", {f"{SHARED}_behind": _no_rows}),
        ("can_tell", "paths are also accused by the common slowness of their readings",
         {f"{REVIEW}_is_of_shared_paths": no}),
        ("surely_slow", "full rounds also accuse where another component is surely slow",
         {f"{REVIEW}_is_sure_of_bandwidth": no}),
        ("_share", "candidates that share slow readings stay accused", {f"{REVIEW}_share": no}),
        ("peer_sigma", "half a standard deviation out of its kind", {"peer_sigma": 0.5}),
        ("crowded_margin", "by no margin", {"crowded_margin": 0}),
        ("crowded_peers", "of any number", {"crowded_peers": 1}),
        ("crowded_readings", "of any number", {"crowded_readings": 1}),
        ("second_share", "whatever else was filled", {"second_share": MANY}),
        ("other_partners (all of it)", "crowded paths are not measured again",
         {f"{FOLLOW_UP}rounds_with_others": nothing}),
        ("_mixed", "with the same partners",
         {f"{PARTNERS}_mixed": lambda _, __, pairs, ___: list(pairs)}),
        ("_Room.admitted", "however much a port is asked for",
         {f"{PARTNERS}_Room.admitted": _pairs_without_room}),
    ),
}  # fmt: skip
RULES = tuple(
    Rule(*rule[:2], routing, rule[2]) for routing, rules in _RULES.items() for rule in rules
)
