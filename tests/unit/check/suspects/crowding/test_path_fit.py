"""FlowPaths chosen so that the readings are as likely as can be."""
# mypy: disable-error-code="no-untyped-def"

import math

import numpy as np

from weft.check.suspects.crowding.path_fit import Crowd, DetourFit, Entry, Message

UP, OTHER, THIRD = 0, 1, 2
"""Three ports; all of them bear one message."""

NONE = -1
"""No port: both ends are ranks of one adapter."""


def fit(slower, entries, ways):
    """A fit of messages of one moment to how much slower each was measured."""

    def gain(row, said):
        return -((slower[row] - said) ** 2) + slower[row] ** 2

    messages = {row: Message(0, 1.0, {port} - {NONE}) for row, port in enumerate(ways)}
    crowd = Crowd(np.ones(3))
    crowd.add(messages)
    return DetourFit(entries, crowd, gain)


def test_a_message_went_where_another_was_slowed():
    entry = Entry((UP,), ((OTHER,), (THIRD,)), [0])
    half = math.log(2)
    fit([half, 0.0, half], [entry], [UP, OTHER, THIRD]).settle()
    assert entry.path == (THIRD,)


def test_two_that_met_each_other_are_sent_one_way_though_one_alone_would_gain_nothing():
    entries = [Entry((UP,), ((OTHER,), (THIRD,)), [row]) for row in (0, 1)]
    slower = [math.log(2), math.log(2)]
    fit(slower, entries, [UP, UP]).settle()
    assert entries[0].path == entries[1].path


def test_a_message_between_ranks_of_one_adapter_crosses_nothing_and_changes_nothing():
    entry = Entry((UP,), ((OTHER,), (THIRD,)), [0])
    half = math.log(2)
    fit([half, 0.0, half, 0.0], [entry], [UP, OTHER, THIRD, NONE]).settle()
    assert entry.path == (THIRD,)
