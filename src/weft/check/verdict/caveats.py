"""The limits of a check as sentences: the faults that it could not see, and why."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from weft.check.external_evidence.expectation import Expectations
from weft.check.readings.components import Thing
from weft.check.readings.readings import Ints
from weft.check.suspects.accusation import Accusation, Standing
from weft.check.suspects.survey import Survey
from weft.check.verdict.coverage import Covered
from weft.core.words import counted


def enough_nodes(survey: Survey, coverage: Covered) -> bool:
    """Whether the nodes are enough to know the normal figure."""
    return coverage.n_nodes > survey.limits.few_nodes


def of_limits(
    survey: Survey, coverage: Covered, expectations: Expectations | None
) -> tuple[str, ...]:
    """The limits of this run."""
    found = list(without_expectation(expectations))
    if not enough_nodes(survey, coverage):
        found.append(
            f"{counted(coverage.n_nodes, coverage.noun)} cannot be compared with certainty:"
            f" {survey.limits.few_nodes + 1} are needed to know the normal figure"
        )
    if survey.crossings.network is None:
        found.append(
            "no fabric given (--fabric): weft can name slow nodes only, not cables or switches"
        )
    n_never = len(coverage.cables_never_crossed)
    if n_never:
        found.append(
            f"{n_never} of {coverage.n_cables} cables are not judged: no pair crosses them"
        )
    n_room = len(coverage.cables_never_filled)
    if n_room:
        found.append(
            f"{n_room} of {coverage.n_cables} cables were crossed and never filled: a lower rate"
            " shows only where it is below the traffic sent over them"
        )
    unjudged = int((~survey.judged).sum())
    held = 0 if expectations is None else expectations.n_held(survey)
    if unjudged > held:
        found.append(
            f"{counted(unjudged - held, 'reading')} not judged: too few, or all of one node, in"
            " their hop class"
        )
    if held:
        found.append(
            f"{counted(held, 'reading')} compared with the platform only: too few, or all of one"
            " node, in their hop class"
        )
    return tuple(found)


def without_expectation(expectations: Expectations | None) -> tuple[str, ...]:
    """Why some readings, or all, have no expectation."""
    if expectations is not None:
        return tuple(f"no expectation: {why}" for why in expectations.why_not)
    return (
        "no platform given (--platform): pairs are only compared with one another, so a fabric"
        " that is slow everywhere looks healthy",
    )


def of_unattributed(survey: Survey, accusations: Sequence[Accusation]) -> tuple[str, ...]:
    """A sentence about slow readings of dropped suspects that cross no accused component."""
    marked = np.flatnonzero(survey.slow & survey.explained)
    left = np.setdiff1d(marked, survey.rows_of(one.candidate for one in accusations))
    if left.size:
        left = np.setdiff1d(left, survey.rows_of(_of_things(survey, accusations, left)))
    if not left.size:
        return ()
    one = left.size == 1
    verb = "belongs to no component: it queued" if one else "belong to no component: they queued"
    return (
        f"{counted(int(left.size), 'slow reading')} {verb} behind a slower one"
        f"{_or_else(survey, accusations)}",
    )


def _or_else(survey: Survey, accusations: Iterable[Accusation]) -> str:
    if survey.crossings.adaptive:
        return ", or they crossed paths that weft judges by their total traffic"
    if any(one.standing is Standing.OUT_OF_USE for one in accusations):
        return ", or behind messages that avoid a cable out of use"
    return ""


def _of_things(survey: Survey, accusations: Sequence[Accusation], rows: Ints) -> Iterator[int]:
    """Candidates, of those that rows cross, that hold any of the things accused, or a part of
    one."""
    things = frozenset[Thing]().union(*(one.things for one in accusations))
    crossed = np.asarray(survey.candidates.columns[rows].sum(axis=0)).reshape(-1)
    for candidate in np.flatnonzero(crossed).tolist():
        members = survey.candidates.members[candidate]
        if any(survey.crossings.component(member).thing in things for member in members):
            yield candidate
