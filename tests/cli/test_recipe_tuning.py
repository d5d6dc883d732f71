"""`weft recipe --from RUN --to FORM`: choices, files and exit codes."""

import json
from pathlib import Path

import pytest
from tests.mock_backend import MockBackend
from tests.unit.study.tuning.conftest import (
    RunTruth,
    TrueBackend,
    Truth,
    run_truth,
    study_of_algorithms,
)

from weft.cli import run

__all__ = ["run_truth"]
Capture = pytest.CaptureFixture[str]
RING: Truth = {(4, size, "ring"): 0.5 for size in (4096, 65536)}


def said(capsys: Capture) -> str:
    got = capsys.readouterr()
    return got.out + got.err


def test_choices_and_files_are_written_with_the_variables_that_load_them(
    run_truth: RunTruth, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_truth(TrueBackend(RING))
    monkeypatch.chdir(tmp_path)
    assert run(["recipe", "--from", "run", "--to", "ompi-rules"]) == 0
    text = said(capsys)
    assert text.startswith("CHOSEN  Open MPI gets another algorithm in 2 of 4 cells: ")
    assert "expected regret of allreduce: " in text
    words = " ".join(text.split())
    assert "allreduce 4 4 KiB to 64 KiB allreduce-algorithm=ring (4) " in words
    assert "allreduce 4 1 MiB the library's own none beyond doubt" in words
    assert "applies to allreduce on communicators of exactly 4 ranks, in the sizes above" in text
    again = text.splitlines()[-1].removeprefix("next:  weft ")
    assert run(again.split()) == 0
    variables = (tmp_path / "tuning" / "tuning.env").read_text().splitlines()
    assert variables == [
        "OMPI_MCA_coll_tuned_use_dynamic_rules=1",
        f"OMPI_MCA_coll_tuned_dynamic_rules_filename={tmp_path / 'tuning' / 'ompi_rules.conf'}",
    ]
    assert "\n4096 4 0 0 " in (tmp_path / "tuning" / "ompi_rules.conf").read_text()
    assert run(again.split()) == 2
    assert "there is a file 'ompi_rules.conf'" in said(capsys)


def test_json_holds_ranges_regrets_and_files(
    run_truth: RunTruth, tmp_path: Path, capsys: Capture
) -> None:
    run_truth(TrueBackend(RING))
    words = ["recipe", "--from", str(tmp_path / "run"), "--to", "ompi-rules", "--format", "json"]
    assert run(words) == 0
    record = json.loads(capsys.readouterr().out)
    assert [one["algorithm"] for one in record["ranges"]] == [None, "4", None]
    assert record["ranges"][1]["speed_up_least"] == pytest.approx(2, rel=0.02)
    (regret,) = record["regrets"]
    assert regret["regret_mean"] <= 0.05 < 0.4 < regret["regret_of_default"]
    assert set(record["files"]) == {"ompi_rules.conf", "tuning.env"}


def test_nothing_is_written_where_the_librarys_own_choice_is_the_best(
    run_truth: RunTruth, tmp_path: Path, capsys: Capture
) -> None:
    run_truth(TrueBackend({(4, size, "ring"): 2.0 for size in (8, 4096)}))
    words = ["recipe", "--from", str(tmp_path / "run"), "--to", "mpich-json"]
    assert run([*words, "--dir", str(tmp_path / "tuning")]) == 0
    assert "KEEP  no algorithm beats MPICH's own choice beyond doubt in 4 cells" in said(capsys)
    assert not (tmp_path / "tuning").exists()


def test_too_few_launches_are_no_verdict(
    run_truth: RunTruth, tmp_path: Path, capsys: Capture
) -> None:
    run_truth(TrueBackend(RING), study_of_algorithms(repeats=3))
    assert run(["recipe", "--from", str(tmp_path / "run"), "--to", "ompi-rules"]) == 5
    text = said(capsys)
    assert text.startswith("UNKNOWN  no arm has a verdict in 4 cells: not enough data")
    assert "not known, because halves of 1 launches decide nothing; 14 in all would" in text


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--from", "run"], "--from, --to, --library and --dir go together"),
        (["--to", "ompi-rules"], "--from, --to, --library and --dir go together"),
        (["azure-ndv5", "--dir", "x"], "--from, --to, --library and --dir go together"),
        (["azure-ndv5", "--from", "run", "--to", "nccl-tuner"], "'azure-ndv5' exclude each other"),
        (["--from", "none", "--to", "nccl-tuner"], "none"),
        (["--from", "run", "--to", "nccl-tuner"], "no arm of this study is an algorithm of NCCL"),
        (["--from", "run", "--to", "nccl-tuner", "--library", "run/run.toml"], "exclude"),
    ],
)
def test_what_does_not_go_together_is_refused(
    run_truth: RunTruth,
    tmp_path: Path,
    capsys: Capture,
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    complaint: str,
) -> None:
    run_truth(MockBackend(), study_of_algorithms(repeats=1))
    monkeypatch.chdir(tmp_path)
    assert run(["recipe", *words]) == 2
    assert complaint in said(capsys)
