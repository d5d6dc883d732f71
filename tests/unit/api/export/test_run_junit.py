"""JUnit of runs: what failed, what counts nowhere, what is not finished."""

from pathlib import Path

from tests.junit_documents import read
from tests.mock_backend import MockBackend
from tests.process_calls import call
from tests.unit.study.conftest import FACTOR, RunStudy

from weft.api.export.run_junit import runs_junit_text
from weft.study.run.store import read_run


def test_a_trial_with_a_failed_launch_fails_with_its_message(run_study: RunStudy) -> None:
    run = run_study(backend=MockBackend(failing=["t000-latency.r01"]), repeats=3)
    cases = read(runs_junit_text([run]))
    name = "latency on 2 nodes x 1 rank (t000-latency)"
    failure = cases["weft.latency", name].find("failure")
    assert failure.get("message") == "1 of 3 launches failed"
    assert failure.text.splitlines()[1].startswith("repeat 1: ")
    assert not len(cases["weft.allreduce", "allreduce on 2 nodes x 1 rank (t001-allreduce)"])


def test_an_arm_without_its_treatment_is_an_error(run_study: RunStudy) -> None:
    factors = FACTOR.replace('transport = "mock"', 'transport = "rc"')
    cases = read(runs_junit_text([run_study(factors=factors, repeats=2)]))
    errors = {name: case.find("error") for (_, name), case in cases.items()}
    of_arms = {name: error for name, error in errors.items() if error is not None}
    assert len(of_arms) == 2
    assert all("routing=adaptive" in name for name in of_arms)
    assert all("untreated" in error.get("message") for error in of_arms.values())


def test_a_killed_run_is_an_error_of_the_run(run_study: RunStudy) -> None:
    run = run_study(repeats=1)
    (path,) = (run.directory / "samples").glob("*.jsonl")
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:-3]))
    cases = read(runs_junit_text([read_run(run.directory)]))
    whole = cases["weft.run", "complete"].find("error")
    assert whole.get("message") == "1 of 2 launches not finished"
    assert [name for (_, name), case in cases.items() if case.find("skipped") is not None]


def test_a_run_without_any_result_is_no_success(run_study: RunStudy) -> None:
    run = run_study(repeats=1)
    for path in (run.directory / "samples").glob("*.jsonl"):
        path.unlink()
    cases = read(runs_junit_text([read_run(run.directory)]))
    assert cases["weft.run", "complete"].find("error") is not None


def test_a_check_has_a_case_a_node(tmp_path: Path) -> None:
    words = ["check", "--twin", "fat-tree", "--nodes", "6", "--plant", "n003 slow=2"]
    made = call([*words, "--dir", str(tmp_path / "run"), "--no-report"], limit_s=100)
    assert made.code == 1, made.err
    cases = read(runs_junit_text([read_run(tmp_path / "run")]))
    failed = [name for (_, name), case in cases.items() if case.find("failure") is not None]
    assert failed == ["n003"]
    assert len(cases) == 6
