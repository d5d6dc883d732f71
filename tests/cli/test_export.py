"""`weft export`: each format, and what a person reads."""

import csv
import io
from pathlib import Path

import pytest
from tests.mock_backend import MockBackend
from tests.unit.study import conftest
from tests.unit.study.conftest import RunStudy

from weft.api import frames
from weft.cli import run as weft
from weft.cli.export.command import FORMATS

Capture = pytest.CaptureFixture[str]
run_study = conftest.run_study
TEXTS = [name for name in FORMATS if name != "parquet"]


def test_csv_holds_every_sample_with_units_in_its_header(
    run_study: RunStudy, capsys: Capture
) -> None:
    run = run_study(repeats=2)
    assert weft(["export", str(run.directory), "--to", "csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert len(rows) == len(run.samples) == 8
    assert [float(row["latency_us"]) for row in rows] == [
        sample.metrics["latency_us"] for sample in run.samples
    ]
    assert weft(["export", str(run.directory), "--to", "csv", "--long"]) == 0
    long = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert len(long) == sum(len(sample.metrics) for sample in run.samples)


@pytest.mark.parametrize("to", TEXTS)
def test_a_file_holds_what_would_be_printed(
    to: str,
    run_study: RunStudy,
    capsys: Capture,
    tmp_path: Path,
) -> None:
    run = run_study(repeats=1)
    assert weft(["export", str(run.directory), "--to", to]) == 0
    printed = capsys.readouterr().out
    assert weft(["export", str(run.directory), "--to", to, "-o", str(tmp_path / "x")]) == 0
    assert (tmp_path / "x").read_text() == printed
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(f"{tmp_path / 'x'}: ")
    assert said.err.endswith("1 run\n")


@pytest.mark.parametrize("to", TEXTS)
def test_what_a_run_lacks_is_said_apart_from_the_data(
    to: str,
    run_study: RunStudy,
    capsys: Capture,
) -> None:
    run = run_study(backend=MockBackend(hanging=["t000-latency.r00"]), repeats=2)
    assert weft(["export", str(run.directory), "--to", to]) == 0
    said = capsys.readouterr()
    assert "1 launch failed or hung" in said.err
    assert "failed or hung" not in said.out.splitlines()[0]


def test_parquet_needs_a_file_and_a_package(
    run_study: RunStudy,
    capsys: Capture,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = str(run_study(repeats=1).directory)
    assert weft(["export", run, "--to", "parquet"]) == 2
    assert "expected: -o FILE" in capsys.readouterr().err
    monkeypatch.setattr(frames, "installed", lambda kinds: None)
    assert weft(["export", run, "--to", "parquet", "-o", str(tmp_path / "x")]) == 3
    assert "pip install polars" in capsys.readouterr().err
    assert not (tmp_path / "x").exists()


def test_options_without_an_effect_are_refused(run_study: RunStudy, capsys: Capture) -> None:
    run = str(run_study(repeats=1).directory)
    assert weft(["export", run, "--to", "junit", "--long"]) == 2
    assert "--long has no effect on junit" in capsys.readouterr().err


@pytest.mark.parametrize("to", TEXTS)
def test_what_is_no_run_is_2(to: str, tmp_path: Path, capsys: Capture) -> None:
    assert weft(["export", str(tmp_path), "--to", to]) == 2
    assert "holds no run" in capsys.readouterr().err


@pytest.mark.parametrize("to", TEXTS)
def test_an_older_schema_is_2_and_named(
    to: str,
    run_study: RunStudy,
    capsys: Capture,
) -> None:
    run = run_study(repeats=1).directory
    toml = run / "run.toml"
    toml.write_text(toml.read_text().replace("weft.run/1", "weft.run/0"))
    assert weft(["export", str(run), "--to", to]) == 2
    assert "schema 'weft.run/0'" in capsys.readouterr().err
