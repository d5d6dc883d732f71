"""The section of a page about other jobs."""

from tests.unit.study.comparison.test_impact import run_of

from weft.report.study.impact import section
from weft.study.comparison.impact import impact_rows


def test_a_run_without_aggressors_has_no_section() -> None:
    assert section([]) is None


def test_the_worst_comes_first_and_caveats_with_it() -> None:
    alone, beside = [[1000.0] * 10] * 6, [[3000.0] * 10] * 6
    found = section(impact_rows(run_of(alone, beside, flags=("oversubscribed",))))
    assert found is not None
    assert found.paragraphs[0].startswith(
        "Most of all beside other jobs: allreduce 8 B on 2 nodes x 1 rank, 3.00 times as bad"
    )
    assert found.paragraphs[1] == "Do not rely on it: oversubscribed."
    (table,) = found.tables
    (row,) = table.rows
    assert row[-4:] == ("1.000", "3.000", "3.00", "3.00 to 3.00")
