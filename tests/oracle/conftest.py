"""What tests beside real tools share."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.oracle.virtual import Virtual, skip_without_namespaces


@pytest.fixture
def virtual(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Virtual]:
    """A virtual cluster to bring up; it is ended with the test."""
    skip_without_namespaces()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    cluster = Virtual(capsys, f"test-{os.getpid()}")
    yield cluster
    cluster.end()
