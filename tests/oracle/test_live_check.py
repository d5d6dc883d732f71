"""`weft check` on real processes: one slowed on purpose is named, and nobody where none is.

As many rounds of one pair as there are pairs, on as few CPUs as this machine has; every rank has a
namespace, a virtual cable, and a CPU's worth of time of its own (ranks_apart.py). How many ranks
there are, which is slowed, and how much, is drawn from a seed, which is part of a test's name. What
is slowed: the cable of one rank; the CPU of one rank, by processes that spin on it; or by a quota,
as the limit of a container does it. WEFT_TRIALS says how many seeds there are.
"""

import json
import os
import random
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from tests.oracle.ranks_apart import RanksApart, ranks_apart, why_not

from weft.cli import run

OTHERS_MBIT = 200
Capture = pytest.CaptureFixture[str]
Ranks = Callable[[int], AbstractContextManager[RanksApart]]
Check = Callable[..., dict[str, Any]]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
SEEDS = pytest.mark.parametrize("seed", range(max(1, int(os.environ.get("WEFT_TRIALS") or 20))))
FEW_SEEDS = pytest.mark.parametrize("seed", range(3))


@dataclass(frozen=True, slots=True)
class Draw:
    """What a run is made of. `cable_share` is of the others' bandwidth; `even` says whether ranks
    that are all alike share no more than each one's own."""

    seed: int
    n_ranks: int
    slowed: int
    cable_share: float
    n_spinning: int
    even: bool


def drawn(seed: int) -> Draw:
    """Six ranks at least, as a verdict needs."""
    chosen = random.Random(seed)
    n_ranks = chosen.randint(6, 10)
    return Draw(
        seed=seed,
        n_ranks=n_ranks,
        slowed=chosen.randrange(n_ranks),
        cable_share=chosen.uniform(0.3, 0.6),
        n_spinning=chosen.randint(3, 5),
        even=chosen.random() < 0.5,
    )


@pytest.fixture(scope="module")
def possible() -> None:
    reason = why_not()
    if reason is not None:
        pytest.skip(reason)


@pytest.fixture
def ranks(possible: None, tmp_path: Path) -> Ranks:
    folder = tmp_path / "ranks"
    folder.mkdir()
    return lambda n: ranks_apart(n, folder)


@pytest.fixture
def check(tmp_path: Path, capsys: Capture) -> Check:
    """`weft check --format json` on ranks."""

    def checked(ranks: RanksApart, *more: str) -> dict[str, Any]:
        words = ["check", "--mpi", str(ranks.mpicc), "--tasks-per-node", str(ranks.n)]
        words += ["--budget", "15s", "--no-report", "--dir", str(tmp_path / "run")]
        code = run([*words, "--format", "json", *more])
        said = capsys.readouterr()
        assert code in (0, 1, 5), said.err
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


def is_right(draw: Draw, answer: dict[str, Any], named: list[Any]) -> None:
    said = [finding["sentence"] for finding in answer["findings"]]
    assert accused(answer) == named, f"{draw}\n" + "\n".join(said)


def the_slowed(draw: Draw) -> list[Any]:
    return [[[f"{os.uname().nodename}:{draw.slowed}"]]]


def give_each_its_own(ranks: RanksApart) -> None:
    """A cable as fast as the others', and a CPU's worth of time."""
    for rank in range(ranks.n):
        ranks.limit(rank, f"{OTHERS_MBIT}mbit")
        reason = ranks.hold(rank, 1.0)
        if reason is not None:
            pytest.skip(reason)


@SEEDS
def test_a_rank_whose_cable_is_slower_is_named(ranks: Ranks, check: Check, seed: int) -> None:
    draw = drawn(seed)
    with ranks(draw.n_ranks) as joined:
        give_each_its_own(joined)
        joined.limit(draw.slowed, f"{OTHERS_MBIT * draw.cable_share:.0f}mbit")
        is_right(draw, check(joined, "--large", "32K"), the_slowed(draw))


@SEEDS
def test_a_rank_whose_cpu_is_loaded_is_named(ranks: Ranks, check: Check, seed: int) -> None:
    """Of a CPU's worth of time the rank has what the scheduler leaves it beside the others."""
    draw = drawn(seed)
    with ranks(draw.n_ranks) as joined:
        give_each_its_own(joined)
        joined.load(draw.slowed, draw.n_spinning)
        is_right(draw, check(joined, "--large", "32K"), the_slowed(draw))


@FEW_SEEDS
def test_a_rank_with_a_twentieth_of_a_cpu_is_named(ranks: Ranks, check: Check, seed: int) -> None:
    draw = replace(drawn(seed), n_ranks=8, slowed=seed)
    with ranks(draw.n_ranks) as joined:
        give_each_its_own(joined)
        joined.hold(draw.slowed, 0.05)
        is_right(draw, check(joined, "--large", "32K"), the_slowed(draw))


@SEEDS
def test_nothing_is_named_where_no_one_is_slowed(ranks: Ranks, check: Check, seed: int) -> None:
    """Under the limits that the ranks above share, and without any."""
    draw = drawn(seed)
    with ranks(draw.n_ranks) as joined:
        if draw.even:
            give_each_its_own(joined)
        is_right(draw, check(joined, "--large", "32K" if draw.even else "256K"), [])
