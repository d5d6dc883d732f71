"""Tables of one library: latency and the pace of windows, with the protocol changes they share.

A library changes its protocol at one size, in every benchmark: a change that two tables put into
overlapping gaps between rows is one change, and lies where the gaps overlap.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from weft.expect.fit.loggp import (
    Knee,
    OtherTables,
    Partition,
    Regime,
    Row,
    most_regimes,
    overlap,
    partition,
    threshold,
)

ROUNDS = 3
"""Each table is cut again once the changes of the others are known; it settles in two."""


@dataclass(frozen=True, slots=True)
class Protocols:
    """The lines of each table, in the order the tables were given."""

    lines: tuple[tuple[Regime, ...], ...]

    @property
    def limits(self) -> tuple[int, ...]:
        """The largest size of every protocol but the last, rising."""
        every = [regime for regimes in self.lines for regime in regimes]
        return tuple(sorted({r.max_bytes for r in every if r.max_bytes is not None}))

    @property
    def n_parameters(self) -> int:
        """Two for a line, one for each change of protocol."""
        return 2 * sum(len(regimes) for regimes in self.lines) + len(self.limits)


def fit_protocols(tables: Sequence[Sequence[Row]], *, rows_per_parameter: float = 1.0) -> Protocols:
    """Lines with the smallest BIC over all tables. Rows are (size, us) by rising size.

    Anomalies are left out by the caller. `rows_per_parameter` bounds the lines of each table as in
    `loggp.fit`.
    """
    cuts: dict[int, Partition] = {}
    for _ in range(ROUNDS if len(tables) > 1 else 1):
        for number, rows in enumerate(tables):
            others = [cut for other, cut in sorted(cuts.items()) if other != number]
            cuts[number] = partition(
                rows,
                most_regimes(len(rows), rows_per_parameter),
                knees=[knee for cut in others for knee in cut.knees],
                other=OtherTables(
                    sum(len(cut.rows) for cut in others), sum(cut.squares for cut in others)
                ),
            )
    return _with_limits([cuts[number] for number in range(len(tables))])


@dataclass(slots=True)
class _Change:
    """One change of protocol: the gap it lies in, and the number of its knee in each table."""

    gap: Knee
    knees: dict[int, int] = field(default_factory=dict)


def _with_limits(cuts: Sequence[Partition]) -> Protocols:
    limits: list[dict[int, int]] = [{} for _ in cuts]
    for change in _changes(cuts):
        table, knee = min(change.knees.items())
        lower, upper = cuts[table].regimes[knee : knee + 2]
        lower = replace(lower, last_bytes=change.gap[0])
        upper = replace(upper, first_bytes=change.gap[1])
        limit = threshold(lower, upper)
        for table, knee in change.knees.items():
            limits[table][knee] = limit
    return Protocols(
        tuple(
            tuple(
                replace(regime, max_bytes=tops.get(number))
                for number, regime in enumerate(cut.regimes)
            )
            for cut, tops in zip(cuts, limits, strict=True)
        )
    )


def _changes(cuts: Sequence[Partition]) -> list[_Change]:
    """Knees of all tables; those whose gaps overlap are one, each table taking part once."""
    found: list[_Change] = []
    for table, cut in enumerate(cuts):
        for number, knee in enumerate(cut.knees):
            fitting = [c for c in found if table not in c.knees and overlap(c.gap, knee)]
            change = fitting[0] if fitting else _Change(knee)
            if not fitting:
                found.append(change)
            change.gap = (max(change.gap[0], knee[0]), min(change.gap[1], knee[1]))
            change.knees[table] = number
    return found
