"""`weft study submit`, `status` and `block`, with stand-ins for sbatch and squeue: what real ones
do with the same is held in tests/oracle/test_slurm_study.py."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from tests.mock_backend import MockBackend

from weft.cli import run
from weft.cluster.slurm import sbatch
from weft.study.plan.blocks import launches_of, on_nodes
from weft.study.run.loop import execute
from weft.study.run.store import RunStore, read_run
from weft.study.submission.attempts import Attempt, attempt_folder

PAGE = (Path(__file__).parents[2] / "docs/reference/slurm.md").read_text()
SUBMITTED = ("weft.study-submit/1", {"schema", "run", "jobs"})
Capture = pytest.CaptureFixture[str]

STUDY = """
schema = "weft.study/1"
name = "mine"
title = "Mine"
question = "Is it?"
repeats = 2
nodes = [2, 4]
node_sets = 2
tasks_per_node = [1, 3]

[[benchmarks]]
name = "latency"
sizes = "8"

[[factors]]
name = "arm"

[[factors.settings]]
name = "one"

[[factors.settings]]
name = "two"
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A login node: sbatch gives numbers from 11 on and keeps what it is given; squeue prints the
    file `queue`."""
    tools = tmp_path / "tools"
    tools.mkdir()
    (tmp_path / "queue").touch()
    (tmp_path / "mine.toml").write_text(STUDY)
    (tmp_path / "alone.toml").write_text(STUDY.replace("[1, 3]", "[1]"))
    faster = STUDY.replace('sizes = "8"', 'sizes = "8"\noptions = { speed = 2 }')
    (tmp_path / "unknown.toml").write_text(faster)
    tool(
        tools / "sbatch",
        f'cd "{tmp_path}"; echo >> n; n=$(wc -l < n); for last; do :; done; cp "$last" script-$n',
        "[ -e hang-$n ] && exec sleep 60",
        'if [ -e refuse-$n ]; then echo "sbatch: error: no" >&2; exit 1; fi; echo $((10 + n))',
    )
    tool(tools / "squeue", f'cat "{tmp_path}/queue"')
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")
    for name in ("SLURM_JOB_ID", "SLURM_JOB_NODELIST", "SLURM_ARRAY_TASK_ID"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def tool(path: Path, *lines: str) -> None:
    path.write_text("\n".join(("#!/bin/sh", *lines, "")))
    path.chmod(0o755)


def said(capture: Capture, *argv: str) -> tuple[int, Any]:
    """A verb's exit code, and its JSON, or what it said on its errors."""
    code = run(["study", *argv, "--format", "json"])
    printed = capture.readouterr()
    return code, json.loads(printed.out) if printed.out else printed.err


def submitted(capture: Capture, *more: str) -> Path:
    code, answer = said(capture, "submit", "mine.toml", "--dir", "the-run", *more)
    assert code == 0, answer
    return Path(answer["run"])


def test_a_dry_run_prints_the_scripts_and_leaves_nothing(here: Path, capsys: Capture) -> None:
    (here / "tools/sbatch").unlink()
    before = set(here.iterdir())
    more = ("--partition", "main", "--time", "2:00:00", "--switches", "1@30")
    code, answer = said(capsys, "submit", "mine.toml", "--dir", "r", "--dry-run", *more)
    assert code == 0
    first, second = answer["scripts"]
    assert answer["schema"] == "weft.study-submit/1"
    lines = first.splitlines()
    assert lines[:-1] == [
        "#!/bin/sh",
        "#SBATCH --job-name=weft-mine",
        "#SBATCH --nodes=2",
        "#SBATCH --ntasks-per-node=3",
        "#SBATCH --exclusive",
        "#SBATCH --array=0-1%1",
        "#SBATCH --output=slurm/%A_%a.out",
        "#SBATCH --partition=main",
        "#SBATCH --time=2:00:00",
        "#SBATCH --switches=1@30",
    ]
    assert lines[-1].endswith(f"-m weft.cli study block {here / 'r'}")
    assert "--nodes=4" in second
    assert "--array=2-3%1" in second
    assert set(here.iterdir()) == before


