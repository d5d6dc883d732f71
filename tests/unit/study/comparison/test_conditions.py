"""Arms are compared within each setting of a condition."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.mock_backend import MockBackend

from weft.bench.model import Launch, Sample
from weft.core.errors import BenchmarkError
from weft.core.finding import FindingKind, Severity
from weft.study.comparison.comparison import Comparison, compare_arms
from weft.study.comparison.effects import EffectFacts
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
settings = [{ name = "off" }, { name = "on", evidence = { transport = "mock" } }]
[[factors]]
name = "tables"
condition = true
settings = [{ name = "good" }, { name = "poor", evidence = { transport = "mock" } }]
"""

TimesOf = Callable[[str, str], float]
CompareWith = Callable[[TimesOf, str], Comparison]


class TwoTables(MockBackend):
    """Times are a factor of the condition and the arm; 0 fails."""

    def __init__(self, times: TimesOf) -> None:
        super().__init__(noise=0.002)
        self._times = times

    def measure(self, launch: Launch) -> Iterator[Sample]:
        trial = launch.trial
        factor = self._times(trial.condition["tables"], trial.arm["ar"])
        if factor == 0:
            raise BenchmarkError("rank 1 exited with code 134", where=launch.name)
        return MockBackend(noise=0.002, effects={f"ar={trial.arm['ar']}": factor}).measure(launch)


@pytest.fixture
def compare_with(tmp_path: Path) -> CompareWith:
    """Run the study on tables of these times, and compare its arms."""

    def compare(times: TimesOf, text: str = STUDY) -> Comparison:
        backend = TwoTables(times)
        made = make_plan(parse_study(text, "x.toml"), NODES)
        meta = run_meta(study_text=text, seed=1, backend=backend, nodes=NODES, environ={})
        with RunStore.create(tmp_path / "run", meta) as store:
            execute(made.launches, backend, store)
        return compare_arms(read_run(tmp_path / "run"))

    return compare


def helps_on_poor(tables: str, ar: str) -> float:
    """Poor tables are 1.5 times as slow, and only there adaptive routing helps."""
    return 1.0 if tables == "good" else 1.2 if ar == "on" else 1.5


def equal(tables: str, ar: str) -> float:
    """Neither matters."""
    assert tables
    assert ar
    return 1.0


def test_an_effect_under_one_condition_is_found_there_alone(compare_with: CompareWith) -> None:
    result = compare_with(helps_on_poor, STUDY)
    assert result.arms == (("ar=off", "ar=on"),)
    outcomes = {row.cell.condition: row.outcome.value for row in result.rows}
    assert outcomes == {"tables=poor": "faster", "tables=good": "equal"}
    ratios = {row.cell.condition: row.slowdown for row in result.rows}
    assert ratios["tables=poor"] == pytest.approx(1.2 / 1.5, rel=0.01)
    assert ratios["tables=good"] == pytest.approx(1, rel=0.01)


def test_every_record_names_the_condition_it_holds_under(compare_with: CompareWith) -> None:
    result = compare_with(helps_on_poor, STUDY)
    assert {row.to_record()["condition"] for row in result.rows} == {"tables=good", "tables=poor"}
    effects = [one.to_record() for one in result.findings if isinstance(one.facts, EffectFacts)]
    assert {one["facts"]["condition"] for one in effects} == {"tables=good", "tables=poor"}
    assert "under tables=good; tables=poor" in result.valid_for


def test_a_condition_that_nothing_proves_proves_no_equality(compare_with: CompareWith) -> None:
    """Had the tables not been switched, both conditions would look equal."""
    without = STUDY.replace(', evidence = { transport = "mock" } }]\n', " }]\n")
    ar_proved = without.replace(
        '{ name = "on" }', '{ name = "on", evidence = { transport = "mock" } }'
    )
    assert ar_proved.count("evidence") == 1
    result = compare_with(equal, ar_proved)
    assert {row.outcome.value for row in result.rows} == {"not proved"}
    assert all(row.unproved == ("tables",) for row in result.rows)


def test_a_failure_under_one_condition_is_an_arm_s_where_the_baseline_ran(
    compare_with: CompareWith,
) -> None:
    def fails(tables: str, ar: str) -> float:
        return 0.0 if (tables, ar) in {("good", "on"), ("poor", "off"), ("poor", "on")} else 1.0

    result = compare_with(fails, STUDY)
    failures = {
        (one.facts.arm, one.facts.condition): one.severity
        for one in result.findings
        if one.kind is FindingKind.FAILURE
    }
    assert failures == {
        ("ar=on", "tables=good"): Severity.BAD,
        ("ar=off", "tables=poor"): Severity.WARNING,
        ("ar=on", "tables=poor"): Severity.WARNING,
    }
    bad = next(one for one in result.findings if one.severity is Severity.BAD)
    assert "with ar=on, tables=good" in bad.sentence
