"""Runs as one tidy table: every value of every launch once, and what is missing by name."""

import json
from pathlib import Path

import numpy as np
import pytest
from tests.mock_backend import MockBackend
from tests.unit.study.conftest import FACTOR, RunStudy

from weft.core.errors import InputError
from weft.study.sample_table import read_sample_table, sample_table

N_SIZES, N_ARMS, N_BENCHMARKS = 2, 2, 2


def values_on_disk(run_dir: Path) -> list[tuple[str, int, int, str, float]]:
    """(trial, repeat, size, metric, value) of the samples, read without weft."""
    lines = [
        json.loads(line)
        for path in (run_dir / "samples").glob("*.jsonl")
        for line in path.read_text().splitlines()
    ]
    return sorted(
        (one["trial"], one["repeat"], one["size_bytes"], metric, value)
        for one in lines
        if one["record"] == "sample"
        for metric, value in one["metrics"].items()
    )


def test_every_value_of_the_samples_is_in_the_table_once(run_study: RunStudy) -> None:
    run = run_study(factors=FACTOR, repeats=3)
    table = sample_table([run])
    found = sorted(
        (row["trial"], row["repeat"], row["size_bytes"], metric, row[metric])
        for row in table.rows()
        for metric in table.metrics
        if row[metric] is not None
    )
    assert found == values_on_disk(run.directory)
    long = table.one_value_a_row()
    of_long = sorted(
        (row["trial"], row["repeat"], row["size_bytes"], row["metric"], row["value"])
        for row in long.rows()
    )
    assert of_long == found
    assert "latency_us" not in long.columns


def test_rows_say_arm_factor_launch_and_node_set(run_study: RunStudy) -> None:
    run = run_study(factors=FACTOR, repeats=3, nodes=(2,), node_sets=2)
    table = sample_table([run])
    assert set(table.columns["arm"]) == {"routing=static", "routing=adaptive"}
    assert set(table.columns["factor_routing"]) == {"static", "adaptive"}
    assert set(table.columns["node_set"]) == {0, 1}
    launches = {(x.trial.id, x.repeat): x for x in run.launches}
    for row in table.rows():
        launch = launches[row["trial"], row["repeat"]]
        assert row["launch_order"] == launch.order
        assert row["n_nodes"] == len(launch.trial.nodes) == 2
        assert row["arm"] == f"routing={launch.trial.arm['routing']}"


def test_only_the_return_of_the_baseline_is_a_drift_repeat(run_study: RunStudy) -> None:
    run = run_study(factors=FACTOR, repeats=3)
    table = sample_table([run])
    drift = [row for row in table.rows() if row["is_drift_repeat"]]
    last = {x.key for x in run.launches if x.repeat >= 3}
    assert last
    assert {(row["trial"], row["repeat"]) for row in drift} == last
    assert {row["arm"] for row in drift} == {"routing=static"}


def test_a_launch_that_hung_has_a_row_a_size_without_figures(run_study: RunStudy) -> None:
    backend = MockBackend(hanging=["t001-allreduce.r01"])
    table = sample_table([run_study(backend=backend, repeats=3)])
    hung = [row for row in table.rows() if row["state"] == "hung"]
    assert [(row["trial"], row["repeat"]) for row in hung] == [("t001-allreduce", 1)] * 2
    assert {row["size_bytes"] for row in hung} == {8, 65536}
    assert all(row[metric] is None for row in hung for metric in table.metrics)
    assert all(row["left_out"] == "hung" and row["note"] for row in hung)
    assert "1 launch failed or hung; their rows have no figures" in table.remarks[0]
    long = [row for row in table.one_value_a_row().rows() if row["state"] == "hung"]
    assert [(row["metric"], row["value"]) for row in long] == [("", None)] * 2


def test_a_sample_without_its_treatment_says_why_it_is_left_out(run_study: RunStudy) -> None:
    factors = FACTOR.replace('transport = "mock"', 'transport = "rc"')
    rows = list(sample_table([run_study(factors=factors, repeats=2)]).rows())
    by_arm = {row["arm"]: row["left_out"] for row in rows}
    assert by_arm["routing=static"] == ""
    assert by_arm["routing=adaptive"].startswith("untreated: routing=adaptive needs transport")


def test_a_killed_run_says_how_many_launches_are_left_out(
    run_study: RunStudy, tmp_path: Path
) -> None:
    run = run_study(repeats=3)
    (path,) = (run.directory / "samples").glob("*.jsonl")
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:-3]) + '{"record":"sam')
    table = read_sample_table([tmp_path])
    assert any("a half-written last line is ignored" in one for one in table.remarks)
    assert any("1 of 6 launches not finished, left out" in one for one in table.remarks)
    assert len({*zip(table.columns["trial"], table.columns["repeat"], strict=True)}) == 5


def test_a_run_that_has_measured_nothing_is_refused(run_study: RunStudy) -> None:
    run = run_study(repeats=3)
    for path in (run.directory / "samples").glob("*.jsonl"):
        path.unlink()
    with pytest.raises(InputError, match="6 of 6 launches not finished") as error:
        read_sample_table([run.directory])
    assert "--resume" in error.value.describe()


def test_of_a_folder_the_damaged_run_is_left_out_by_name(
    run_study: RunStudy, tmp_path: Path
) -> None:
    run_study("good", repeats=2)
    run_study("older", repeats=2)
    toml = tmp_path / "older/run.toml"
    toml.write_text(toml.read_text().replace("weft.run/1", "weft.run/0"))
    table = read_sample_table([tmp_path])
    assert set(table.columns["run"]) == {str(tmp_path / "good")}
    assert [one for one in table.remarks if "older" in one and "schema 'weft.run/0'" in one]
    with pytest.raises(InputError, match=r"schema 'weft.run/0'") as error:
        read_sample_table([tmp_path / "older"])
    assert "read the run with weft 0.1.0" in error.value.describe()


def test_samples_of_another_schema_are_refused_with_it(run_study: RunStudy) -> None:
    run = run_study(repeats=2)
    (path,) = (run.directory / "samples").glob("*.jsonl")
    path.write_text(path.read_text().replace("weft.samples/1", "weft.samples/2"))
    with pytest.raises(InputError, match=r"schema 'weft.samples/2'") as error:
        read_sample_table([run.directory])
    assert path.name in error.value.describe()


def test_missing_figures_are_nan_and_counts_are_whole_numbers(run_study: RunStudy) -> None:
    text = '[[benchmarks]]\nname = "latency"\nsizes = "8"\n[[benchmarks]]\nname = "bandwidth"\n'
    table = sample_table([run_study(benchmarks=text + 'sizes = "64K"\n', repeats=1)])
    is_latency = table.columns["benchmark"] == "latency"
    assert np.isnan(table.columns["bandwidth_mb_s"][is_latency]).all()
    assert not np.isnan(table.columns["latency_us"][is_latency]).any()
    assert table.columns["size_bytes"].dtype == np.int64