def test_arrays_wait_for_one_another_and_are_kept_with_the_run(here: Path, capsys: Capture) -> None:
    code, answer = said(capsys, "submit", "mine.toml", "--dir", "the-run")
    assert (code, answer["schema"], set(answer)) == (0, *SUBMITTED)
    where = Path(answer["run"])
    listed = PAGE.partition("## As JSON")[2]
    for key in (*answer, *answer["jobs"][0]):
        assert f"`{key}`" in listed or key == "schema"
    assert "--dependency" not in (here / "script-1").read_text()
    assert "#SBATCH --dependency=afterany:11\n" in (here / "script-2").read_text()
    jobs = [json.loads((where / f"slurm/job-{n}.json").read_text()) for n in (11, 12)]
    assert [job["blocks"] for job in jobs] == [[0, 1], [2, 3]]
    meta = tomllib.loads((where / "run.toml").read_text())
    assert meta["submit"]["at_once"] == 1
    assert {one.block for one in read_run(where).launches} == {0, 1, 2, 3}


def test_blocks_that_may_overlap_wait_for_nothing(here: Path, capsys: Capture) -> None:
    submitted(capsys, "--at-once", "2", "--blocks", "3", "--nodes-per", "2", "--no-exclusive")
    script = (here / "script-1").read_text()
    assert "--array=0-2%2" in script
    assert "--exclusive" not in script
    assert not (here / "script-2").exists()


@pytest.mark.parametrize(("at_once", "waits"), [("3", True), ("4", False)])
def test_no_more_blocks_of_all_arrays_run_at_once_than_was_asked_for(
    here: Path, capsys: Capture, at_once: str, waits: bool
) -> None:
    """Two arrays of two blocks each."""
    submitted(capsys, "--at-once", at_once)
    assert "--dependency" not in (here / "script-1").read_text()
    assert ("--dependency=afterany:11\n" in (here / "script-2").read_text()) is waits


def test_jobs_are_kept_where_sbatch_does_not_answer_for_a_later_one(
    here: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sbatch, "SUBMIT_LIMIT_S", 1.0)
    (here / "hang-2").touch()
    assert run(["study", "submit", "mine.toml", "--dir", "r", "--format", "json"]) == 3
    printed = capsys.readouterr()
    assert [job["job"] for job in json.loads(printed.out)["jobs"]] == ["11"]
    assert "sbatch does not answer" in printed.err
    assert (here / "r/slurm/job-11.json").exists()
    assert (here / "r/slurm/001.sh").exists()


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["mine.toml", "--switches", "1", "--leaves", "2"], "contradict each other"),
        (["mine.toml", "--dir", "a%b"], "Slurm writes no output below this path"),
        (["mine.toml", "--dry-run", "--sbatch", "qos=x"], "'qos=x' is no option of sbatch"),
        (["mine.toml", "--resume", "--repeats", "3"], "--repeats and --resume contradict"),
        (["nothing.toml"], "nothing.toml"),
        (["adaptive-routing", "--dir", "n"], "weft study run STUDY --twin PLATFORM"),
        (["unknown.toml", "--dir", "n", "--dry-run"], "the live backend has no option 'speed'"),
        (["alone.toml", "--dir", "n", "--nodes-per", "1"], "at least two ranks"),
    ],
)
def test_wrong_words_are_refused(here: Path, capsys: Capture, argv: list[str], words: str) -> None:
    assert run(["study", "submit", *argv]) == 2
    assert words in capsys.readouterr().err
    assert not (here / "n").exists()


def test_without_sbatch_nothing_is_made(
    here: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(here))
    assert run(["study", "submit", "mine.toml", "--dir", "r"]) == 3
    assert "no 'sbatch' on PATH" in capsys.readouterr().err
    assert not (here / "r").exists()


def test_what_is_refused_first_leaves_nothing_and_what_is_refused_later_is_reported(
    here: Path, capsys: Capture
) -> None:
    (here / "refuse-1").touch()
    (here / "refuse-3").touch()
    code, words = said(capsys, "submit", "mine.toml", "--dir", "r")
    assert (code, (here / "r").exists()) == (2, False)
    assert "sbatch refused: sbatch: error: no" in words
    assert run(["study", "submit", "mine.toml", "--dir", "r", "--format", "json"]) == 2
    printed = capsys.readouterr()
    assert [job["job"] for job in json.loads(printed.out)["jobs"]] == ["12"]
    assert "the jobs before it are submitted" in printed.err


