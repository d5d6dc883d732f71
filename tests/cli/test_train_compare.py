"""`weft train compare` with priced steps: which part of the step moved."""

import json
from pathlib import Path

import pytest
from tests.unit.train.log.drawn_runs import log_of, times

from weft.catalog.load import published_figures
from weft.cli import run

Capture = pytest.CaptureFixture[str]
JOB = ("--platform", "azure-ndv5", "--model", "grok-1")
LAYOUT = ("--tp", "4", "--pp", "8", "--cp", "2", "--ep", "8", "--vp", "8", "--micro-batch", "1")
FIGURES = ("--gpus", "512", "--batch", "1024", "--sequence", "8192")


def published_log(folder: Path, precision: str) -> str:
    """A log with the step time of Grok-1 on 512 GPUs (Affaticati et al., tables 5 and 6)."""
    figures = {one.id: one.value for rows in published_figures().values() for one in rows}
    seconds = figures[{"bf16": "af-t6-512-step", "fp8": "af-t5-512-step"}[precision]]
    path = folder / f"{precision}.log"
    path.write_text(log_of(times(60, seconds), gpus=512, sequence=8192, batch=1024))
    return str(path)


def compared(capsys: Capture, *argv: str) -> dict:
    assert run(["train", "compare", *argv, "--format", "json"]) == 0
    return json.loads(capsys.readouterr().out)


def expected_s(capsys: Capture, *options: str) -> float:
    assert run(["train", "expect", "azure-ndv5", "--model", "grok-1", *options]) == 0
    return float(json.loads(capsys.readouterr().out)["step_s"])


def test_fp8_of_published_logs_shortens_the_products(tmp_path: Path, capsys: Capture) -> None:
    logs = [published_log(tmp_path, one) for one in ("bf16", "fp8")]
    record = compared(capsys, *logs, *JOB, *LAYOUT, "--precision", "bf16,fp8")
    steps, finding = record["steps"], record["findings"][1]
    changes = {one["part"]: one["change_s"] for one in steps["parts"]}
    assert min(changes, key=lambda name: changes[name]) == "products"
    assert finding["kind"] == "explanation"
    assert finding["sentence"].startswith("a step of the second takes 4.1")
    # What the logs show is divided without remainder.
    total = sum(changes.values()) + steps["unexplained"]["change_s"]
    assert total == pytest.approx(steps["logs"]["change_s"])
    assert steps["logs"]["change_s"] == pytest.approx(17.9 - 22.0, abs=0.05)


def test_two_precisions_without_logs_are_two_expectations(capsys: Capture) -> None:
    record = compared(capsys, *JOB, *LAYOUT, *FIGURES, "--precision", "bf16,fp8")
    options = ("--gpus", "512", "--global-batch", "1024", *LAYOUT, "--format", "json")
    first, second = (expected_s(capsys, *options, "--precision", one) for one in ("bf16", "fp8"))
    facts = record["findings"][0]["facts"]
    assert facts["ratio"] == pytest.approx(first / second)
    assert record["steps"]["model"]["second_s"] == pytest.approx(second)
    assert record["steps"]["logs"] is None


def test_twice_the_gpus_for_the_same_batch_count_twice(capsys: Capture) -> None:
    """A GPU has half the tokens, so that its seconds count twice."""
    few = ("--tp", "4", "--pp", "8", "--cp", "2", "--ep", "8", "--micro-batch", "1")
    job = (*JOB, *few, "--precision", "bf16", "--batch", "1024", "--gpus", "512,1024")
    record = compared(capsys, *job)
    options = ("--gpus", "1024", "--global-batch", "1024", *few, "--format", "json")
    assert record["steps"]["scale"] == 2
    assert record["steps"]["model"]["second_s"] == pytest.approx(2 * expected_s(capsys, *options))
    assert record["findings"][0]["facts"]["efficiency"] < 1


def test_two_platforms_differ_in_what_their_gpus_do(capsys: Capture) -> None:
    job = ("--model", "llama-3-8b", "--gpus", "8", "--batch", "64", "--precision", "bf16")
    record = compared(capsys, "--platform", "azure-ndv5,azure-ndv4", *job, "--tp", "4")
    assert [one["platform"] for one in record["steps"]["jobs"]] == ["azure-ndv5", "azure-ndv4"]
    assert "the model expects the second slower" in record["findings"][0]["sentence"]
    largest = max(record["steps"]["parts"], key=lambda one: one["change_s"])
    assert largest["part"] == "products"


