"""ReFrame's performance log: its columns, its figures, and what names may hold."""

import tomllib

import tomli_w
from tests.mock_backend import MockBackend
from tests.unit.study.conftest import FACTOR, RunStudy

from weft.api.export.perflog import COLUMNS, perflog_text
from weft.study.comparison.table import table_of
from weft.study.run.store import StudyRun, read_run


def lines_of(*runs: StudyRun) -> list[dict[str, str]]:
    header, *lines = perflog_text(runs).splitlines()
    assert header.split("|") == list(COLUMNS)
    fields = [line.split("|") for line in lines]
    assert all(len(one) == len(COLUMNS) for one in fields)
    return [dict(zip(COLUMNS, one, strict=True)) for one in fields]


def test_every_cell_and_arm_is_a_line(run_study: RunStudy) -> None:
    run = run_study(factors=FACTOR, repeats=3)
    lines, rows = lines_of(run), table_of(run).rows
    assert [float(line["perf_value"]) for line in lines] == [row.summary.median for row in rows]
    assert lines[0]["display_name"] == (
        "WeftBench %benchmark=latency %nodes=2 %tasks_per_node=1 %arm=routing=static"
    )
    assert lines[0]["perf_var"] == "latency_us_p50_at_8_bytes"
    assert {line["perf_unit"] for line in lines} == {"us"}
    assert {line["result"] for line in lines} == {"pass"}


def test_the_time_is_that_of_the_last_launch(run_study: RunStudy) -> None:
    # The mock dates its samples 1,700,000,000 s + their place: 2023-11-14T22:13:20 UTC.
    run = run_study(repeats=1)
    assert lines_of(run)[0]["job_completion_time"] >= "2023-11-14T22:13:20+00:00"


def test_a_launch_that_hung_fails_without_a_figure(run_study: RunStudy) -> None:
    run = run_study(backend=MockBackend(hanging=["t000-latency.r00"]), repeats=2)
    (failed,) = [line for line in lines_of(run) if line["result"] == "fail"]
    assert failed["display_name"] == "WeftBench %benchmark=latency"
    assert failed["perf_value"] == failed["perf_var"] == "null"


def test_a_separator_in_a_name_moves_no_column(run_study: RunStudy) -> None:
    directory = run_study(factors=FACTOR, repeats=2).directory
    toml = directory / "run.toml"
    toml.write_text(tomli_w.dumps({**tomllib.loads(toml.read_text()), "study": ""}))
    plan = directory / "plan.jsonl"
    plan.write_text(plan.read_text().replace('"static"', '"x|y"'))
    names = {line["display_name"] for line in lines_of(read_run(directory))}
    assert any(name.endswith("%arm=routing=x/y") for name in names)
