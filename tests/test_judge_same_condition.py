"""One adapter of eight: what was published of a machine is normal there, and 7/8 of it is not."""

import pytest

from weft.catalog.load import platform, platform_names, published_figures
from weft.catalog.machine.platform import PublishedTable
from weft.core.finding import FindingKind, Severity
from weft.judge.expectation.published_row import PublishedRow, published_rows
from weft.judge.judge import judge_results
from weft.judge.model import FileJudgement, RowState
from weft.results.model import ResultFile, Row, Table

SIX = {4: "af-t2-32", 8: "af-t2-64", 16: "af-t2-128", 32: "af-t2-256", 64: "af-t2-512"} | {
    128: "af-t2-1024"
}
"""Nodes -> Affaticati et al., table 2."""
FIGURES = {figure.id: figure.value for own in published_figures().values() for figure in own}
SIZE = 16 * 2**30


def allreduce(busbw: float, n_nodes: int, size: int = SIZE) -> ResultFile:
    n_ranks = 8 * n_nodes
    algbw = busbw / (2 * (n_ranks - 1) / n_ranks)
    metrics = {"latency_us": size / algbw / 1e3, "algbw_gb_s": algbw, "busbw_gb_s": busbw}
    table = Table(
        "nccl-tests",
        "all_reduce_perf",
        "allreduce",
        (Row(1, size, metrics),),
        1,
        n_ranks=n_ranks,
        n_nodes=n_nodes,
        tasks_per_node=8,
    )
    return ResultFile("x.txt", (table,))


def judged(busbw: float, n_nodes: int, size: int = SIZE) -> FileJudgement:
    return judge_results(allreduce(busbw, n_nodes, size), platform="azure-ndv5")


@pytest.mark.parametrize(("n_nodes", "figure"), SIX.items())
def test_the_six_published_values_are_normal(n_nodes: int, figure: str) -> None:
    judgement = judged(FIGURES[figure], n_nodes)
    assert [row.state for row in judgement.rows] == [RowState.NORMAL]
    assert judgement.findings[0].kind is FindingKind.AS_EXPECTED
    assert not judgement.is_bad


@pytest.mark.parametrize("lost", range(1, 8))
@pytest.mark.parametrize(("n_nodes", "figure"), SIX.items())
def test_each_of_them_without_some_adapters_is_low_with_their_number_first(
    n_nodes: int, figure: str, lost: int
) -> None:
    judgement = judged(FIGURES[figure] * (8 - lost) / 8, n_nodes)
    assert [row.state for row in judgement.rows] == [RowState.LOW]
    assert judgement.is_bad
    assert judgement.causes[0].sentence.startswith(f"{lost} of 8 adapters")


def test_without_a_published_value_of_the_same_size_the_row_is_too_wide_to_tell() -> None:
    judgement = judged(330.0, 4, 4 * 2**30)
    assert [row.state for row in judgement.rows] == [RowState.TOO_WIDE]
    verdict = judgement.findings[0]
    assert (verdict.kind, verdict.severity) == (FindingKind.TOO_WIDE, Severity.NOTE)
    assert verdict.sentence.startswith("TOO WIDE TO TELL: all_reduce_perf at 4 GiB")
    assert "with 1 of 8 adapters lost" in verdict.sentence
    assert not judgement.is_bad


def with_layout(table: PublishedTable, of: str) -> Table:
    layout = next(
        (one for one in published_rows().tables if one.platform == of and table.name in one.names),
        None,
    )
    n_nodes = layout.n_nodes if layout else 2
    tasks = layout.tasks_per_node if layout else 1
    is_nccl = layout is not None and layout.library == "nccl"
    rows = tuple(
        Row(line, size, {table.metric: value})
        for line, (size, value) in enumerate(table.rows, start=1)
        if value > 0
    )
    return Table(
        "nccl-tests" if is_nccl else "osu",
        table.name,
        table.benchmark,
        rows,
        1,
        memory=layout.memory if layout else "host",
        n_ranks=n_nodes * tasks,
        n_nodes=n_nodes,
        tasks_per_node=tasks,
    )


PUBLISHED = [(name, table) for name in platform_names() for table in platform(name).published]


@pytest.mark.parametrize(
    ("name", "table"), PUBLISHED, ids=[f"{name}-{table.name}" for name, table in PUBLISHED]
)
def test_no_row_of_a_shipped_table_is_low(name: str, table: PublishedTable) -> None:
    judgement = judge_results(ResultFile("x.txt", (with_layout(table, name),)), platform=name)
    low = [row.row.size_bytes for row in judgement.rows if row.state is RowState.LOW]
    assert low == []
    assert len(judgement.rows) == sum(value > 0 for _, value in table.rows)


@pytest.mark.parametrize("row", published_rows().rows, ids=lambda row: row.figure or "value")
def test_no_published_row_is_low(row: PublishedRow) -> None:
    value = FIGURES[row.figure] if row.figure else row.value
    table = Table(
        "nccl-tests",
        "all_reduce_perf",
        row.benchmark,
        (Row(1, row.size_bytes, {row.metric: value}),),
        1,
        n_ranks=row.n_nodes * row.tasks_per_node,
        n_nodes=row.n_nodes,
        tasks_per_node=row.tasks_per_node,
    )
    off = {"NCCL_P2P_DISABLE": "1", "NCCL_SHM_DISABLE": "1"}
    results = ResultFile("x.txt", (table,), environment=off if row.transport else {})
    judgement = judge_results(results, platform=row.platform)
    assert [one.state for one in judgement.rows] == [RowState.NORMAL]