def test_a_job_that_could_not_be_kept_is_reported_and_its_script_stays(
    here: Path, capsys: Capture
) -> None:
    (here / "r").mkdir()
    tool(
        here / "tools/sbatch",
        f'mkdir -p "{here}/r/slurm/job-11.json/in-the-way"; echo 11',
    )
    assert run(["study", "submit", "mine.toml", "--dir", "r", "--format", "json"]) == 3
    printed = capsys.readouterr()
    assert [job["job"] for job in json.loads(printed.out)["jobs"]] == ["11"]
    assert "job 11 is submitted, but the record of the job cannot be written" in printed.err
    assert "'scancel 11' before --resume" in printed.err
    assert (here / "r/slurm/000.sh").exists()


def test_status_says_where_each_block_is(here: Path, capsys: Capture) -> None:
    where = submitted(capsys)
    (here / "queue").write_text(
        "11|0|RUNNING|None\n11|1|PENDING|JobArrayTaskLimit\n12|2|CANCELLED|None\n"
    )
    code, answer = said(capsys, "status", str(where))
    assert code == 4
    states = {block["block"]: block["state"] for block in answer["blocks"]}
    assert states == {0: "running", 1: "queued", 2: "cancelled", 3: "cancelled"}
    assert answer["blocks"][1]["why"] == "JobArrayTaskLimit"
    assert answer["blocks"][3]["why"] == "12_3 left the queue before it started"
    assert run(["study", "status", str(where)]) == 4
    text = capsys.readouterr().out
    assert answer["schema"] == "weft.study-status/1"
    listed = PAGE.partition("## As JSON")[2]
    for key in {*answer, *answer["blocks"][0]} - {"schema"}:
        assert f"`{key}`" in listed
    assert "4 blocks: 2 cancelled, 1 running, 1 queued; 0 of 40 launches over" in text
    assert f"weft study submit {where} --resume" in text


