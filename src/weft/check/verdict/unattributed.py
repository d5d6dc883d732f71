"""Slow readings that belong to no accused component."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from weft.check.readings.readings import Ints
from weft.check.suspects.accusation import Accusation, Standing
from weft.check.suspects.survey import Survey
from weft.core.words import counted


def caveats(survey: Survey, accusations: Sequence[Accusation]) -> tuple[str, ...]:
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
    things = {component.thing for one in accusations for component in one.components}
    crossed = np.asarray(survey.candidates.columns[rows].sum(axis=0)).reshape(-1)
    for candidate in np.flatnonzero(crossed).tolist():
        members = survey.candidates.members[candidate]
        if any(survey.crossings.component(member).thing in things for member in members):
            yield candidate
