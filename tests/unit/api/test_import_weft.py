"""`import weft`: cheap, and its functions give what the command line prints."""

import inspect
import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.process_calls import call

import weft
from weft.core.finding import Severity
from weft.judge.model import FileJudgement

ROOT = Path(__file__).resolve().parents[3]
FIELD = ROOT / "tests/fixtures/field/c01-flux-hpcx-hdr.txt"
TWIN = ("--twin", "fat-tree", "--nodes", "6")


def printed(*argv: str) -> dict:
    made = call([*argv, "--format", "json"], limit_s=100)
    assert made.code in (0, 1, 5), made.err
    return json.loads(made.out)


def test_import_weft_loads_nothing_else() -> None:
    code = "import sys, weft; print([m for m in sys.modules if m.startswith(('weft.', 'numpy'))])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


@pytest.mark.parametrize("name", sorted(set(weft.__all__)))
def test_every_name_of_the_api_is_there_with_a_text(name: str) -> None:
    assert name in dir(weft)
    assert inspect.getdoc(getattr(weft, name))


def test_an_unknown_name_is_said() -> None:
    with pytest.raises(AttributeError, match="no attribute 'laod'"):
        weft.laod  # noqa: B018


@pytest.mark.parametrize("first", ["", "import weft.judge.files, weft.expect.model; "])
def test_a_function_with_the_name_of_a_package_can_be_called(first: str) -> None:
    code = f"{first}import weft; print(len(weft.expect('generic-hdr', 'latency', size=8)))"
    code += f"; print(weft.judge({str(FIELD)!r}).findings[0].severity.value)"
    argv = [sys.executable, "-c", code]
    found = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["1", "note"]


def test_signatures_of_both_are_those_of_the_functions() -> None:
    assert "platform" in inspect.signature(weft.judge).parameters
    assert "tasks_per_node" in inspect.signature(weft.expect).parameters


def test_judge_gives_what_the_verb_prints() -> None:
    judged = weft.judge(FIELD, platform="generic-hdr")
    assert isinstance(judged, FileJudgement)
    record = printed("judge", str(FIELD), "--platform", "generic-hdr")
    assert json.loads(json.dumps(judged.to_record())) == record


def test_expect_gives_what_the_verb_prints() -> None:
    found = weft.expect("azure-ndv5", "allreduce", size="1M", gpus=16)
    rows = printed("expect", "azure-ndv5", "allreduce", "--size", "1M", "--gpus", "16")
    (row,) = rows["expectations"]
    ((conditions, expected),) = found
    assert (conditions.benchmark, conditions.n_ranks) == ("allreduce", 16)
    assert expected.value == pytest.approx(row["value"], rel=1e-3)
    assert expected.low < expected.value < expected.high
    assert expected.bound == row["bound"]


def test_check_run_gives_what_the_check_found(tmp_path: Path) -> None:
    run = tmp_path / "run"
    planted = ("--plant", "n003 slow=2")
    words = ["check", *TWIN, *planted, "--dir", str(run), "--no-report", "--format", "json"]
    made = call(words, limit_s=100)
    record = json.loads(made.out)
    verdict = weft.check_run(run)
    assert "survey" not in repr(verdict), "thousands of readings in a notebook"
    assert int(verdict.exit_code) == record["exit_code"] == 1
    assert verdict.findings[0].severity is Severity.BAD
    assert [one.sentence for one in verdict.findings] == [
        one["sentence"] for one in record["findings"]
    ]
    assert "n003" in verdict.findings[0].sentence


def test_what_is_no_check_is_refused(tmp_path: Path) -> None:
    words = ["bench", "latency", *TWIN, "--repeats", "1", "--dir", str(tmp_path / "run")]
    assert call(words, limit_s=100).code == 0
    with pytest.raises(weft.InputError, match="this run is no check: it measured no pair"):
        weft.check_run(tmp_path / "run")


def test_a_folder_and_two_machines_are_refused(tmp_path: Path) -> None:
    with pytest.raises(weft.InputError, match="is a folder"):
        weft.judge(tmp_path)
    with pytest.raises(weft.InputError, match="both name the machine"):
        weft.judge(FIELD, platform="generic-hdr", link="edr")
    with pytest.raises(weft.InputError, match=r"no\.txt"):
        weft.judge(tmp_path / "no.txt")


def test_another_option_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="nodes"):
        weft.judge(FIELD, nodes=2)
