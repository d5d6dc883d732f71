"""Jobs beside a test, from what Slurm prints; commands that fail, hang or print something else."""

import os
import time
from pathlib import Path

import pytest

from weft.cluster.slurm.neighbours import (
    NeighbourQuestions,
    neighbour_questions,
    neighbours_of,
    parse_jobs,
    parse_leaves,
    parse_nodes,
)
from weft.cluster.slurm.scheduler import Answer, Question, question
from weft.core.errors import InputError

TOPOLOGY = """\
SwitchName=leaf1 Level=0 LinkSpeed=1 Nodes=n[1-4]
SwitchName=leaf2 Level=0 LinkSpeed=1 Nodes=n[5-8]
SwitchName=spine Level=1 LinkSpeed=1 Nodes=n[1-8] Switches=leaf[1-2]
"""
NODES = "n1\nn2\nn3\nn4\nn5\nn6\nn7\nn8\n"


def program(folder: Path, name: str, *lines: str) -> None:
    path = folder / name
    path.write_text("#!/bin/sh\n" + "\n".join(lines) + "\n")
    path.chmod(0o755)


def says(text: str) -> str:
    return f"cat <<'END'\n{text.rstrip()}\nEND" if text else ":"


@pytest.fixture
def slurm(tmp_path, monkeypatch):
    """Three commands that print what a case is about."""
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)

    def make(
        jobs: str = "", nodes: str = NODES, topology: str = TOPOLOGY, private: str = "none"
    ) -> Path:
        config = f"PriorityType            = priority/basic\nPrivateData             = {private}\n"
        program(tmp_path, "squeue", says(jobs))
        program(tmp_path, "sinfo", says(nodes))
        program(
            tmp_path,
            "scontrol",
            'if [ "$2" = config ]; then',
            says(config),
            "else",
            says(topology),
            "fi",
        )
        return tmp_path

    return make


def answer(*nodes: str, timeout_s: float = 10.0):
    with neighbour_questions(nodes or ("n1", "n2")) as asked:
        return asked.answer(timeout_s)


def test_jobs_on_our_nodes_come_before_those_behind_our_switches(slurm):
    slurm("9|9|eve|n3\n10|10|ada|n[2-3]\n11|11|bob|n[5-8]\n")
    found = answer().to_record()
    assert found == {
        "n_jobs": 2,
        "jobs": [
            {"id": "10", "user": "ada", "nodes": ["n2"], "switches": ["leaf1"]},
            {"id": "9", "user": "eve", "nodes": [], "switches": ["leaf1"]},
        ],
    }


def test_our_own_job_is_no_neighbour(slurm, monkeypatch):
    slurm("10|8_2|ada|n[1-2]\n")
    monkeypatch.setenv("SLURM_JOB_ID", "10")
    assert answer().to_record() == {"n_jobs": 0, "jobs": []}


def test_nodes_with_a_domain_are_the_same_nodes(slurm):
    slurm("10|10|ada|n2\n")
    assert answer("n1.site.example", "n2.site.example").jobs[0].nodes == ("n2",)


def test_many_jobs_are_counted_and_the_first_named(slurm):
    slurm("".join(f"{i}|{i}|ada|n1\n" for i in range(1, 31)))
    record = answer().to_record()
    assert (record["n_jobs"], len(record["jobs"])) == (30, 8)
    assert [job["id"] for job in record["jobs"]] == [str(i) for i in range(1, 9)]


def test_without_a_topology_only_the_nodes_are_judged_and_it_is_said(slurm):
    slurm("9|9|eve|n3\n10|10|ada|n2\n", topology="")
    found = answer()
    assert [one.job.id for one in found.jobs] == ["10"]
    assert found.to_record()["switches_not_known"] == "Slurm's configuration names no switches"


def test_a_topology_of_another_kind_costs_only_the_switches(slurm):
    slurm("10|10|ada|n2\n", topology="BlockName=b1 BlockIndex=0 Nodes=n[1-4]")
    found = answer()
    assert [one.job.id for one in found.jobs] == ["10"]
    assert "scontrol printed 'BlockName=b1" in found.to_record()["switches_not_known"]


def test_names_that_slurm_does_not_know_are_not_taken_for_idle_nodes(slurm):
    slurm("10|10|ada|n2\n")
    assert answer("10.0.0.7").to_record() == {
        "not_known": "Slurm knows no node by the name 10.0.0.7"
    }


