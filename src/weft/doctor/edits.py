"""Edits of a text: all that do not touch each other, in one pass."""

from collections.abc import Callable, Iterable, Sequence

from weft.core.finding import Severity
from weft.doctor.case import Edit
from weft.doctor.lint import Complaint

MOST_PASSES = 8


def mended(
    text: str, complain: Callable[[str], Sequence[Complaint]]
) -> tuple[str, int, Sequence[Complaint]]:
    """(the corrected text, the number of mended complaints, the remaining ones).

    One correction may bring another into view (a variable that is exported now must be handed on,
    too), so it goes on until nothing changes.
    """
    number = 0
    left = complain(text)
    for _ in range(MOST_PASSES):
        better, done = fixed(text, left)
        if better == text:
            break
        text, number = better, number + done
        left = complain(text)
    return text, number, left


def fixed(text: str, complaints: Iterable[Complaint]) -> tuple[str, int]:
    """(the corrected text, the number of complaints that it mends).

    Where two want to change the same place the first one is done; a complaint of which not every
    edit can be made is not mended. The same insertion at one place is made once.
    """
    taken: list[Edit] = []
    mended = 0
    for complaint in complaints:
        edits = complaint.found.edits
        if not edits or complaint.severity is Severity.NOTE:
            continue
        if all(one in taken or _is_free(one, taken) for one in edits):
            taken += [one for one in edits if one not in taken]
            mended += 1
    return _apply(text, taken), mended


def _is_free(edit: Edit, taken: Sequence[Edit]) -> bool:
    """Whether an edit overlaps none of the others; insertions at one place do not."""
    return not any(edit.at.start < other.at.end and other.at.start < edit.at.end for other in taken)


def _apply(text: str, edits: Sequence[Edit]) -> str:
    ordered = sorted(enumerate(edits), key=lambda one: (one[1].at.start, one[1].at.end, one[0]))
    parts = []
    at = 0
    for _, edit in ordered:
        parts += [text[at : edit.at.start], edit.text]
        at = edit.at.end
    return "".join([*parts, text[at:]])
