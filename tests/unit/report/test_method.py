"""How it was measured: a node set is written once, and beside the trial where it is short."""

from collections.abc import Callable
from pathlib import Path

from weft.report.model import ReportTable
from weft.report.sections import method
from weft.study.run.store import read_run

Measure = Callable[..., Path]

STUDY = """
schema = "weft.study/1"
name = "scattered"
title = "Scattered"
question = "Is it?"
repeats = 1
nodes = [{n_nodes}]
node_sets = 2

[[benchmarks]]
name = "barrier"
"""


def plan_of(
    measure: Measure, where: Path, n_nodes: int, nodes: tuple[str, ...]
) -> tuple[ReportTable, ...]:
    section = method.section(read_run(measure(where, STUDY.format(n_nodes=n_nodes), nodes=nodes)))
    return section.tables


def test_scattered_nodes_are_written_once_in_a_table_of_their_own(
    tmp_path: Path, measure: Measure
) -> None:
    nodes = tuple(f"n{number:03d}" for number in range(1, 400, 7))
    plan, sets = plan_of(measure, tmp_path / "run", 25, nodes)
    assert [row[4] for row in plan.rows] == ["set 1", "set 2"]
    assert [row[0] for row in sets.rows] == ["1", "2"]
    assert all(row[1].startswith("n[") and len(row[1]) > 60 for row in sets.rows)


def test_a_short_node_set_stands_next_to_its_trial(tmp_path: Path, measure: Measure) -> None:
    (plan,) = plan_of(measure, tmp_path / "run", 2, ("n001", "n002", "n003", "n004"))
    assert all(row[4].startswith("n[") for row in plan.rows)
