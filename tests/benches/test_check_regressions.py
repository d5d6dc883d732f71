"""Cases of the scoreboard that accused a healthy component, or named none, and no longer do."""
# mypy: disable-error-code="no-untyped-def"

import pytest
from benches.check import Job, run_job


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
