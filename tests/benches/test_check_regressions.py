"""Cases of the scoreboard that accused a healthy component, or named none, and no longer do."""
# mypy: disable-error-code="no-untyped-def"

import pytest
from benches.check import Job, run_job

from weft.core.errors import ExitCode


@pytest.mark.parametrize(
    ("twin", "routing", "number", "seed"),
    [
        # One leaf's slow up-link slowed half of the messages to another leaf, which was accused.
        ("planes", "adaptive", 196, 9917),
        # The flapping cable was not mentioned beside a slow node.
        ("tapered", "static", 8, 9917),
    ],
)
def test_a_case_names_what_is_planted_and_nothing_else(twin, routing, number, seed):
    record = run_job(Job(twin, routing, healthy=False, number=number, seed=seed))
    assert record.wrong == ()
    assert all(one.named for one in record.faults), record.words


@pytest.mark.parametrize(
    ("number", "named"),
    [
        # A longer path to node n024 was taken for a slow node.
        (12, ("sw-00[7] down", "sw-04[11] down", "sw-08[7] down")),
        # What the first of two dead cables left open was given to another one.
        (13, ("sw-01[5] down", "sw-08[7] down")),
        # No slow message should cross the dead cable: the engine moves all of them.
        (19, ("sw-04[10] down",)),
    ],
)
def test_dead_cables_are_named_where_all_messages_move(number, named):
    job = Job("irregular", "static", False, number, 34, only="wrong-entry,uplink-down")
    record = run_job(job)
    assert record.wrong == ()
    assert sorted(one.text for one in record.faults if one.named) == list(named), record.words


@pytest.mark.parametrize(
    ("number", "seed", "only"),
    [
        # Both nodes of a switch were as quick to one another as ever, and late to most others.
        (143, 20261128, None),
        (33, 771, "cables-swapped,node-latency"),
        (90, 771, "cables-swapped,node-latency"),
    ],
)
def test_a_longer_path_by_exchanged_cables_makes_no_node_a_fault(number, seed, only):
    record = run_job(Job("torus", "static", False, number, seed, only=only))
    assert record.wrong == (), record.words
    late = [one for one in record.faults if one.kind == "node-latency"]
    assert all(one.named for one in late), record.words
    assert record.exit_code == (ExitCode.VERDICT_BAD if late else ExitCode.NO_VERDICT)
