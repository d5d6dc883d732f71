"""The search: from two environments that differ to the least set of variables that does it.

Isolation, the dd of delta debugging, finds a variable with which an environment turns bad, given
those before it; with it kept, the search goes on for a variable that it needs, until the set alone
is bad. Then each variable is taken out, so that the set is 1-minimal, as ddmin's is. SOURCE: Zeller
& Hildebrandt, Simplifying and isolating failure-inducing input, IEEE Trans. Softw. Eng. 28, 2002;
the kept variables: Junker, QuickXplain, AAAI 2004.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain

from weft.study.bisect.decision import Behaviour, Decisions

MOST_CAUSES = 3


@dataclass(frozen=True, slots=True)
class FoundCause:
    """Variables, by index, that make the environment bad together, each of them needed.
    `is_decided` is False where a claim about them could not be decided."""

    variables: tuple[int, ...]
    is_decided: bool = True

    @property
    def changed(self) -> frozenset[int]:
        """The cell in which they alone are as in BAD."""
        return frozenset(self.variables)


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The causes that were found, and the behaviour of BAD without all of them."""

    causes: tuple[FoundCause, ...]
    without: Behaviour


Note = Callable[[Sequence[int]], None]
"""Is told the variables among which the cause still is."""


def search(decisions: Decisions, n_variables: int, note: Note = lambda _: None) -> SearchResult:
    """The causes, one after the other until BAD without them is good; GOOD and BAD differ.

    Raises NoAnswerError."""
    causes: list[FoundCause] = []
    left = tuple(range(n_variables))
    without = Behaviour.BAD
    while len(causes) < MOST_CAUSES:
        cause = _one_cause(decisions, left, note)
        causes.append(cause)
        left = tuple(one for one in left if one not in cause.changed)
        without = decisions.claim(frozenset(left))
        if without is not Behaviour.BAD:
            break
    decisions.refuse_lost_difference()
    return SearchResult(tuple(causes), without)


def _one_cause(decisions: Decisions, left: Sequence[int], note: Note) -> FoundCause:
    """A minimal set among variables that are bad together."""
    kept: list[int] = []
    before = list(left)
    alone = Behaviour.GOOD
    while alone is not Behaviour.BAD and before:
        place = _isolated(decisions, before, kept, note)
        kept.append(before[place])
        before = before[:place]
        alone = decisions.claim(frozenset(kept)) if before else Behaviour.BAD
    return _minimal(decisions, kept)


def _isolated(decisions: Decisions, before: Sequence[int], kept: Sequence[int], note: Note) -> int:
    """The place of the variable with which the environment turns bad.

    INVARIANT: with the first `low` variables it is not bad, with the first `high` it is. Cells in
    between are pointers. Unless the variable turns out bad alone, both neighbours are claimed; one
    that was wrong sends the search back to where all ends are claims.
    """
    ends = {0: Behaviour.GOOD, len(before): Behaviour.BAD}

    def cell(n: int) -> frozenset[int]:
        return frozenset(chain(before[:n], kept))

    while True:
        low = max(n for n, found in ends.items() if found is not Behaviour.BAD)
        high = min(n for n, found in ends.items() if found is Behaviour.BAD and n > low)
        first = (low, high)
        while high - low > 1:
            note(before[low:high])
            middle = (low + high) // 2
            if decisions.pointer(cell(middle)) is Behaviour.BAD:
                high = middle
            else:
                low = middle
        note(before[low:high])
        if decisions.claim(cell(high) - cell(low) | frozenset(kept)) is Behaviour.BAD:
            return low
        for n in (high, low):
            if n not in first:
                ends[n] = decisions.claim(cell(n))
        is_low = ends.get(low, Behaviour.GOOD) is not Behaviour.BAD
        if is_low and ends.get(high, Behaviour.BAD) is Behaviour.BAD:
            return low


def _minimal(decisions: Decisions, kept: Sequence[int]) -> FoundCause:
    """The set without variables that it does not need."""
    cause = list(kept)
    is_decided = True
    for one in kept:
        rest = frozenset(cause) - {one}
        if not rest:
            break
        without = decisions.claim(rest)
        if without is Behaviour.BAD:
            cause.remove(one)
        is_decided &= without is not Behaviour.UNDECIDED
    return FoundCause(tuple(sorted(cause)), is_decided)
