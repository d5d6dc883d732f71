"""A cluster of a stand-in kubectl."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.kubernetes.stand_in import NODES, StandInCluster

from weft.bench.nccl import kubernetes


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., StandInCluster]:
    """Makes a cluster whose kubectl is the first on PATH; its pods take steps quickly."""
    monkeypatch.setattr(kubernetes, "POLL_S", 0.01)
    monkeypatch.setattr(kubernetes, "SETTLE_S", 0.3)

    def made(*given: Any, **more: Any) -> StandInCluster:
        one = StandInCluster(tmp_path / "cluster", NODES, *given, **more)
        monkeypatch.setenv("PATH", str(one.folder), prepend=os.pathsep)
        return one

    return made
