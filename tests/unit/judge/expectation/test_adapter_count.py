"""How many adapters a node a bus bandwidth takes, by what must pass between nodes."""

import pytest

from weft.catalog import load
from weft.expect.model import Conditions
from weft.judge.expectation.adapter_count import through_adapters
from weft.judge.rules import rules
from weft.results.model import Row, Table

GIB = 1 << 30


def lines(
    busbw: float, *, benchmark: str = "allreduce", nodes: int = 2, size: int = GIB, forced: str = ""
) -> tuple[str, ...]:
    row = Row(9, size, {"busbw_gb_s": busbw})
    table = Table("nccl-tests", "x_perf", benchmark, (row,), 1)
    conditions = Conditions(
        benchmark=benchmark,
        size_bytes=0,
        n_nodes=nodes,
        tasks_per_node=8,
        memory="gpu",
        library="nccl",
        algorithm=forced,
    )
    return through_adapters(table, row, conditions, (load.platform("generic-hdr"),), rules())


def test_within_one_adapter_its_share_is_said() -> None:
    (line, _) = lines(9.0)
    # 9 of 25 GB/s, headers taken off.
    assert "is 36 % of what one adapter a node carries" in line


@pytest.mark.parametrize(
    ("benchmark", "nodes", "forced", "count"),
    [
        ("allreduce", 2, "", "3 to 4"),  # 15/8 of 25 GB/s each at most, 25 as a ring
        ("allreduce", 2, "Ring", "4"),
        ("allgather", 2, "", "3 to 4"),  # (15/16) / (1/2)
        ("broadcast", 2, "", "4"),
        ("allreduce", 64, "", "4"),  # (511/512) / (63/64): hardly more than a ring
    ],
)
def test_what_an_algorithm_could_save_is_between_the_two_counts(
    benchmark: str, nodes: int, forced: str, count: str
) -> None:
    line = lines(95.0, benchmark=benchmark, nodes=nodes, forced=forced)[0]
    assert f"needs {count} adapters on each node" in line


def test_only_a_result_between_nodes_of_a_large_buffer_is_counted() -> None:
    assert lines(95.0, nodes=1) == ()
    assert lines(95.0, size=4096) == ()
    assert lines(95.0, benchmark="alltoall") == ()
    assert lines(0.0) == ()
