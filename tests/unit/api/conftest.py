"""Runs of a study on the mock: two arms, a launch that hung, a launch cut off."""

from pathlib import Path

import pytest
from tests.unit.study.conftest import run_study, two_arms  # noqa: F401


@pytest.fixture
def cut_run(tmp_path: Path):
    """Cut the last launches off a run, as a kill of weft leaves it."""

    def cut(directory: Path, n_lines: int) -> None:
        (path,) = (directory / "samples").glob("*.jsonl")
        lines = path.read_text().splitlines(keepends=True)
        path.write_text("".join(lines[:-n_lines]) + '{"record":"sam')

    return cut