def test_where_no_one_can_ask_the_queue_nothing_is_guessed(
    here: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    where = submitted(capsys)
    (here / "tools/squeue").unlink()
    monkeypatch.setenv("PATH", str(here / "tools"))
    code, answer = said(capsys, "status", str(where))
    assert (code, answer["states"]) == (0, {"unknown": 4})
    assert answer["queue_not_known"] == "there is no squeue on this machine"
    assert run(["study", "submit", str(where), "--resume"]) == 3
    assert "no block is submitted twice" in capsys.readouterr().err


def test_resume_submits_what_is_missing_after_what_is_running(here: Path, capsys: Capture) -> None:
    where = submitted(capsys, "--partition", "main")
    (here / "queue").write_text("11|1|RUNNING|None\n")
    code, answer = said(capsys, "submit", str(where), "--resume", "--time", "30")
    assert code == 0
    assert [job["blocks"] for job in answer["jobs"]] == [[0], [2, 3]]
    script = (here / "script-3").read_text()
    for word in ("--array=0%1", "--partition=main", "--time=30", "--dependency=afterany:11"):
        assert f"#SBATCH {word}\n" in script
    (here / "queue").write_text("11|1|RUNNING|None\n13|0|PENDING|Dependency\n14|2|PENDING|x\n"
                                "14|3|PENDING|x\n")  # fmt: skip
    code, answer = said(capsys, "submit", str(where), "--resume")
    assert (code, answer["jobs"]) == (0, [])


def test_a_block_that_ends_while_the_queue_is_asked_is_done(here: Path, capsys: Capture) -> None:
    """Not one that is in no queue and not complete: that would be submitted again."""
    where = submitted(capsys)
    nodes, backend = ("n1", "n2"), MockBackend(seed=1)
    folder = attempt_folder(where, 0, "11_0")
    folder.parent.mkdir()
    Attempt(0, "11_0", nodes, 1.0, 2.0).write(folder)
    launches = on_nodes(launches_of(read_run(where).launches, 0), nodes)
    with RunStore.create(folder, {}) as store:
        execute(launches, backend, store)
    (where / "blocks").rename(here / "later")
    tool(here / "tools/squeue", f'cd "{here}"; [ ! -d later ] || mv later the-run/blocks')
    assert said(capsys, "status", str(where))[1]["blocks"][0]["state"] == "done"
    (where / "blocks").rename(here / "later")
    _, answer = said(capsys, "submit", str(where), "--resume")
    assert [job["blocks"] for job in answer["jobs"]] == [[1], [2, 3]]


def test_leaves_typed_with_resume_take_the_place_of_switches(here: Path, capsys: Capture) -> None:
    where = submitted(capsys, "--switches", "1")
    tool(here / "tools/sinfo", "for n in 1 2 3 4; do echo 'n'$n'|idle|main*'; done")
    tool(here / "tools/scontrol", "echo 'SwitchName=leaf0 Level=0 LinkSpeed=1 Nodes=n[1-4]'")
    code, answer = said(capsys, "submit", str(where), "--resume", "--leaves", "1", "--dry-run")
    assert code == 0, answer
    assert len(answer["scripts"]) == 3  # two sets of two nodes, and all four in both other blocks
    assert all("--nodelist=" in one and "--switches" not in one for one in answer["scripts"])


def test_an_attempt_that_failed_says_why(here: Path, capsys: Capture) -> None:
    where = submitted(capsys)
    folder = attempt_folder(where, 0, "11_0")
    folder.parent.mkdir()
    Attempt(0, "11_0", ("n1", "n2"), 1.0, 2.0, "no kernel on n2\n  hint: copy it").write(folder)
    (here / "queue").write_text("11|0|FAILED|NonZeroExitCode\n")
    _, answer = said(capsys, "status", str(where))
    block = answer["blocks"][0]
    assert (block["state"], block["nodes"]) == ("failed", ["n1", "n2"])
    assert block["why"].startswith("no kernel on n2")


def test_an_attempt_that_was_killed_has_failed_once_slurm_forgot_it(
    here: Path, capsys: Capture
) -> None:
    where = submitted(capsys)
    folder = attempt_folder(where, 0, "11_0")
    folder.parent.mkdir()
    Attempt(0, "11_0", ("n1", "n2"), 1.0).write(folder)
    (here / "queue").write_text("11|0|RUNNING|None\n")
    assert said(capsys, "status", str(where))[1]["blocks"][0]["state"] == "running"
    (here / "queue").write_text("")
    block = said(capsys, "status", str(where))[1]["blocks"][0]
    assert (block["state"], "was killed" in block["why"]) == ("failed", True)


def test_status_of_a_run_that_was_not_submitted_is_refused(here: Path, capsys: Capture) -> None:
    assert run(["study", "run", "smoke", "--mock", "--repeats", "1", "--dir", "plain"]) == 0
    capsys.readouterr()
    assert run(["study", "status", "plain"]) == 2
    assert "was not submitted to Slurm" in capsys.readouterr().err


def test_a_block_wants_a_job_with_enough_nodes(
    here: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    where = submitted(capsys)
    assert run(["study", "block", str(where)]) == 2
    assert "which block?" in capsys.readouterr().err
    assert run(["study", "block", str(where), "--block", "9"]) == 2
    assert "no block 9 in this run" in capsys.readouterr().err
    assert run(["study", "block", str(where), "--block", "2"]) == 2
    assert "no Slurm job around this" in capsys.readouterr().err
    monkeypatch.setenv("SLURM_JOB_ID", "15")
    monkeypatch.setenv("SLURM_ARRAY_JOB_ID", "12")
    monkeypatch.setenv("SLURM_ARRAY_TASK_ID", "2")
    monkeypatch.setenv("SLURM_JOB_NODELIST", "n[1-3]")
    assert run(["study", "block", str(where)]) == 2
    assert "the job has 3 nodes, the block wants 4" in capsys.readouterr().err
    (here / "queue").write_text("12|2|FAILED|NonZeroExitCode\n")
    _, answer = said(capsys, "status", str(where))
    assert answer["blocks"][2]["state"] == "failed"
    assert "the block wants 4" in answer["blocks"][2]["why"]
