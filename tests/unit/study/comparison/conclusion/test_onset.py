"""Where an effect begins: between the last value without it and the first with it, for certain."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from tests.unit.study.comparison.conclusion.drawn_study import (
    cells_of_matrix,
    drawn_values,
    judged,
)

from weft.stats.ratio import Ratio
from weft.study.comparison.cells import StudyCell
from weft.study.comparison.conclusion.onset import Axis, onsets_of, ranges_of
from weft.study.comparison.rows import ComparisonRow, RowOutcome

NODES = (2, 4, 8, 16, 32, 64, 128)
_OUTCOMES = {
    "+": RowOutcome.FASTER,
    "-": RowOutcome.SLOWER,
    "=": RowOutcome.EQUIVALENT,
    "?": RowOutcome.UNDECIDED,
    "h": RowOutcome.UNDECIDED,
    "n": RowOutcome.NO_VERDICT,
}
"""'h' is not decided, with an estimate that helps."""


@cache
def _row() -> ComparisonRow:
    cells = cells_of_matrix((8,), (2,), (1,))
    return judged(drawn_values(np.random.default_rng(1), cells))[0]


def _line(
    signs: str, axis: Axis = Axis.NODES, values: tuple[int, ...] = NODES
) -> list[ComparisonRow]:
    ratios = {"+": 0.7, "-": 1.4, "h": 0.8}
    return [
        replace(
            _row(),
            cell=replace(
                _row().cell,
                **{"n_nodes" if axis is Axis.NODES else "size_bytes": value},
            ),
            outcome=_OUTCOMES[sign],
            effect=Ratio(ratios.get(sign, 1.0), 0.5, 1.5, 0.1, 9),
        )
        for sign, value in zip(signs, values, strict=False)
    ]


@pytest.mark.parametrize(
    ("signs", "said"),
    [
        ("====+++", ["helps from 32 nodes on (begins between 16 and 32 nodes)"]),
        ("====?h+", ["helps from 64 nodes on (begins between 16 and 128 nodes)"]),
        ("====??+", ["helps from 128 nodes on (begins between 16 and 128 nodes)"]),
        ("+++++++", ["helps at all of 2 to 128 nodes"]),
        ("???++++", ["helps from 16 nodes on (where it begins is not decided)"]),
        ("++++===", ["helps up to 16 nodes (ends between 16 and 32 nodes)"]),
        ("==+n+==", ["helps at 8 nodes (begins between 4 and 8 nodes, where it ends is not "
                     "decided)",
                     "helps at 32 nodes (where it begins is not decided, ends between 32 and 64 "
                     "nodes)"]),
        ("==+====", ["helps at 8 nodes (begins between 4 and 8 nodes, ends between 8 and 16 "
                     "nodes)"]),
        ("==+=+==", ["helps at 8 nodes (begins between 4 and 8 nodes, ends between 8 and 16 "
                     "nodes)",
                     "helps at 32 nodes (begins between 16 and 32 nodes, ends between 32 and 64 "
                     "nodes)"]),
        ("----+++", ["helps from 32 nodes on (begins between 16 and 32 nodes)",
                     "hurts up to 16 nodes (ends between 16 and 32 nodes)"]),
        ("=======", []),
        ("???????", []),
        ("hhhhhhh", []),
    ],
)  # fmt: skip
def test_a_range_is_bounded_by_verdicts_and_estimated_between_them(
    signs: str, said: list[str]
) -> None:
    effects = (RowOutcome.FASTER, RowOutcome.SLOWER)
    found = [one for e in effects for one in ranges_of(_line(signs), Axis.NODES, e, 0.01)]
    assert [one.text for one in found] == said


def test_sizes_are_written_as_sizes() -> None:
    line = _line("+++====", Axis.SIZE, (8, 64, 512, 4096, 32768, 1 << 18, 1 << 21))
    (found,) = ranges_of(line, Axis.SIZE, RowOutcome.FASTER, 0.01)
    assert found.text == "helps up to 512 B (ends between 512 B and 4 KiB)"


def test_neighbouring_sizes_with_one_onset_share_a_sentence() -> None:
    rows = [
        replace(row, cell=replace(row.cell, size_bytes=size, tasks_per_node=tasks))
        for size, tasks, signs in (
            (8, 1, "===++++"),
            (64, 1, "===++++"),
            (512, 1, "====+++"),
            (8, 4, "======="),
        )
        for row in _line(signs)
    ]
    texts = [one.text for one in onsets_of(rows, 0.01) if one.range_.axis is Axis.NODES]
    assert texts == [
        "allreduce 8 B to 64 B, 1 rank a node: helps from 16 nodes on (begins between 8 and 16 "
        "nodes)",
        "allreduce 512 B, 1 rank a node: helps from 32 nodes on (begins between 16 and 32 nodes)",
    ]
    record = onsets_of(rows, 0.01)[0].to_record()
    assert (record["axis"], record["values"], record["at"]) == (
        "nodes",
        [8, 64],
        {"ranks a node": 1},
    )
    assert (record["first"], record["none_below"], record["effect"]) == (16, 8, "helps")


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("draws", [40, pytest.param(1000, marks=pytest.mark.slow)])
def test_the_true_onset_lies_between_the_ends_in_95_of_100_studies(draws: int) -> None:
    """Of an effect of 20 % from 32 nodes on, over a matrix of 12 cells."""
    rng = np.random.default_rng(draws)
    cells = cells_of_matrix((8, 4096), (2, 8, 16, 32, 64, 128), (1,))

    def effect(cell: StudyCell) -> float:
        return 0.8 if cell.n_nodes >= 32 else 1.0

    wrong, told = 0, 0
    for _ in range(draws):
        rows = judged(drawn_values(rng, cells, effect, spread=0.03))
        ranges = [one.range_ for one in onsets_of(rows, 0.01) if one.range_.axis is Axis.NODES]
        helps = [one for one in ranges if one.effect is RowOutcome.FASTER]
        told += bool(helps)
        wrong += any(one.certain_first < 32 or (one.none_below or 0) >= 32 for one in helps) or any(
            one.effect is RowOutcome.SLOWER for one in ranges
        )
    assert told >= 0.9 * draws
    # Both kinds of error, of a difference and of equality, have 5 % each; three standard errors.
    assert wrong / draws <= 0.1 + 3 * np.sqrt(0.1 * 0.9 / draws)
