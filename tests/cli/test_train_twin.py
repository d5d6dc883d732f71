"""`weft train ... --twin`, `--trace` and `weft replay` of what that wrote."""

import json
from pathlib import Path

import pytest

from weft.cli import run

MIXTRAL = ["azure-ndv5", "--model", "mixtral-8x7b", "--layers", "4", "--gpus", "16", "--tp", "4"]


def test_the_twin_is_shown_beside_the_model(capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["train", "expect", *MIXTRAL, "--ep", "4", "--ga", "2", "--twin"]
    assert run([*argv, "--format", "json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["twin"]["n_nodes"] == 2
    assert record["step_s"] == pytest.approx(record["twin"]["formula_step_s"], rel=0.05)
    between = [one for one in record["exchanges"] if one["over"] == "rails"]
    assert between
    for one in between:
        assert one["twin_s"] == pytest.approx(one["formula_s"], rel=0.1)
        assert one["fidelity"] in ("packet", "flow")
    inside = [one for one in record["exchanges"] if one["over"] != "rails"]
    assert {one["twin_s"] for one in inside} == {None}


def test_a_plan_says_what_a_neighbour_costs_on_the_twin(
    capsys: pytest.CaptureFixture[str],
) -> None:
    argv = ["train", "plan", "azure-ndv5", "--model", "llama-3-8b", "--gpus", "16", "--tp", "2"]
    assert run([*argv, "--twin", "--format", "json"]) == 0
    changes = json.loads(capsys.readouterr().out)["changes"]
    beside = [one for one in changes if "neighbour" in one["change"]]
    assert len(beside) == 2
    assert all(one["factor"] >= 0.99 for one in beside)


def test_a_written_step_takes_as_long_on_the_twin(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The schedule is simulated whole, the expectation adds parts: they agree within a tenth."""
    where = tmp_path / "step"
    argv = ["train", "expect", *MIXTRAL, "--pp", "2", "--ga", "4", "--twin", "--format", "json"]
    assert run([*argv, "--trace", str(where)]) == 0
    answer = capsys.readouterr()
    assert "Chakra 0.0.4" in answer.err
    expected = json.loads(answer.out)["step_s"]
    assert run(["replay", str(where), "--twin", "azure-ndv5", "--format", "json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["n_gpus"], record["left_out"]) == (16, {})
    assert record["seconds"] == pytest.approx(expected, rel=0.1)


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["expect", *MIXTRAL, "--twin", "--lost-rails", "1"], "leave out --twin"),
        (["expect", *MIXTRAL, "--twin", "--taper", "1.5"], "--taper 2"),
        (["expect", *MIXTRAL, "--aggressor", "alltoall@8"], "--aggressor without --twin"),
        (["expect", *MIXTRAL, "--tp", "4", "--ep", "8", "--etp", "8"], "--ep 2"),
        (["expect", *MIXTRAL, "--etp", "3"], "--etp 2"),
    ],
)
def test_refusals(argv: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["train", *argv]) == 2
    assert message in capsys.readouterr().err


def test_experts_fold_over_more_than_dp(capsys: pytest.CaptureFixture[str]) -> None:
    """TP 4 x CP 2 x DP 2 on 16 GPUs: EP 8 does not divide DP, but 16 with expert TP 1."""
    argv = ["train", "expect", *MIXTRAL, "--cp", "2", "--ep", "8"]
    assert run(argv) == 2
    assert "--ep 2" in capsys.readouterr().err
    assert run([*argv, "--etp", "1", "--format", "json"]) == 0
    record = json.loads(capsys.readouterr().out)
    experts = [one for one in record["exchanges"] if one["dimension"] == "ep"]
    assert [(one["ranks"], one["over"]) for one in experts] == [(8, "NVLink")]
    replicas = [one for one in record["exchanges"] if one["what"] == "gradients of experts"]
    assert [one["ranks"] for one in replicas] == [2]


def test_a_sweep_goes_on_past_a_size_without_a_layout(capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["train", "plan", "azure-ndv5", "--model", "llama-3-8b", "--sweep", "8:32"]
    assert run([*argv, "--global-batch", "16", "--tp", "1", "--cp", "1", "--format", "json"]) == 0
    sizes = json.loads(capsys.readouterr().out)["sizes"]
    assert [one["n_gpus"] for one in sizes] == [8, 16, 32]
    assert [one["reason"] == "" for one in sizes].count(True) >= 1
    assert all((one["step_s"] is None) == bool(one["reason"]) for one in sizes)
    assert run([*argv, "--tp", "7"]) == 0
    assert "16 GPUs: TP 7: 32 heads" in capsys.readouterr().out


def test_options_of_other_traces_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "t.0.et").write_bytes(b"\x00")
    assert run(["replay", str(tmp_path), "--twin", "azure-ndv5", "--scale", "8x"]) == 2
    assert "--scale with a Chakra trace" in capsys.readouterr().err
    assert run(["replay", str(tmp_path), "--twin", "azure-ndv5"]) == 2
    assert "nothing to repeat" in capsys.readouterr().err
