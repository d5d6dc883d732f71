"""The Slurm job around a run: its id, nodes and leaves."""

from pathlib import Path

import pytest

from weft.cluster.slurm.allocation import (
    as_slurm_orders,
    cpus_by_node,
    is_beyond_srun,
    job_id,
    job_nodes,
    placement,
)

JOB = {"SLURM_JOB_ID": "14", "SLURM_JOB_NODELIST": "n[1-3]", "SLURM_JOB_PARTITION": "main"}
ARRAY = {**JOB, "SLURM_ARRAY_JOB_ID": "12", "SLURM_ARRAY_TASK_ID": "2"}
TREE = """\
SwitchName=leaf0 Level=0 LinkSpeed=1 Nodes=n[1-2]
SwitchName=leaf1 Level=0 LinkSpeed=1 Nodes=n3,n4
SwitchName=spine Level=1 LinkSpeed=1 Nodes=n[1-4] Switches=leaf[0-1]
"""


def scontrol(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    tool = folder / "scontrol"
    tool.write_text(f"#!/bin/sh\n{script}\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


def test_a_task_of_an_array_is_called_as_squeue_calls_it() -> None:
    assert job_id(JOB) == "14"
    assert job_id(ARRAY) == "12_2"
    assert job_id({}) is None


def test_nodes_are_those_of_the_job() -> None:
    assert job_nodes(JOB) == ("n1", "n2", "n3")
    assert job_nodes({"SLURM_JOB_NODELIST": "n1"}) == ()


def test_the_jobs_nodes_are_in_its_order_and_others_in_that_they_were_named_in() -> None:
    assert as_slurm_orders(("n3", "n1"), JOB) == ("n1", "n3")
    assert as_slurm_orders(("n9", "n1"), JOB) == ("n9", "n1")
    assert as_slurm_orders(("n3", "n1"), {}) == ("n3", "n1")


def test_srun_reaches_the_jobs_nodes_and_none_in_a_prolog() -> None:
    assert not is_beyond_srun(("n3", "n1"), JOB)
    assert is_beyond_srun(("n1", "n9"), JOB)
    assert is_beyond_srun(("n1",), {**JOB, "SLURM_SCRIPT_CONTEXT": "prolog_slurmctld"})
    assert not is_beyond_srun(("n1", "n9"), {})


def test_nodes_are_recorded_with_their_leaves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scontrol(tmp_path, monkeypatch, f"cat <<'E'\n{TREE}E")
    assert placement(("n2", "n3"), JOB) == {
        "job": "14",
        "partition": "main",
        "nodes": ["n2", "n3"],
        "leaves": {"n2": "leaf0", "n3": "leaf1"},
        "n_leaves": 2,
    }


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("exit 0", "Slurm's configuration names no switches"),
        ("echo 'slurm_load_topo error: no controller' >&2; exit 1", "no controller"),
        ("echo 'what?'", "scontrol printed 'what?'"),
    ],
)
def test_leaves_that_no_one_knows_are_said_to_be_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, reason: str
) -> None:
    scontrol(tmp_path, monkeypatch, script)
    found = placement(("n1",), JOB)
    assert reason in found["leaves_not_known"]
    assert "leaves" not in found


def test_other_nodes_than_the_jobs_have_no_placement() -> None:
    assert placement(("n1", "n9"), JOB) == {}
    assert placement(("n1",), {}) == {}


@pytest.mark.parametrize(
    ("nodes", "counts", "known"),
    [
        # SOURCE: sbatch(1): "72(x2),36" means that the first two nodes have 72 and the third 36.
        ("n[1-3]", "72(x2),36", {"n1": 72, "n2": 72, "n3": 36}),
        ("n7", "4", {"n7": 4}),
        ("n[1-3]", "72(x2)", {}),
        ("n[1-2]", "many", {}),
        ("n[1-2]", "", {}),
    ],
)
def test_counts_of_cpus_are_in_the_order_of_the_nodes(
    nodes: str, counts: str, known: dict[str, int]
) -> None:
    environ = {"SLURM_JOB_NODELIST": nodes, "SLURM_JOB_CPUS_PER_NODE": counts}
    assert cpus_by_node(environ) == known


def test_outside_of_a_job_no_cpus_are_known() -> None:
    assert cpus_by_node({"SLURM_JOB_CPUS_PER_NODE": "4"}) == {}
