"""`weft check` on eight real processes: one slowed on purpose is named, and nobody where none is.

As many rounds of one pair as there are pairs, on as few CPUs as this machine has; every rank has a
namespace and a virtual cable (ranks_apart.py). What is slowed: the cable of one rank, to two fifths
of the others' rate; or the CPU of one rank, by the quota of a control group, as the limit of a
container does it.
"""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.oracle.ranks_apart import RanksApart, ranks_apart, why_not

from weft.cli import run

N_RANKS = 8
SLOWED = 3
Capture = pytest.CaptureFixture[str]
Check = Callable[..., dict[str, Any]]

pytestmark = pytest.mark.slow
TIMES = pytest.mark.parametrize("time", range(20))


@pytest.fixture(scope="module")
def possible() -> None:
    reason = why_not()
    if reason is not None:
        pytest.skip(reason)


@pytest.fixture
def ranks(possible: None, tmp_path: Path) -> Iterator[RanksApart]:
    folder = tmp_path / "ranks"
    folder.mkdir()
    with ranks_apart(N_RANKS, folder) as joined:
        yield joined


@pytest.fixture
def check(ranks: RanksApart, tmp_path: Path, capsys: Capture) -> Check:
    """`weft check --format json` on these ranks."""

    def checked(*more: str) -> dict[str, Any]:
        words = ["check", "--mpi", str(ranks.mpicc), "--tasks-per-node", str(ranks.n)]
        code = run([*words, "--dir", str(tmp_path / "run"), "--format", "json", *more])
        said = capsys.readouterr()
        assert code in (0, 1), said.err
        answer: dict[str, Any] = json.loads(said.out)
        assert answer["exit_code"] == code
        return answer

    return checked


def accused(answer: dict[str, Any]) -> list[Any]:
    """What the bad findings name."""
    return [
        [suspect["ends"] for suspect in finding["facts"].get("suspects", [])]
        or finding["facts"].get("pairs")
        or finding["sentence"]
        for finding in answer["findings"]
        if finding["severity"] == "bad"
    ]


def host_of_slowed() -> str:
    return f"{os.uname().nodename}:{SLOWED}"


@TIMES
def test_a_rank_with_two_fifths_of_the_others_bandwidth_is_named(
    ranks: RanksApart, check: Check, time: int
) -> None:
    for rank in range(ranks.n):
        ranks.limit(rank, "80mbit" if rank == SLOWED else "200mbit")
    assert accused(check("--large", "32K")) == [[[host_of_slowed()]]]


@TIMES
def test_a_rank_with_a_twentieth_of_a_cpu_is_named(
    ranks: RanksApart, check: Check, time: int
) -> None:
    reason = ranks.hold(SLOWED, 0.05)
    if reason is not None:
        pytest.skip(reason)
    for rank in range(ranks.n):
        ranks.limit(rank, "200mbit")
    assert accused(check("--large", "32K")) == [[[host_of_slowed()]]]


@TIMES
def test_nobody_is_named_where_nobody_is_slowed(check: Check, time: int) -> None:
    assert accused(check("--large", "256K")) == []
