"""Readings that are marked slow though nothing is accused of them."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from weft.check.readings.readings import Ints
from weft.check.suspects.accusation import Accusation, Standing, slow_rows
from weft.check.suspects.survey import Survey
from weft.core.words import counted


def caveats(survey: Survey, accusations: Sequence[Accusation]) -> tuple[str, ...]:
    """A sentence where suspects were let go whose slow readings cross nothing that is accused."""
    marked = np.flatnonzero(slow_rows(survey) & (survey.explanation.predicted > 0))
    left = np.setdiff1d(marked, _rows(survey, (one.candidate for one in accusations)))
    if left.size:
        left = np.setdiff1d(left, _rows(survey, _of_things(survey, accusations, left)))
    if not left.size:
        return ()
    return (
        f"{counted(int(left.size), 'reading')} marked slow accuse nobody: their messages waited"
        f" behind something slower{_or_else(survey, accusations)}",
    )


def _or_else(survey: Survey, accusations: Iterable[Accusation]) -> str:
    if survey.crossings.adaptive:
        return ", or took ways that are judged by what all of their kind carried"
    if any(one.standing is Standing.OUT_OF_USE for one in accusations):
        return ", or met what goes around a cable out of use"
    return ""


def _rows(survey: Survey, candidates: Iterable[int]) -> Ints:
    rows = [survey.candidates.rows(candidate) for candidate in candidates]
    return np.unique(np.concatenate([np.zeros(0, np.int64), *rows]))


def _of_things(survey: Survey, accusations: Sequence[Accusation], rows: Ints) -> Iterator[int]:
    """Candidates, of those that rows cross, that hold any of the things accused, or a part of
    one."""
    things = {component.thing for one in accusations for component in one.components}
    crossed = np.asarray(survey.candidates.columns[rows].sum(axis=0)).reshape(-1)
    for candidate in np.flatnonzero(crossed).tolist():
        members = survey.candidates.members[candidate]
        if any(survey.crossings.component(member).thing in things for member in members):
            yield candidate
