"""`weft bench`: one benchmark or several, as a run like any other."""

import csv
import io
import json
from pathlib import Path

import pytest

from weft.catalog.load import benchmark_names
from weft.cli import run
from weft.study.run.store import read_run


def test_a_bench_is_a_run_that_can_be_read_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = tmp_path / "run"
    argv = ["bench", "latency", "allreduce", "--sizes", "8,64K", "--mock", "--dir", str(where)]
    assert run([*argv, "--format", "json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["n_done"] == 6
    assert {(r["benchmark"], r["size_bytes"]) for r in printed["rows"]} == {
        (name, size) for name in ("latency", "allreduce") for size in (8, 65536)
    }
    assert read_run(where).complete


def test_collectives_use_every_node_and_pt2pt_two(tmp_path: Path) -> None:
    for name, n_nodes in (("latency", 2), ("barrier", 5)):
        where = tmp_path / name
        assert run(["bench", name, "--mock", "--nodes", "5", "--dir", str(where)]) == 0
        assert {len(launch.trial.nodes) for launch in read_run(where).launches} == {n_nodes}


FABRIC = Path(__file__).parents[2] / "docs" / "samples" / "unplugged-cable.out"


@pytest.mark.parametrize(
    ("more", "n_nodes", "n_sets", "said"),
    [
        ([], 16, 1, ""),
        (["--fabric", str(FABRIC)], 16, 1, ""),
        (["--fabric", str(FABRIC), "--nodes", "6"], 6, 1, "the job runs on 6 of the twin's 16"),
        (["--nodes", "12"], 12, 1, ""),
        (["--nodes", "12", "--job-nodes", "5"], 5, 1, "the job runs on 5 of the twin's 12 nodes"),
        (["--job-nodes", "4", "--node-sets", "3"], 4, 3, "--job-nodes sets how many"),
    ],
)
def test_a_collective_uses_the_whole_twin_unless_the_job_is_smaller(
    more: list[str],
    n_nodes: int,
    n_sets: int,
    said: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    argv = ["bench", "alltoall", "--sizes", "8", "--twin", "azure-hbv3", "--repeats", "1", *more]
    assert run([*argv, "--dir", str(tmp_path / "run")]) == 0
    nodes = {launch.trial.nodes for launch in read_run(tmp_path / "run").launches}
    assert {len(one) for one in nodes} == {n_nodes}
    assert len(nodes) == n_sets
    captured = capsys.readouterr()
    for stream in (captured.err, captured.out.lower()):
        assert said.lower() in stream
        assert said or "the twin's" not in stream


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--job-nodes", "40"], "use fewer with --job-nodes"),
        (["--node-sets", "2"], "draw fewer with --node-sets, or from more nodes"),
        (["--job-nodes", "0"], "--job-nodes"),
    ],
)
def test_a_job_beyond_the_twin_is_refused(
    more: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    argv = ["bench", "alltoall", "--sizes", "8", "--twin", "azure-hbv3", *more]
    assert run([*argv, "--dir", str(tmp_path / "run")]) == 2
    assert said in capsys.readouterr().err


def test_equal_launches_of_a_twin_have_no_interval(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    argv = ["bench", "latency", "--sizes", "8", "--twin", "azure-hbv3", "--repeats", "8"]
    assert run([*argv, "--dir", str(tmp_path / "run")]) == 0
    printed = capsys.readouterr().out
    assert "95 % interval of p50" not in printed
    assert "An interval needs 6 node sets on a twin larger than the job (--node-sets 6)" in printed


def test_options_reach_the_trial(tmp_path: Path) -> None:
    where = tmp_path / "run"
    argv = ["bench", "bandwidth", "--sizes", "8", "--window", "16", "--iterations", "7"]
    assert run([*argv, "--validate", "--mock", "--dir", str(where)]) == 0
    options = read_run(where).launches[0].trial.options
    assert (options["window"], options["iterations"], options["validate"]) == (16, 7, True)


def test_what_a_twin_is_reported_reaches_the_trial(tmp_path: Path) -> None:
    argv = ["bench", "alltoall", "--sizes", "64K", "--twin", "azure-hbv3", "--nodes", "16"]
    for told in ((), ("--adaptive",), ("--adaptive", "--congestion-control", "rtt")):
        where = tmp_path / f"run{len(told)}"
        assert run([*argv, "--repeats", "1", *told, "--dir", str(where)]) == 0
        options = read_run(where).launches[0].trial.options
        assert options.get("adaptive_routing") == ("on" if told else None)
        assert options.get("congestion_control") == (told[-1] if "rtt" in told else None)


def test_a_dry_run_prints_the_command_line_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["bench", "latency", "--sizes", "8", "--dry-run"]) == 0
    printed = capsys.readouterr().out
    assert "weft-kernel" in printed
    assert "--benchmark latency" in printed
    assert not list(tmp_path.iterdir())


def test_a_dry_run_follows_the_format(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    argv = ["bench", "latency", "barrier", "--sizes", "8,64K", "--dry-run"]
    assert run([*argv, "--time-limit", "0.25"]) == 0
    assert capsys.readouterr().out.count("--max-seconds-per-size 0.25") == 2
    assert run([*argv, "--twin", "fat-tree", "--nodes", "2"]) == 0
    text = capsys.readouterr().out
    assert text.count("simulated 3 times: ") == 2
    assert "{" not in text
    assert run([*argv, "--mock", "--format", "csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [(row["benchmark"], row["launches"]) for row in rows] == [
        ("latency", "3"),
        ("barrier", "3"),
    ]
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        ([], "no benchmark named"),
        (["latencey"], "latency"),
        (["pairs"], "weft check"),
        (["latency", "--sizes", "4 parsecs"], "not a size"),
        (["latency", "--mpi", "no-such-mpicc"], "no-such-mpicc"),
        (["latency", "--twin", "no-such-platform"], "no-such-platform"),
        (["latency", "--time-limit", "0"], "--time-limit"),
        (["latency", "--time-limit", "inf"], "--time-limit"),
        (["latency", "--time-limit", "1", "--twin", "fat-tree"], "--iterations"),
        (["latency", "--adaptive"], "--adaptive needs a twin"),
        (["latency", "--congestion-control", "rtt"], "--congestion-control needs a twin"),
        (["latency", "--twin", "fat-tree", "--congestion-control", "rtts"], "annex_a10"),
    ],
)
def test_wrong_input_is_said_and_nothing_is_left(
    argv: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["bench", *argv]) in (2, 3)
    assert said in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_the_help_names_every_benchmark_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bench", "--help"]) == 0
    words = set(
        capsys.readouterr().out.replace(",", " ").replace(";", " ").replace(".", " ").split()
    )
    assert set(benchmark_names()) - {"pairs"} <= words


@pytest.mark.parametrize("backend", [["--mock"], ["--twin", "fat-tree"]])
def test_every_benchmark_runs_in_one_call(backend: list[str], tmp_path: Path) -> None:
    names = [name for name in benchmark_names() if name != "pairs"]
    where = tmp_path / "run"
    argv = ["bench", *names, "--sizes", "64", "--repeats", "1", *backend, "--nodes", "5"]
    assert run([*argv, "--dir", str(where)]) == 0
    found = read_run(where)
    assert not found.failures
    assert {sample.benchmark for sample in found.samples} == set(names)


def test_unequal_blocks_are_for_alltoallv_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    argv = [
        "--skew",
        "0.5",
        "--sizes",
        "1K",
        "--twin",
        "fat-tree",
        "--nodes",
        "4",
        "--repeats",
        "1",
    ]
    assert run(["bench", "alltoallv", *argv, "--dir", str(tmp_path / "v")]) == 0
    assert run(["bench", "alltoall", *argv, "--dir", str(tmp_path / "w")]) == 2
    assert "'skew' has no meaning for alltoall" in capsys.readouterr().err
