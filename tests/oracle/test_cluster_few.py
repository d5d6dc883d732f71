"""Two and four virtual hosts: of two none is named, and four quiet ones are too few for `OK`: each
may be slow. Faults of four are in test_cluster_check.py.

WEFT_TRIALS says how often each is repeated.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.oracle.test_cluster_check import accused
from tests.oracle.virtual import Virtual, skip_without_namespaces

from weft.cli import run
from weft.cluster.local.start import leftovers

Capture = pytest.CaptureFixture[str]
SLOW_MBIT = 200

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]
REPEATS = pytest.mark.parametrize("seed", range(max(1, int(os.environ.get("WEFT_TRIALS") or 3))))


def cluster_of(n: int, tmp_path_factory: pytest.TempPathFactory, *more: str) -> Iterator[str]:
    """The name of a virtual cluster that lives as long as its tests."""
    skip_without_namespaces()
    name = f"few{n}-{os.getpid()}"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        try:
            assert run(["cluster", "up", "--local", str(n), "--name", name, *more]) == 0
            yield name
        finally:
            run(["cluster", "down", name])
        assert name not in leftovers()


@pytest.fixture(scope="module")
def four(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Hosts without a limit."""
    yield from cluster_of(4, tmp_path_factory)


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Two hosts, one of them slow."""
    yield from cluster_of(2, tmp_path_factory, "--rate", f"node2={SLOW_MBIT}mbit")


def check(cluster: Virtual, folder: Path) -> tuple[int, dict[str, Any]]:
    """The exit code and the answer of a check."""
    code, answer = cluster.weft(
        "check", "--cluster", cluster.name, "--dir", str(folder), "--no-report"
    )
    assert isinstance(answer, dict), answer
    return code, answer


@REPEATS
def test_four_quiet_hosts_are_neither_accused_nor_good(
    four: str, tmp_path: Path, capsys: Capture, seed: int
) -> None:
    """A run of its own for each number; nothing is drawn."""
    code, answer = check(Virtual(capsys, four), tmp_path / f"run{seed}")
    assert accused(answer) == [], [finding["sentence"] for finding in answer["findings"]]
    assert code == 5


@REPEATS
def test_of_two_hosts_one_or_the_path_may_be_slow(
    two: str, tmp_path: Path, capsys: Capture, seed: int
) -> None:
    code, answer = check(Virtual(capsys, two), tmp_path / f"run{seed}")
    assert code == 5
    unknown = answer["findings"][0]
    assert unknown["severity"] == "unknown"
    said = "one of the two nodes may be slow, or the path: a third node tells"
    assert said in unknown["sentence"]
    assert accused(answer) == []
