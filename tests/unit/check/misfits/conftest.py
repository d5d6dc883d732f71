"""Runs of a twin that tests edit copies of."""

from pathlib import Path

import pytest

from weft.cli import run

TWIN = ("check", "--twin", "fat-tree", "--no-report", "--format", "json")


def measured(where: Path, *more: str) -> Path:
    """The directory of a check of a twin."""
    assert run([*TWIN, *more, "--dir", str(where)]) in (0, 1)
    return where


@pytest.fixture(scope="session")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve healthy nodes under three leaves."""
    pytest.importorskip("weft._engine", reason="the engine is not built")
    return measured(tmp_path_factory.mktemp("healthy") / "run", "--nodes", "12")


@pytest.fixture(scope="session")
def slow_node(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve nodes; n005 is slow."""
    pytest.importorskip("weft._engine", reason="the engine is not built")
    plant = ("--plant", "n005 slow=1.5")
    return measured(tmp_path_factory.mktemp("slow") / "run", "--nodes", "12", *plant)
