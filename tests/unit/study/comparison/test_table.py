from collections.abc import Callable
from dataclasses import replace
from statistics import median

from tests.mock_backend import MockBackend

from weft.bench.model import State
from weft.study.comparison.table import table_of
from weft.study.run.store import StudyRun

RunStudy = Callable[..., StudyRun]


def test_a_row_summarises_the_launches_of_its_cell(run_study: RunStudy) -> None:
    run = run_study(repeats=8)
    table = table_of(run)
    assert [row.cell.text for row in table.rows] == [
        "latency 8 B",
        "latency 64 KiB",
        "allreduce 8 B",
        "allreduce 64 KiB",
    ]
    row = table.rows[0]
    values = [
        sample.metrics["latency_us_p50"]
        for sample in run.samples
        if sample.benchmark == "latency" and sample.size_bytes == 8
    ]
    assert row.summary.n == 8
    assert row.summary.median == median(values)
    assert (row.summary.minimum, row.summary.maximum) == (min(values), max(values))
    assert row.to_record()["metric"] == "latency_us_p50"


def test_arms_have_rows_of_their_own_and_the_baselines_return_is_in_none(
    run_study: RunStudy, two_arms: str
) -> None:
    table = table_of(run_study(factors=two_arms, repeats=8))
    assert len(table.rows) == 8
    assert {row.summary.n for row in table.rows} == {8}
    # The baseline first, as the study names the arms.
    assert [row.arm for row in table.rows[:2]] == ["routing=static", "routing=adaptive"]


def test_a_run_of_the_pairs_benchmark_has_one_row_a_size(run_study: RunStudy) -> None:
    pairs = '[[benchmarks]]\nname = "pairs"\n'
    rows = table_of(run_study(benchmarks=pairs, nodes=(4,))).rows
    assert [(row.cell.size_bytes, row.metric) for row in rows] == [
        (8, "latency_us"),
        (1 << 20, "bandwidth_mb_s"),
    ]


def test_what_is_left_out_is_counted_and_what_has_a_caveat_is_marked(run_study: RunStudy) -> None:
    run = run_study(backend=MockBackend(failing=["allreduce"]))
    bad = replace(run.samples[0], flags=("invalid_data",))
    off = [replace(sample, state=State.NOT_ON_FABRIC) for sample in run.samples[1:]]
    table = table_of(replace(run, samples=(bad, *off)))
    assert table.excluded == {"invalid data": 1}
    assert {row.remarks for row in table.rows} == {("not_on_fabric",)}
