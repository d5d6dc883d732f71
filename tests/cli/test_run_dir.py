from pathlib import Path

import pytest

from weft.cli.options import fresh_run_dir


def test_two_runs_of_one_second_get_two_directories(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names = []
    for _ in range(3):
        fresh = fresh_run_dir("smoke", clock=lambda: 0.0)
        fresh.mkdir(parents=True)
        names.append(fresh.name)
    assert len(set(names)) == 3
    assert all(name.startswith("smoke-19") for name in names)
