"""Aggressors on real MPI: on this machine, and between hosts whose cables are slow."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.oracle.virtual import Virtual, need_in_hosts, skip_without_namespaces

from weft.cli import run
from weft.cluster.local.start import LOSS_TOOLS
from weft.results.result_file import read_results
from weft.study.run.store import read_run

Capture = pytest.CaptureFixture[str]
QUICK = ("--iterations", "20", "--repeats", "1")


def test_on_one_host_ranks_stand_for_nodes_and_the_run_says_so(
    tmp_path: Path, capsys: Capture
) -> None:
    where = tmp_path / "run"
    assert run(["bench", "congestion-impact", *QUICK, "--dir", str(where)]) == 0
    said = capsys.readouterr().out
    assert "# impact on 1 node x 2 ranks" in said
    assert "More ranks than CPUs" in said
    samples = read_run(where).samples
    by_load: dict[str, list[Any]] = {}
    for sample in samples:
        by_load.setdefault(sample.evidence["aggressors"], []).append(sample)
    beside = "alltoall:4K@20% fan_in:4K@20% put_incast:4K@20% get_broadcast:4K@20%"
    assert set(by_load) == {"none", beside}
    for sample in by_load[beside]:
        assert len(sample.evidence["aggressor_passes_per_s"]) == 4
        assert min(sample.evidence["aggressor_passes_per_s"]) > 0


def test_the_tables_of_gpcnet_of_a_live_run_are_read_back(tmp_path: Path, capsys: Capture) -> None:
    many = ("--iterations", "500", "--repeats", "1", "--gpcnet-text")
    words = ["bench", "congestion-impact", *many, "--dir", str(tmp_path / "run")]
    assert run(words) == 0
    path = tmp_path / "gpcnet.txt"
    path.write_text(capsys.readouterr().out)
    result = read_results(path)
    assert not result.unread
    assert {table.tool for table in result.tables} == {"gpcnet"}


@pytest.fixture
def hosts(capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Virtual]:
    skip_without_namespaces()
    need_in_hosts(*LOSS_TOOLS, package=" ".join(LOSS_TOOLS.values()))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    made = Virtual(capsys, f"congestion-{os.getpid()}")
    try:
        code, said = made.up(6)
        assert code == 0, said
        yield made
    finally:
        made.end()


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_on_a_cluster_job_and_aggressors_have_hosts_of_their_own(
    hosts: Virtual, tmp_path: Path
) -> None:
    made = ("--cluster", hosts.name, "--dir", str(tmp_path / "run"))
    asked = ("--aggressor", "alltoall:64K@2", "--aggressor", "put_incast@2", "--job-nodes", "2")
    code, said = hosts.weft("bench", "allreduce", "--sizes", "8", *asked, *made, *QUICK)
    assert code == 0, said
    (row,) = said["impact"]
    assert (row["n_nodes"], row["n_units"]) == (2, 1)
    recipes = sorted((tmp_path / "run/recipes").glob("t00*.txt"))
    beside = [path.name for path in recipes if "--aggressor" in path.read_text()]
    assert beside == ["t001-allreduce.r00.txt"]
    (sample,) = (
        one for one in read_run(tmp_path / "run").samples if one.evidence["aggressors"] != "none"
    )
    assert sample.evidence["hosts"] == 6
    assert min(sample.evidence["aggressor_passes_per_s"]) > 0
