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


@pytest.mark.parametrize(
    ("twin", "number", "said"),
    [
        # What met others was slow in pairs, and was taken for so many disturbances: GOOD.
        ("tree-40", 78, "leaf-02 sends what is for n019/hca0 elsewhere than its table says"),
        ("tree-16", 124, "leaf-04 sends what is for n001/hca0 elsewhere than its table says"),
        # No engine was known to fill the tables of a dragonfly, so nothing went around the cable.
        ("dragonfly", 64, "Cable router-04[6] - router-17[6] carries nothing"),
        ("dragonfly", 304, "Cable router-01[6] - router-08[6] carries nothing"),
        ("tree-40", 294, "exchanged with another: some of its messages take other paths"),
    ],
)
def test_messages_that_take_other_paths_are_traced_to_the_cause(twin, number, said):
    record = run_job(Job(twin, "static", healthy=False, number=number, seed=41007))
    assert record.wrong == ()
    assert all(one.named for one in record.faults if one.identifiable), record.words
    assert any(said in note for note in record.notes), record.notes


@pytest.mark.parametrize(
    ("twin", "routing", "number"),
    [
        # Messages to a third of their rate were said to share a cable with one other.
        ("planes", "static", 164),
        # A normal reading that another suspect should have slowed as well was not counted.
        ("director", "static", 442),
        # A drift of 2 % between the launches made a leaf's cables slow that were normal before.
        ("small-frontera", "adaptive", 315),
        # Four exchanged ends looked like one dead cable.
        ("tapered", "static", 224),
    ],
)
def test_other_traffic_drift_and_exchanged_cables_accuse_nothing_else(twin, routing, number):
    record = run_job(Job(twin, routing, healthy=False, number=number, seed=41007))
    assert record.wrong == (), record.notes


def test_a_cable_that_comes_and_goes_is_told_from_its_switch():
    record = run_job(Job("tree-16", "static", healthy=False, number=28, seed=41007))
    assert record.wrong == ()
    assert all(one.named for one in record.faults), record.notes


@pytest.mark.parametrize(("twin", "number"), [("tree-16", 1205), ("tree-40", 657)])
def test_a_slow_switch_that_all_leaves_share_leaves_nothing_good(twin, number):
    record = run_job(Job(twin, "adaptive", healthy=False, number=number, seed=88213))
    assert record.wrong == ()
    assert record.exit_code == ExitCode.NO_VERDICT, record.notes
    assert "between switches are slow under load" in record.notes[0]
