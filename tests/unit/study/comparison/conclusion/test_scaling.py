"""A study with one arm answers how its figures change with scale."""

import pytest

from weft.catalog.load import benchmark
from weft.study.comparison.cells import StudyCell, Value
from weft.study.comparison.conclusion.scaling import scaling_answer


def value(
    tasks: int, us: float, repeat: int, name: str = "allreduce", size: int = 8, nodes: int = 4
) -> Value:
    cell = StudyCell(name, nodes, tasks, size)
    return Value("only", cell, 0, frozenset({"n1"}), repeat, "latency_us_p50", us, 0.0)


def test_the_ends_of_an_axis_are_compared_launch_by_launch() -> None:
    times = [
        value(tasks, tasks * (10 + repeat), repeat) for tasks in (1, 2, 8) for repeat in range(7)
    ]
    answer = scaling_answer(times, benchmark, simulated=False)
    assert answer is not None
    assert answer.sentence == (
        "From 1 to 8 ranks a node on 4 nodes: allreduce 8 B takes 8 times as long (8 to 8)."
    )
    assert answer.valid_for == "4 nodes, 1 to 8 ranks a node, 1 node set"


def test_few_launches_have_a_ratio_without_an_interval_and_rates_are_high() -> None:
    rates = [value(tasks, 5.0 * tasks, 0, "message_rate") for tasks in (1, 4)]
    answer = scaling_answer(rates, benchmark, simulated=False)
    assert answer is not None
    assert answer.sentence.endswith("message rate 8 B is 4 times as high.")


def test_nodes_are_the_axis_where_ranks_a_node_are_not() -> None:
    times = [value(1, nodes * 2.0, 0, nodes=nodes) for nodes in (2, 64)]
    answer = scaling_answer(times, benchmark, simulated=True)
    assert answer is not None
    assert answer.sentence.startswith(
        "From 2 to 64 nodes with 1 rank a node: allreduce 8 B takes 32"
    )


def test_of_many_benchmarks_the_smallest_sizes_are_named_and_the_others_follow() -> None:
    times = [
        value(tasks, size * tasks / 8, 0, size=size)
        for tasks in (1, 2)
        for size in (8, 64, 512, 4096, 32768)
    ]
    answer = scaling_answer(times, benchmark, simulated=False)
    assert answer is not None
    assert "4 KiB" in answer.sentence
    assert answer.evidence == ("allreduce 32 KiB takes 2 times as long",)


@pytest.mark.parametrize("times", [[], [value(1, 1.0, 0)]])
def test_one_scale_has_no_such_answer(times: list[Value]) -> None:
    assert scaling_answer(times, benchmark, simulated=False) is None
