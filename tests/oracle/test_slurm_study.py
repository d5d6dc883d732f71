"""A study submitted to a real Slurm on a virtual cluster: one task of an array is one block."""

import json
import time
import tomllib
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.oracle.slurm_cluster import SlurmCluster, slurm_cluster
from tests.oracle.virtual import need_in_hosts

from weft.study.run.store import read_run

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
STUDY = """\
schema = "weft.study/1"
name = "two-arms"
title = "Two arms"
question = "Do they differ?"
repeats = 2
nodes = {nodes}
node_sets = {sets}
timeout_s = 60

[[benchmarks]]
name = "barrier"
options = {{ iterations = {iterations}, warmup = 1 }}

[[factors]]
name = "arm"

[[factors.settings]]
name = "one"
env = {{ WEFT_TEST_ARM = "one" }}

[[factors.settings]]
name = "two"
env = {{ WEFT_TEST_ARM = "two" }}
"""
MPICC = "mpicc.openmpi"
LIMIT_S = 120


@pytest.fixture(scope="module")
def slurm() -> Iterator[SlurmCluster]:
    need_in_hosts(MPICC, package="libopenmpi-dev")
    with slurm_cluster(4) as cluster:
        yield cluster


def submitted(slurm: SlurmCluster, run: Path, study: str, *more: str) -> list[dict[str, Any]]:
    """The jobs of a study that is submitted into a new run directory."""
    run.parent.mkdir(exist_ok=True)
    document = run.with_name("study.toml")
    document.write_text(study)
    words = ("--dir", str(run), "--rails", "eth0", "--mpi", MPICC, "--format", "json", *more)
    said = slurm.weft("study", "submit", str(document), *words)
    assert said.code == 0, said
    return list(json.loads(said.out)["jobs"])


def status(slurm: SlurmCluster, run: Path) -> tuple[int | None, dict[str, Any]]:
    said = slurm.weft("study", "status", str(run), "--format", "json")
    return said.code, json.loads(said.out)


def until(slurm: SlurmCluster, run: Path, state: str, *blocks: int) -> dict[str, Any]:
    """The status once these blocks, or all of them, are in that state."""
    end = time.monotonic() + LIMIT_S
    while True:
        _, said = status(slurm, run)
        of = [one for one in said["blocks"] if not blocks or one["block"] in blocks]
        assert len(of) == (len(blocks) or len(said["blocks"])) > 0, said
        if all(one["state"] == state for one in of):
            return said
        assert time.monotonic() < end, (said, outputs(run))
        time.sleep(0.5)


def outputs(run: Path) -> list[str]:
    return [path.read_text() for path in (run / "slurm").glob("*.out")]


def times(said: dict[str, Any]) -> list[tuple[float, float]]:
    return sorted((b["started_unix_s"], b["ended_unix_s"]) for b in said["blocks"])


def test_blocks_run_one_after_the_other_and_are_one_run(slurm: SlurmCluster) -> None:
    run = slurm.folder / "whole" / "run"
    jobs = submitted(slurm, run, STUDY.format(nodes=[2, 3], sets=2, iterations=20))
    assert [job["blocks"] for job in jobs] == [[0, 1], [2, 3]]
    _, early = status(slurm, run)
    assert early["states"]["queued"] >= 2
    late = until(slurm, run, "done")
    assert late["n_over"] == late["n_launches"] == 4 * 5
    assert late["n_failed"] == 0, [p.read_text() for p in run.rglob("*.err")]
    spans = times(late)
    assert len(spans) == 4
    assert all(ended <= began for (_, ended), (began, _) in pairwise(spans))

    whole = read_run(run)
    assert whole.complete
    assert len(whole.launches) == len(whole.samples) == 4 * 5
    by_block = {b["block"]: b for b in late["blocks"]}
    for launch in whole.launches:
        assert launch.trial.nodes == tuple(by_block[launch.block]["nodes"])
    block_of = {launch.key: launch.block for launch in whole.launches}
    for sample in whole.samples:
        block = by_block[block_of[sample.trial, sample.repeat]]
        assert block["started_unix_s"] <= sample.started_unix_s <= block["ended_unix_s"]
    recipes = [path.read_text() for path in run.glob("blocks/*/recipes/t*.txt")]
    assert len(recipes) == 4 * 5
    assert all("/srun --mpi=pmix --nodes=" in recipe for recipe in recipes)

    said = slurm.weft("compare", str(run), "--format", "json")
    assert said.code in (0, 1, 5), said
    rows = json.loads(said.out)["rows"]
    assert {row["n_pairs"] for row in rows} == {4}
    assert slurm.weft("report", str(run)).code == 0


