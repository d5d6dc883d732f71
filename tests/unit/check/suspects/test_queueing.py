"""What shares a way with something slow, in the same moment, may have waited for it."""
# mypy: disable-error-code="no-untyped-def"

import numpy as np

from weft.check.readings.crossing import Crossings
from weft.check.readings.network import Network
from weft.check.readings.readings import Metric, readings_of
from weft.check.suspects.queueing import waiting


def test_messages_over_the_same_cable_at_the_same_time_wait(make_tree, make_fabric):
    """Round 0: n001 and n002 send over leaf 1's one cable, n005 and n006 under another leaf; the
    same pairs one by one after that."""
    tree = make_tree(3, 2, 1)
    pairs = [(0, 2), (1, 3), (4, 5)]
    samples = make_fabric(tree).measure([pairs, *([pair] for pair in pairs)])
    made = Crossings(readings_of(samples), Network(tree), adaptive=False)
    readings = made.readings
    sent = np.flatnonzero((readings.metric == Metric.BANDWIDTH.code) & (readings.round == 0))
    (slow,) = (row for row in sent.tolist() if readings.name(row) == ("n001", "n003"))
    behind = [(readings.round[row], readings.name(row)) for row in waiting(made, np.array([slow]))]
    assert behind == [(0, ("n001", "n003")), (0, ("n002", "n004"))]


def test_nothing_waits_for_nothing_and_without_a_fabric_no_one_knows(make_tree, make_fabric):
    tree = make_tree(2, 2, 1)
    readings = readings_of(make_fabric(tree).measure([[(0, 2), (1, 3)]]))
    made = Crossings(readings, Network(tree), adaptive=False)
    assert waiting(made, np.zeros(0, np.int64)).size == 0
    unknown = Crossings(readings, None, adaptive=False)
    assert waiting(unknown, np.array([1])).tolist() == [1]
