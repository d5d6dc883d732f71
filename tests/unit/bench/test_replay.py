"""The algorithm of a collective that a twin repeats: who decides, and in what order."""

import pytest

from weft.bench.replay import AlgorithmChoice, library_algorithm
from weft.catalog.load import platform

LARGE = 1 << 16


def chosen(machine: str, *, asked: str = "", recorded: str = "", size: int = LARGE) -> str | None:
    choice = AlgorithmChoice(machine, 1, asked, recorded, platform(machine))
    return choice("allreduce", size, 64)


def test_an_assumed_row_comes_after_the_recorded_library() -> None:
    row = platform("azure-hbv3").algorithm("allreduce", 8)
    own = library_algorithm("mpich", "allreduce", LARGE, 64)
    assert row is not None
    assert row.class_ == "assumed"
    assert chosen("azure-hbv3", size=8) == row.algorithm
    assert own not in (None, chosen("azure-hbv3"))
    assert chosen("azure-hbv3", recorded="mpich") == own


def test_the_library_of_a_platform_comes_before_the_recorded_one() -> None:
    assert chosen("alps-gh200") != library_algorithm("openmpi", "allreduce", LARGE, 64)
    assert chosen("alps-gh200", recorded="openmpi") == chosen("alps-gh200")


@pytest.mark.parametrize("library", ["mpich", "openmpi", "mvapich2"])
def test_a_library_that_is_asked_for_decides_alone(library: str) -> None:
    for machine in ("azure-hbv3", "alps-gh200"):
        for size in (8, LARGE):
            own = library_algorithm(library, "allreduce", size, 64)
            assert chosen(machine, asked=library, recorded="mpich", size=size) == own
