"""`weft bench congestion-impact` and `--aggressor`: alone and beside other jobs."""

import json
from pathlib import Path
from typing import Any

import pytest

from weft.cli import run
from weft.report.study.impact import section
from weft.results.result_file import read_results
from weft.study.comparison.impact import impact_rows
from weft.study.run.store import read_run

Capture = pytest.CaptureFixture[str]


def impact(capsys: Capture, where: Path, *words: str) -> dict[str, dict[str, Any]]:
    """By benchmark the impact of a bench; its exit code is that of a comparison."""
    code = run(["bench", *words, "--dir", str(where), "--format", "json"])
    said = capsys.readouterr()
    assert code in {0, 1, 5}, said.err
    return {row["benchmark"]: row for row in json.loads(said.out)["impact"]}


def test_on_one_switch_that_blocks_nothing_other_jobs_cost_nothing(
    tmp_path: Path, capsys: Capture
) -> None:
    twin = ("--twin", "fat-tree", "--nodes", "20", "--iterations", "20")
    found = impact(capsys, tmp_path / "run", "congestion-impact", *twin)
    assert set(found) == {"random_ring_latency", "random_ring_bandwidth", "allreduce"}
    for row in found.values():
        assert row["figures"]["mean"]["impact"] == pytest.approx(1, abs=0.02)
        assert (row["n_nodes"], row["unit"], row["n_units"]) == (4, "node sets", 6)
    sample = next(one for one in read_run(tmp_path / "run").samples)
    assert sample.evidence["aggressors"] in {
        "none",
        "alltoall:4K@20% fan_in:4K@20% put_incast:4K@20% get_broadcast:4K@20%",
    }


def test_an_aggressor_hurts_and_a_lane_or_a_law_keeps_it_off(
    tmp_path: Path, capsys: Capture
) -> None:
    twin = ("random_ring_latency", "--twin", "frontera", "--nodes", "176", "--job-nodes", "40")

    def mean(name: str, aggressor: str, *more: str) -> dict[str, float]:
        words = (*twin, "--aggressor", aggressor, *more)
        found = impact(capsys, tmp_path / name, *words)["random_ring_latency"]["figures"]["mean"]
        return dict(found)

    beside = mean("beside", "fan_in:1M@60%")
    assert beside["impact"] > 10
    assert mean("apart", "fan_in:1M@60%,sl=1")["impact"] < 1.1
    law = mean("law", "fan_in:1M@60%", "--congestion-control", "endpoint", "--iterations", "40")
    assert 1 <= law["impact"] < beside["impact"] / 4


def test_the_tables_of_gpcnet_are_read_back(tmp_path: Path, capsys: Capture) -> None:
    twin = ("--twin", "fat-tree", "--nodes", "20", "--iterations", "600")
    where = tmp_path / "run"
    code = run(["bench", "congestion-impact", *twin, "--gpcnet-text", "--dir", str(where)])
    text = capsys.readouterr().out
    assert code in {0, 1, 5}
    path = tmp_path / "gpcnet.txt"
    path.write_text(text)
    result = read_results(path)
    assert {table.tool for table in result.tables} == {"gpcnet"}
    assert not result.unread
    ours = {row.cell.benchmark: row for row in impact_rows(read_run(where))}
    by_name = {table.benchmark: table for table in result.tables if table.rows[0].labels}
    for name, row in ours.items():
        isolated, congested = by_name[name].rows
        assert (isolated.labels["state"], congested.labels["state"]) == ("isolated", "congested")
        for tail, suffix in (("mean", ""), ("p99", "_p99")):
            rounding = 0.051 * (1 if row.metric == "latency_us" else 2**20 / 1e6)
            one = row.figures[tail]
            assert isolated.metrics[row.metric + suffix] == pytest.approx(one.alone, abs=rounding)
            assert congested.metrics[row.metric + suffix] == pytest.approx(one.beside, abs=rounding)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["congestion-impact", "--twin", "fat-tree", "--nodes", "9"],
            "congestion-impact on 9 nodes",
        ),
        (
            ["allreduce", "--twin", "fat-tree", "--nodes", "8", "--aggressor", "alltoall@12"],
            "the aggressors leave 0 nodes of 8 for the job",
        ),
        (["allreduce", "--twin", "fat-tree", "--aggressor", "storm@4"], "no pattern 'storm'"),
        (["allreduce", "--twin", "fat-tree", "--gpcnet-text"], "--gpcnet-text needs aggressors"),
        (
            ["congestion-impact", "--gpcnet-text", "--iterations", "20", "--repeats", "2"],
            "40 iterations have no 99 %",
        ),
    ],
)
def test_what_cannot_be_is_refused(
    words: list[str], said: str, tmp_path: Path, capsys: Capture
) -> None:
    assert run(["bench", *words, "--dir", str(tmp_path / "run")]) == 2
    assert said in capsys.readouterr().err


def test_each_aggressor_alone_makes_a_matrix_of_who_hurts_whom(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = tmp_path / "run"
    asked = ["--aggressor", "fan_in:64K@8", "--aggressor", "allreduce:8@4", "--each-aggressor"]
    twin = ["--twin", "fat-tree", "--nodes", "20", "--node-sets", "6", "--dir", str(where)]
    words = ["bench", "allreduce", "alltoall", "--sizes", "4K", *asked, *twin, "--job-nodes", "4"]
    assert run([*words, "--format", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)["impact"]
    loads = ["fan_in:64K@8 allreduce:8@4", "fan_in:64K@8", "allreduce:8@4"]
    assert {(row["benchmark"], row["aggressors"]) for row in rows} == {
        (name, load) for name in ("allreduce", "alltoall") for load in loads
    }
    found = section(impact_rows(read_run(where)))
    assert found is not None
    matrix = found.tables[0]
    assert [column.header for column in matrix.columns][2:] == loads
    assert [row[0] for row in matrix.rows] == [
        "allreduce 4 KiB, 4 nodes x 1 rank", "alltoall 4 KiB, 4 nodes x 1 rank"
    ]  # fmt: skip
    assert run(["bench", "allreduce", "--each-aggressor", *twin[:4]]) == 2
    assert "--each-aggressor without --aggressor" in capsys.readouterr().err
    one = ["--aggressor", "fan_in@4", "--each-aggressor"]
    assert run(["bench", "allreduce", *one, *twin[:4], "--job-nodes", "4"]) == 2
    assert "fewer than two aggressors" in capsys.readouterr().err
