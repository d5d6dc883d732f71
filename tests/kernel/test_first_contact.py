"""First contact of a pair, made slow by a layer between the kernel and MPI, is in no time."""

from pathlib import Path

import pytest
from tests.kernel.conftest import Kernel, Outcome, build

LAYER = Path(__file__).with_name("slow_first_contact.c")
FIRST_NS = 200_000_000
SIZES = ("--pair-sizes", "8,65536", "--window", "2")
UNWARMED = ("--iterations", "3", "--warmup", "0")


@pytest.fixture(scope="module")
def slow_to_meet(tmp_path_factory: pytest.TempPathFactory) -> Kernel:
    """The kernel, with ranks that take a fifth of a second to meet, at every size."""
    return build("embedded", tmp_path_factory.mktemp("slow-to-meet"), LAYER)


def times_ns(outcome: Outcome) -> list[int]:
    assert outcome.exit_code == 0, outcome.stderr
    return [time for row in outcome.of("pair_row") for time in row["times_ns"]]


@pytest.mark.parametrize(
    ("phases", "counts"),
    [
        pytest.param("latency,bandwidth", (), marks=pytest.mark.slow),
        ("latency,bandwidth", UNWARMED),
        ("bandwidth", UNWARMED),
        ("bidirectional", UNWARMED),
    ],
)
def test_no_time_of_a_pair_holds_its_first_contact(
    slow_to_meet: Kernel, tmp_path: Path, phases: str, counts: tuple[str, ...]
) -> None:
    """One pair a round, two at once, and pairs that have met in another order."""
    listed = tmp_path / "rounds"
    listed.write_text("0-1\n0-2 1-3\n3-0 2-1\n1-0\n")
    rounds = ("--rounds-file", str(listed), "--phases", phases)
    outcome = slow_to_meet.run(4, "--benchmark", "pairs", *rounds, *SIZES, *counts)
    assert {row["round"] for row in outcome.of("pair_row")} == {0, 1, 2, 3}
    assert max(times_ns(outcome)) < FIRST_NS


def test_first_contact_takes_no_iterations_from_a_pair(slow_to_meet: Kernel) -> None:
    """A time limit is held against what iterations take once two ranks have met."""
    limit = ("--iterations", "20", "--warmup", "0", "--max-seconds-per-size", "2")
    outcome = slow_to_meet.run(2, "--benchmark", "pairs", *SIZES, *limit)
    assert max(times_ns(outcome)) < FIRST_NS
    assert [row["iterations"] for row in outcome.of("pair_row")] == [20] * 3
