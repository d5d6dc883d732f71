"""The rules of the diagnosis that stand beside its model, and what answers in place of each."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields, is_dataclass
from typing import Any
from unittest.mock import patch

import numpy as np
from scipy.sparse import csc_matrix, issparse

from weft.check.readings import norms, switch_pairs
from weft.check.readings.readings import METRICS
from weft.check.suspects import (
    accusation,
    disturbance,
    drift,
    explanation,
    fast_pairs,
    queueing,
    recurrence,
    review,
    rival_nodes,
    stall,
    untraced,
)
from weft.check.suspects.crowding import crowded_paths, partner_test
from weft.check.suspects.out_of_use import unused_cables, wrong_entry
from weft.check.verdict import intermittent, slow_pairs


@dataclass(frozen=True, slots=True)
class Rule:
    """A function `name` of a module or class `home`; `instead` takes the same arguments."""

    home: Any
    name: str
    instead: Callable[..., Any]

    @property
    def places(self) -> list[tuple[Any, str]]:
        """Where it is called by: its own place, and modules that import it."""
        real = getattr(self.home, self.name)
        modules = [m for key, m in sorted(sys.modules.items()) if key.startswith("weft.check")]
        if isinstance(self.home, type):
            modules = []
        others = (m for m in modules if getattr(m, self.name, None) is real and m is not self.home)
        return [(self.home, self.name), *((module, self.name) for module in others)]


def _gives(value: Any) -> Callable[..., Any]:
    return lambda *_, **__: value


def _second(_: Any, given: Any, *__: Any) -> Any:
    return given


RULES: dict[str, tuple[Rule, ...]] = {
    "cables out of use (all of it)": (
        Rule(unused_cables, "out_of_use", _gives(())),
        Rule(unused_cables, "surely_out_of_use", _gives(unused_cables.Settled())),
    ),
    "a cable out of use: both directions": (
        Rule(unused_cables.Kept, "shows_in_both_directions", _gives(True)),
    ),
    "a cable out of use: slow each time": (Rule(unused_cables, "slow_each_time", _gives(True)),),
    "a cable out of use: several destinations": (
        Rule(unused_cables, "_is_of_one_entry", _gives(False)),
    ),
    "a cable out of use: little left open": (Rule(unused_cables, "share_left_open", _gives(0.0)),),
    "longer paths around it": (Rule(review, "_goes_around", _gives(False)),),
    "queueing (all of it)": (Rule(queueing, "waiting", _second),),
    "another entry": (Rule(wrong_entry, "wrong_entry", _gives(None)),),
    "queueing: accused paths": (Rule(review, "_without_waiting", lambda _, made: list(made)),),
    "crowding (all of it)": (Rule(crowded_paths.SharedPaths, "crowded", _gives(())),),
    "crowding: shows again": (Rule(crowded_paths.SharedPaths, "shows_again", _gives(True)),),
    "crowding: other partners": (Rule(partner_test, "rounds_with_others", _gives(())),),
    "crowding: against its kind only": (
        Rule(crowded_paths.SharedPaths, "can_tell", _gives(False)),
    ),
    "crowding: slows the others": (Rule(review, "_slows_some", _gives(False)),),
    "constancy": (
        Rule(accusation, "comes_and_goes", _gives(False)),
        Rule(review, "is_normal_at_times", _gives(False)),
    ),
    "longer path": (Rule(accusation, "is_longer_path", _gives(False)),),
    "switch pairs": (
        Rule(
            switch_pairs,
            "switch_pair_family",
            lambda crossings: (csc_matrix((len(crossings.readings), 0)), []),
        ),
    ),
    "rivals (all of it)": (Rule(rival_nodes, "with_rivals", lambda _, made: tuple(made)),),
    "rivals: nodes": (Rule(rival_nodes, "_rivals", _gives(())),),
    "rivals: cables": (Rule(rival_nodes, "_rival_cables", _gives(())),),
    "rivals: stronger paths": (Rule(rival_nodes, "_stronger_paths", _gives(())),),
    "stands out": (Rule(rival_nodes, "stands_out", _gives(True)),),
    "untraced": (Rule(untraced, "untraced", lambda *_: iter(())),),
    "untraced: rounds again": (Rule(untraced, "rounds_to_repeat", _gives(())),),
    "stalls": (Rule(stall, "stalls", _gives(())),),
    "recurrence": (Rule(recurrence, "unsteady", lambda _: []),),
    "intermittent": (Rule(intermittent, "intermittents", _gives(())),),
    "disturbed rounds": (Rule(drift, "spoiled", _gives(())),),
    "drift": (Rule(drift, "drifts", _gives(())),),
    "share of disturbed readings": (
        Rule(disturbance, "shares", lambda *_: np.full(len(METRICS), _[3].disturbed_share)),
    ),
    "slow pairs": (Rule(slow_pairs, "pair_findings", lambda *_, **__: []),),
    "fast pairs": (Rule(fast_pairs, "fast_pair_findings", lambda _: []),),
    "norms: two populations": (Rule(norms, "faster_population", lambda slow, *_: slow),),
    "norms: nodes of two populations": (Rule(norms, "among_fast_nodes", lambda slow, *_: slow),),
    "norms: load": (
        Rule(norms, "load_percent", lambda crossings: np.full(len(crossings.readings), 100)),
    ),
    "norms: longer cables": (
        Rule(norms, "longer_ns", lambda crossings: np.zeros(len(crossings.readings), np.int64)),
    ),
    "norms: of one node": (Rule(norms, "of_one_node", lambda _: {}),),
    "explanation: needless suspects": (Rule(explanation.Explainer, "_without_needless", _second),),
}
"""By what is left out."""


@contextmanager
def left_out(title: str) -> Iterator[None]:
    """The program without a rule."""
    with ExitStack() as stack:
        for rule in RULES[title]:
            for home, name in rule.places:
                stack.enter_context(patch.object(home, name, rule.instead))
        yield


@contextmanager
def noted(used: set[str], titles: Sequence[str]) -> Iterator[None]:
    """The whole program. `used`: those rules that answer other than what stands in their place:
    without any other one the same run would end alike."""
    with ExitStack() as stack:
        for title in titles:
            for rule in RULES[title]:
                call = _noting(rule, title, used)
                for home, name in rule.places:
                    stack.enter_context(patch.object(home, name, call))
        yield


def _noting(rule: Rule, title: str, used: set[str]) -> Callable[..., Any]:
    real = getattr(rule.home, rule.name)

    def call(*args: Any, **named: Any) -> Any:
        found = real(*args, **named)
        found = tuple(found) if isinstance(found, Iterator) else found
        if title not in used and not _same(found, rule.instead(*args, **named)):
            used.add(title)
        return found

    return call


def _same(one: Any, other: Any) -> bool:
    if isinstance(other, Iterator):
        other = tuple(other)
    if one is other or issparse(one):
        return one is other or one.shape == other.shape
    if isinstance(one, np.ndarray):
        return bool(np.array_equal(one, other))
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(_same, one, other))
    if is_dataclass(one):
        return type(one) is type(other) and all(
            _same(getattr(one, field.name), getattr(other, field.name)) for field in fields(one)
        )
    return bool(one == other)
