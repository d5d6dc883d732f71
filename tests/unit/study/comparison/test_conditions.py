"""Arms are compared within each setting of a condition."""

from pathlib import Path

from tests.mock_backend import MockBackend

from weft.study.comparison.comparison import compare_arms
from weft.study.plan.document import parse_study
from weft.study.plan.plan import make_plan
from weft.study.run.loop import execute
from weft.study.run.metadata import run_meta
from weft.study.run.store import RunStore, read_run

NODES = tuple(f"n{number:02}" for number in range(1, 13))
STUDY = """
schema = "weft.study/1"
name = "mine"
title = "Mine"
question = "Is it?"
repeats = 8
[[benchmarks]]
name = "latency"
sizes = "8"
[[factors]]
name = "ar"
settings = [{ name = "off" }, { name = "on" }]
[[factors]]
name = "tables"
condition = true
settings = [{ name = "good" }, { name = "poor" }]
"""


class TwoTables(MockBackend):
    """With poor tables all is 1.5 times as slow, and only there adaptive routing helps."""

    def measure(self, launch):
        factor = 1.0
        if launch.trial.condition["tables"] == "poor":
            factor = 1.5 if launch.trial.arm["ar"] == "off" else 1.2
        inner = MockBackend(effects={f"ar={launch.trial.arm['ar']}": factor})
        return inner.measure(launch)


def test_an_effect_under_one_condition_is_found_there_alone(tmp_path: Path) -> None:
    study = parse_study(STUDY, "x.toml")
    backend = TwoTables()
    made = make_plan(study, NODES)
    meta = run_meta(study_text=STUDY, seed=1, backend=backend, nodes=NODES, environ={})
    with RunStore.create(tmp_path / "run", meta) as store:
        execute(made.launches, backend, store)
    result = compare_arms(read_run(tmp_path / "run"))
    assert result.arms == (("ar=off", "ar=on"),)
    outcomes = {row.cell.condition: row.outcome.value for row in result.rows}
    assert outcomes["tables=poor"] == "faster"
    assert outcomes["tables=good"] != "faster"
    ratios = {row.cell.condition: row.slowdown for row in result.rows}
    assert 0.75 < ratios["tables=poor"] < 0.85
    assert 0.95 < ratios["tables=good"] < 1.05
    assert any("tables=poor" in str(finding.to_record()) for finding in result.findings)