def test_a_cancelled_block_is_reported_and_runs_again_from_its_start(slurm: SlurmCluster) -> None:
    run = slurm.folder / "cancelled" / "run"
    (job,) = submitted(slurm, run, STUDY.format(nodes=[2], sets=2, iterations=3000))
    slurm.wait("samples of block 0", lambda: status(slurm, run)[1]["blocks"][0]["n_over"] > 0)
    slurm.say("scancel", f"{job['job']}_0")
    first = until(slurm, run, "cancelled", 0)["blocks"][0]
    assert first["job"] == f"{job['job']}_0"
    assert "scancel" in first["why"]
    until(slurm, run, "done", 1)
    assert status(slurm, run)[0] == 4

    again = slurm.weft("study", "submit", str(run), "--resume", "--format", "json")
    assert again.code == 0, again
    (second,) = json.loads(again.out)["jobs"]
    assert second["blocks"] == [0]
    late = until(slurm, run, "done")
    assert late["blocks"][0]["job"] == f"{second['job']}_0"
    assert len(list((run / "blocks").glob("000-*.json"))) == 2
    whole = read_run(run)
    assert whole.complete
    began = late["blocks"][0]["started_unix_s"]
    zero = {launch.key for launch in whole.launches if launch.block == 0}
    samples = [sample for sample in whole.samples if (sample.trial, sample.repeat) in zero]
    assert len(samples) == len(zero) == 5
    assert all(sample.started_unix_s >= began for sample in samples)
    nothing = slurm.weft("study", "submit", str(run), "--resume", "--format", "json")
    assert json.loads(nothing.out)["jobs"] == []


def test_blocks_may_overlap_where_that_is_asked_for(slurm: SlurmCluster) -> None:
    run = slurm.folder / "overlap" / "run"
    study = STUDY.format(nodes=[2], sets=2, iterations=2000)
    submitted(slurm, run, study, "--at-once", "2", "--switches", "1")
    said = until(slurm, run, "done")
    (_, first_ended), (second_began, _) = times(said)
    assert second_began < first_ended
    leaves = [set(block["leaves"].values()) for block in said["blocks"]]
    assert sorted(map(sorted, leaves)) == [["leaf0"], ["leaf1"]]


def test_a_block_lies_on_so_many_leaves_below_a_path_of_any_kind(slurm: SlurmCluster) -> None:
    run = slurm.folder / "a 'b\" $(touch pwned);#" / "run"
    word = "--comment=a \"b' \\ # $(touch pwned) %j;`touch pwned`"
    study = STUDY.format(nodes=[2], sets=1, iterations=20)
    (job,) = submitted(slurm, run, study, "--leaves", "2", f"--sbatch={word}")
    # The script says it as the command line does.
    by_hand = ("sbatch", "--parsable", "--hold", str(run / "slurm" / job["script"]))
    alone = slurm.say(*by_hand).strip()
    for number in (str(job["job"]), alone):
        shown = slurm.say("scontrol", "show", "job", "-o", number)
        assert f"Comment={word.partition('=')[2]} " in shown
    slurm.say("scancel", alone)
    (block,) = until(slurm, run, "done")["blocks"]
    assert set(block["leaves"].values()) == {"leaf0", "leaf1"}
    assert sorted(block["nodes"]) == sorted(job["nodes"])
    (meta,) = (tomllib.loads(p.read_text()) for p in run.glob("blocks/*/run.toml"))
    assert meta["backend"]["facts"]["slurm"]["n_leaves"] == 2
    assert not list(slurm.folder.rglob("pwned"))


def test_what_was_asked_wins_over_the_users_own_settings_of_sbatch(slurm: SlurmCluster) -> None:
    study = slurm.folder / "settings.toml"
    study.write_text(STUDY.format(nodes=[2], sets=2, iterations=20))
    words = ("--dir", str(slurm.folder / "settings"), "--partition", "main", "--mpi", MPICC)
    weft = slurm.weft_argv("study", "submit", str(study), *words, "--format", "json")
    own = ("SBATCH_PARTITION=nosuch", "SBATCH_ARRAY_INX=7-9", "SBATCH_JOB_NAME=mine")
    said = slurm.on("node1", "env", *own, *weft)
    assert said.code == 0, said
    (job,) = json.loads(said.out)["jobs"]
    shown = slurm.say(
        "squeue", "--noheader", "--array", f"--jobs={job['job']}", "--format=%K %P %j"
    )
    slurm.say("scancel", job["job"])
    assert sorted(shown.split("\n")) == ["", "0 main weft-two-arms", "1 main weft-two-arms"]


def test_what_sbatch_refuses_is_reported_and_leaves_nothing(slurm: SlurmCluster) -> None:
    study = slurm.folder / "refused.toml"
    study.write_text(STUDY.format(nodes=[2], sets=1, iterations=20))
    run = slurm.folder / "refused"
    said = slurm.weft("study", "submit", str(study), "--dir", str(run), "--partition", "nosuch")
    assert said.code == 2, said
    assert "invalid partition specified: nosuch" in said.err
    assert not run.exists()