@pytest.mark.parametrize(("private", "user", "hidden"), [
    ("jobs,nodes", 1000, True), ("jobs", 1000, True), ("usage", 1000, False), ("none", 1000, False),
    ("jobs", 0, False),
])  # fmt: skip
def test_where_jobs_are_private_no_neighbour_is_no_answer(
    slurm, monkeypatch, private, user, hidden
):
    slurm("", private=private)
    monkeypatch.setattr("weft.cluster.slurm.neighbours.os.geteuid", lambda: user)
    assert (answer().not_known is not None) is hidden
    slurm("10|10|ada|n1\n", private=private)
    assert [one.job.user for one in answer().jobs] == ["ada"]


def test_without_slurm_it_is_said(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert answer().not_known == "there is no squeue on this machine"


def test_a_command_that_fails_says_why_in_its_own_words(slurm):
    folder = slurm()
    program(folder, "squeue", "echo 'slurm_load_jobs error: \x1b[1mno controller' >&2", "exit 1")
    assert answer().not_known == "slurm_load_jobs error: [1mno controller"


def test_a_command_that_complains_and_goes_on_trying_is_not_waited_for(slurm):
    folder = slurm()
    program(folder, "squeue", "echo 'squeue: error: cannot stat file, retrying' >&2", "sleep 60")
    started = time.monotonic()
    assert answer(timeout_s=50.0).not_known == "squeue: error: cannot stat file, retrying"
    assert time.monotonic() - started < 40


def test_a_command_that_hangs_is_ended(slurm, tmp_path):
    folder = slurm()
    program(folder, "squeue", f"echo $$ > {tmp_path}/pid", "exec sleep 60")
    assert answer(timeout_s=0.5).not_known == "squeue did not answer in time"
    pid = int((tmp_path / "pid").read_text())
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_command_that_hangs_leaves_the_others_their_answers(slurm):
    folder = slurm("10|10|ada|n2\n")
    program(folder, "scontrol", "exec sleep 60")
    program(folder, "sinfo", "sleep 1", says(NODES))
    with neighbour_questions(("n1", "n2")) as asked:
        found = asked.answer(2.0)
    assert [one.job.id for one in found.jobs] == ["10"]
    assert found.switches_not_known == "scontrol did not answer in time"


def test_all_commands_are_waited_for_until_the_same_moment():
    untils: list[float] = []

    class Asked(Question):
        def answer_until(self, until: float) -> Answer:
            untils.append(until)
            return Answer(NODES if self.name == "sinfo" else "")

    asked = (Asked(name, None) for name in ("squeue", "sinfo", "scontrol", "scontrol"))
    assert NeighbourQuestions(("n1",), *asked).answer(2.0).not_known is None
    assert len(untils) == 4
    assert len(set(untils)) == 1


def test_the_users_filters_do_not_reach_the_commands(slurm, monkeypatch):
    folder = slurm()
    monkeypatch.setenv("SQUEUE_PARTITION", "mine")
    program(folder, "squeue", 'echo "7|7|user${SQUEUE_PARTITION}|n1"')
    assert answer().jobs[0].job.user == "user"


@pytest.mark.parametrize(
    "line",
    ["JOBID|JOBID|USER|NODELIST", "7|7|ada", "7|7|ada|n1|more", "x|7|ada|n1", "7|7;8|ada|n1",
     "7|7|ada|n[1-", "squeue: nothing"],
)  # fmt: skip
def test_a_line_that_is_no_job_is_an_error_and_never_a_job(line, slurm):
    with pytest.raises(InputError):
        parse_jobs(f"6|6|ada|n1\n{line}\n")
    slurm(f"{line}\n")
    assert answer().not_known is not None


def test_job_ids_of_arrays_and_heterogeneous_jobs_are_read():
    jobs = parse_jobs("12|10_2|ada|n1\n13|13+1|eve|n[2-3]\n14|14|bob|\n")
    assert [(job.id, len(job.nodes)) for job in jobs] == [("10_2", 1), ("13+1", 2), ("14", 0)]


def test_only_leaves_are_leaves():
    assert set(parse_leaves(TOPOLOGY)) == {"leaf1", "leaf2"}
    assert parse_leaves(TOPOLOGY)["leaf2"] == {"n5", "n6", "n7", "n8"}
    for line in ("SwitchName", "Level=0 Nodes=n1", "SwitchName=leaf1 Level=0 Nodes=n[1-"):
        with pytest.raises(InputError):
            parse_leaves(line)


def test_a_node_in_several_partitions_is_one():
    assert parse_nodes("n1\nn1\nn2\n") == {"n1", "n2"}


def test_a_job_elsewhere_is_no_neighbour():
    (job,) = parse_jobs("1|1|ada|n8\n")
    assert neighbours_of(("n1",), [job], parse_leaves(TOPOLOGY)) == ()


def test_a_question_that_was_closed_leaves_nothing_open():
    with question(("sleep", "60")) as asked:
        pid = asked.process.pid
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
