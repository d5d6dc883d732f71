"""Lines of several ranks that nothing tells apart: runs that are pieces of one, each step once.

The rates here are of logs that benches/training_thresholds.py draws: 3,600 of 2 to 8 ranks up to
six steps apart, of whose lines 0 to 15 % are lost, and 2,100 of jobs that fail and go on from the
last checkpoint. Ranks that weft takes for several runs: 0 to 5 %, of two that lose 15 % of their
lines 86 %. Jobs that weft takes for ranks: with 1 to 30 failures 0 to 1 %, with one behind each
checkpoint 2 %, with two 39 %.
"""

from array import array

import numpy as np

from weft.results.training.collector import RUN_WIDTH, RunSoFar
from weft.results.training.model import Remark, TrainingFacts

_NO_FACTS = TrainingFacts()
LEAST_BACK = 3
"""So often the number of the step goes back, before ranks are seen in it: jobs begin again, too. Of
two ranks that lose 5 % of their lines weft misses 5 %, with 5 in its place 9 %; with 2 it takes 3 %
of the jobs that fail behind each checkpoint for ranks."""
LEAST_TWICE = 0.8
"""Of the steps, stated by two lines or more. A job that goes back to a checkpoint repeats some of
its steps, ranks all. With 0.7 weft takes 15 % of the jobs that fail behind each checkpoint for
ranks, with 0.9 it misses 45 % of two ranks that lose 5 % of their lines."""


def joined_runs(runs: list[RunSoFar]) -> list[RunSoFar]:
    """The runs of a rank; those that its lines make only because other ranks' lines stand between,
    a few steps ahead or behind, are one."""
    joined: list[RunSoFar] = []
    pieces: list[RunSoFar] = []
    for run in runs:
        if pieces and (run.of is not pieces[0].of or run.facts != _NO_FACTS):
            joined += _joined(pieces)
            pieces = []
        pieces.append(run)
    return joined + _joined(pieces)


def _joined(pieces: list[RunSoFar]) -> list[RunSoFar]:
    """One run where its steps were stated by several ranks; else the pieces as they are.

    Ranks go back to a later step each time, or many ranks to most of the steps; a job that fails
    again and again goes back to the same few.
    """
    filled = [one for one in pieces if one.n_readings]
    if len(filled) <= LEAST_BACK:
        return pieces
    readings = np.concatenate([one.readings() for one in filled])
    steps = readings[:, 0]
    distinct, kept, n_lines = np.unique(steps, return_index=True, return_counts=True)
    n_records = steps.size + sum(one.n_repeated for one in filled)
    repeated = np.concatenate([np.frombuffer(one.repeated) for one in filled])
    is_twice = (n_lines > 1) | np.isin(distinct, repeated)
    n_begins = len({one.first_step for one in filled[1:]})
    if is_twice.mean() < LEAST_TWICE or 2 * n_begins < min(len(filled) - 1, kept.size):
        return pieces
    whole = RunSoFar(pieces[0].of, pieces[0].facts)
    whole.figures = array("d", readings[kept].ravel().tolist())
    whole.unit, whole.last_line = filled[-1].unit, max(one.last_line for one in filled)
    whole.n_repeated = n_records - kept.size
    whole.n_repeated_lines = whole.n_repeated
    whole.first_repeated = (int(filled[1].readings()[0, RUN_WIDTH - 2]), filled[1].first_step)
    for piece in pieces:
        for remark in piece.remarks:
            whole.remark(*remark)
        whole.n_remarks += piece.n_remarks - len(piece.remarks)
        whole.n_torn += piece.n_torn
        whole.first_torn_line = whole.first_torn_line or piece.first_torn_line
    return [whole]


def record_remarks(run: RunSoFar) -> list[Remark]:
    """Steps that several lines state, and lines that state several steps."""
    remarks = []
    n = run.n_readings
    if n and 2 * run.n_repeated_lines >= n:
        line, step = run.first_repeated
        each = 1 + run.n_repeated_lines / n
        text = (
            f"step {step:,.0f} again: {n + run.n_repeated_lines:,} lines state {n:,} steps, "
            f"{each:.2g} each, as of several ranks without a prefix; weft counts each step once"
        )
        remarks.append(Remark(line, text))
    if run.n_torn:
        more = f" (and in {run.n_torn - 1:,} more lines)" if run.n_torn > 1 else ""
        remarks.append(Remark(run.first_torn_line, f"two steps in one line, read as two{more}"))
    return remarks
