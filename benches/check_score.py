"""Right or wrong: what was accused in a case, against what was planted and could be seen."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from benches.check_kinds import Planted, Thing
from benches.check_visibility import Seen


@dataclass(frozen=True, slots=True)
class FaultRecord:
    """The outcome of one planted fault. `errors`: its largest effect, in standard errors. `named`
    by an answer no wider than the things that cannot be told apart from it (`alike`); `too_wide`:
    in an answer with more than that, or by pairs only. `blamed`: it is other traffic, and an answer
    calls it a fault of hardware. `by_file`: a file names it, which is no timing; None: not asked.
    `depth`: the share of its speed that it takes. `is_faint`: it shows by two to three standard
    errors, and what is slow has nothing else in common.
    """

    kind: str
    text: str
    errors: float
    n_beyond: int
    n_crossing: int
    identifiable: bool
    named: bool
    too_wide: bool
    alike: str
    blamed: bool = False
    by_file: bool | None = None
    depth: float = 1.0
    is_faint: bool = False


@dataclass(frozen=True, slots=True)
class Score:
    """Of one case. `wrong`: accusations that hold nothing planted; `doubted`: such warnings."""

    outcomes: tuple[FaultRecord, ...]
    wrong: tuple[str, ...]
    doubted: tuple[str, ...] = ()


def score(
    planted: Sequence[Planted],
    seen: Sequence[Seen],
    accused: Sequence[frozenset[Thing]],
    suspected: Sequence[frozenset[Thing]] = (),
) -> Score:
    """Each accusation is the set of things of one finding that makes the verdict bad; each
    suspicion that of a warning, which is enough for what comes and goes."""
    outcomes = []
    for one, how in zip(planted, seen, strict=True):
        enough = [*accused, *suspected] if one.is_sporadic and not one.is_load else accused
        outcomes.append(_outcome(one, how, enough))
    faults = [one for one in planted if not one.is_load]
    right = frozenset[Thing]().union(*(one.all_things | one.around for one in faults))
    right = right.union(*(how.pairs for how in seen))
    wrong = [things for things in accused if not things & right]
    outcomes = [
        replace(of, blamed=any(things & one.parts for things in wrong)) if one.is_load else of
        for one, of in zip(planted, outcomes, strict=True)
    ]
    loaded = right.union(*(one.parts for one in planted if one.is_load))
    doubted = tuple(words(things) for things in suspected if not things & loaded)
    return Score(tuple(outcomes), tuple(map(words, wrong)), doubted)


def _outcome(one: Planted, how: Seen, accused: Sequence[frozenset[Thing]]) -> FaultRecord:
    held = [things for things in accused if things & (one.all_things | one.around | how.pairs)]
    narrow = [things for things in held if things <= how.alike | one.all_things]
    every = frozenset[Thing]().union(*narrow)
    named = bool(every & one.things) or (bool(how.parts) and how.parts <= every)
    if one.is_load:
        named, held = False, []
    seen_in = (how.errors, how.n_beyond, how.n_crossing, how.identifiable and not one.is_load)
    answer = (named, bool(held) and not named, words(how.alike))
    return FaultRecord(
        one.kind, one.text, *seen_in, *answer, depth=one.depth, is_faint=how.is_faint
    )


def words(things: frozenset[Thing]) -> str:
    """An accusation in few words."""
    listed = [f"{part} {' - '.join(ends)}" for part, ends in sorted(things)]
    return " | ".join(listed[:4]) + (f" and {len(listed) - 4} more" if len(listed) > 4 else "")
