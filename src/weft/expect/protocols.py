"""Two tables of one library: latency and the pace of windows, with the protocol changes they share.

A library changes its protocol at one size, whatever is measured: a change that both tables put into
overlapping gaps between rows is one change, and lies where the gaps overlap.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from weft.expect.loggp import (
    NOTHING_BESIDE,
    Beside,
    Knee,
    Partition,
    Regime,
    Row,
    most_regimes,
    overlap,
    partition,
    threshold,
)

ROUNDS = 3
"""Each table is cut again once the other's changes are known; it settles in two."""


@dataclass(frozen=True, slots=True)
class Protocols:
    """Lines of a latency table, and of the time between messages of a window (none without one)."""

    latency: tuple[Regime, ...]
    window: tuple[Regime, ...]

    @property
    def limits(self) -> tuple[int, ...]:
        """The largest size of every protocol but the last, rising."""
        every = (*self.latency, *self.window)
        return tuple(sorted({r.max_bytes for r in every if r.max_bytes is not None}))

    @property
    def n_parameters(self) -> int:
        """Two for a line, one for each change of protocol."""
        return 2 * (len(self.latency) + len(self.window)) + len(self.limits)


def fit_protocols(
    latency: Sequence[Row], window: Sequence[Row], *, rows_per_parameter: float = 1.0
) -> Protocols:
    """Lines with the smallest BIC over both tables. Rows are (size, us) by rising size.

    Anomalies are left out by the caller; `window` may be empty. `rows_per_parameter` bounds the
    lines of each table as in `loggp.fit`.
    """
    if not window:
        alone = partition(latency, most_regimes(len(latency), rows_per_parameter))
        return Protocols(_limited(alone, [threshold(*two) for two in pairwise(alone.regimes)]), ())
    cuts: list[Partition | None] = [None, None]
    for round_ in range(2 * ROUNDS):
        mine = round_ % 2
        rows = window if mine else latency
        known = cuts[1 - mine]
        cuts[mine] = partition(
            rows,
            most_regimes(len(rows), rows_per_parameter),
            knees=known.knees if known is not None else (),
            other=Beside(len(known.rows), known.squares) if known is not None else NOTHING_BESIDE,
        )
    by_latency, by_window = cuts
    assert by_latency is not None
    assert by_window is not None
    return _merged(by_latency, by_window)


def line_of(regimes: Sequence[Regime], size_bytes: int) -> Regime:
    """The line in force at a size."""
    for regime in regimes:
        if regime.max_bytes is None or size_bytes <= regime.max_bytes:
            return regime
    return regimes[-1]


def _merged(latency: Partition, window: Partition) -> Protocols:
    """Limits of both tables; a change seen by both gets one, in the overlap of its gaps."""
    partners = _partners(latency.knees, window.knees)
    limits: tuple[list[int], list[int]] = ([], [])
    for i, (lower, upper) in enumerate(pairwise(latency.regimes)):
        low, high = window.knees[partners[i]] if i in partners else latency.knees[i]
        below = replace(lower, last_bytes=max(lower.last_bytes, low))
        above = replace(upper, first_bytes=min(upper.first_bytes, high))
        limits[0].append(threshold(below, above))
    latency_of = {window_knee: limits[0][i] for i, window_knee in partners.items()}
    for i, two in enumerate(pairwise(window.regimes)):
        limits[1].append(latency_of[i] if i in latency_of else threshold(*two))
    return Protocols(_limited(latency, limits[0]), _limited(window, limits[1]))


def _partners(latency: Sequence[Knee], window: Sequence[Knee]) -> dict[int, int]:
    """Number of the window's knee by number of the latency's, each used once, in order."""
    found: dict[int, int] = {}
    first = 0
    for i, knee in enumerate(latency):
        for j in range(first, len(window)):
            if overlap(knee, window[j]):
                found[i] = j
                first = j + 1
                break
    return found


def _limited(cut: Partition, limits: Sequence[int]) -> tuple[Regime, ...]:
    tops = (*limits, None)
    return tuple(
        replace(regime, max_bytes=top) for regime, top in zip(cut.regimes, tops, strict=True)
    )