def test_a_change_that_the_model_does_not_expect_is_not_divided(
    tmp_path: Path, capsys: Capture
) -> None:
    first, second = published_log(tmp_path, "bf16"), tmp_path / "slow.log"
    slow = log_of(times(60, 28.6, seed=3), gpus=512, sequence=8192, batch=1024)
    second.write_text(slow)
    record = compared(capsys, first, str(second), *JOB, *LAYOUT, "--precision", "bf16")
    finding = record["findings"][1]
    assert finding["kind"] == "not-judged"
    assert "the model does not say which part of the step moved: it expects +0" in str(finding)
    assert finding["facts"]["unexplained_s"] == pytest.approx(28.6 - 22.0, rel=0.01)


def test_the_layout_of_a_log_is_its_own(tmp_path: Path, capsys: Capture) -> None:
    """Megatron-LM prints its arguments; an option goes before them."""
    text = Path(published_log(tmp_path, "bf16")).read_text()
    stated = {
        "tensor_model_parallel_size": 4,
        "pipeline_model_parallel_size": 8,
        "context_parallel_size": 2,
        "expert_model_parallel_size": 8,
        "virtual_pipeline_model_parallel_size": 8,
        "micro_batch_size": 1,
    }
    arguments = "".join(f"  {name} {'.' * (48 - len(name))} {n}\n" for name, n in stated.items())
    path = tmp_path / "stated.log"
    path.write_text(arguments + text)
    pair = (str(path), str(path))
    jobs = compared(capsys, *pair, *JOB, "--precision", "bf16")["steps"]["jobs"]
    assert jobs[0]["layout"] == jobs[1]["layout"] == "TP 4 x PP 8 x CP 2 x DP 8 (EP 8), VP 8"
    jobs = compared(capsys, *pair, *JOB, "--precision", "bf16", "--vp", "8,4")["steps"]["jobs"]
    assert jobs[1]["layout"] == "TP 4 x PP 8 x CP 2 x DP 8 (EP 8), VP 4"


def test_what_lacks_is_named_and_never_guessed(tmp_path: Path, capsys: Capture) -> None:
    log = published_log(tmp_path, "bf16")
    assert run(["train", "compare", log, log]) == 0
    assert "--platform, --model and --precision" in capsys.readouterr().out
    assert run(["train", "compare", log, log, "--platform", "azure-ndv5"]) == 2
    err = capsys.readouterr().err
    assert "the first log and the options do not state model, precision, tp, pp" in err
    assert "--model X --precision X --tp X --pp X --micro-batch X" in err
    assert run(["train", "compare", *JOB, "--precision", "bf16"]) == 2
    assert "hint: --gpus X --batch X" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--batch", "1001"), "the nearest possible value is --batch 1000"),
        (("--tp", "5"), "the nearest possible value is --tp 4"),
        (("--tp", "4,8,2"), "has more than two values"),
        (("--precision", "bf16,fp4"), "'fp4' is not one of"),
        (("--model", "resnet-50"), "no parts that the model tells apart"),
    ],
)
def test_steps_that_cannot_be_are_exit_2(
    options: tuple[str, ...], message: str, capsys: Capture
) -> None:
    job = (*JOB, *LAYOUT, *FIGURES, "--precision", "bf16")
    assert run(["train", "compare", *job, *options]) == 2
    assert message in capsys.readouterr().err


def test_one_log_is_no_comparison(tmp_path: Path, capsys: Capture) -> None:
    assert run(["train", "compare", published_log(tmp_path, "bf16")]) == 2
    assert "two logs, or none" in capsys.readouterr().err


def test_the_table_fits_60_columns(tmp_path: Path, capsys: Capture) -> None:
    logs = [published_log(tmp_path, one) for one in ("bf16", "fp8")]
    assert run(["train", "compare", *logs, *JOB, *LAYOUT, "--precision", "bf16,fp8"]) == 0
    lines = capsys.readouterr().out.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("seconds of a step"))
    assert max(len(line) for line in lines[start : start + 10]) <= 60
