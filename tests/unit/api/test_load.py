"""`weft.load`: kinds of frames, and what it warns of."""

import importlib
import importlib.util
from pathlib import Path
from typing import Any

import pytest
from tests.mock_backend import MockBackend
from tests.unit.study.conftest import RunStudy

import weft
from weft.api import frames

needs_no_package = pytest.mark.parametrize("kind", ["numpy", "rows"])


@pytest.fixture
def without_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)


def test_columns_and_rows_need_no_package(run_study: RunStudy, without_frames: None) -> None:
    run = run_study(repeats=2)
    columns = weft.load(run.directory, frame="numpy")
    rows = weft.load(run.directory, frame="rows")
    assert len(rows) == len(columns["run"]) == 8
    assert rows[0]["latency_us"] == columns["latency_us"][0]


def test_without_any_package_the_error_says_how_to_install(
    run_study: RunStudy,
    without_frames: None,
) -> None:
    run = run_study(repeats=1)
    with pytest.raises(weft.MissingError, match="pandas, polars and pyarrow are not") as error:
        weft.load(run.directory)
    assert "pip install polars" in error.value.describe()
    assert "frame='rows'" in error.value.describe()
    with pytest.raises(weft.MissingError, match="pyarrow is not installed"):
        weft.load(run.directory, frame="arrow")
    with pytest.raises(weft.MissingError, match="no writer of Parquet"):
        frames.parquet_bytes(frames_table(run.directory))


def frames_table(directory: Path) -> Any:
    from weft.study.sample_table import read_sample_table

    return read_sample_table([directory])


def test_an_unknown_kind_is_said_with_the_nearest(run_study: RunStudy) -> None:
    run = run_study(repeats=1)
    with pytest.raises(weft.InputError, match="no data frame 'panda'") as error:
        weft.load(run.directory, frame="panda")
    assert "did you mean 'pandas'?" in error.value.describe()


def test_no_run_is_said() -> None:
    with pytest.raises(weft.InputError, match="no run"):
        weft.load()


def test_launches_that_failed_are_warned_of(run_study: RunStudy) -> None:
    run = run_study(backend=MockBackend(failing=["t000-latency.r00"]), repeats=2)
    with pytest.warns(weft.IncompleteRunWarning, match="1 launch failed or hung"):
        weft.load(run.directory, frame="rows")
