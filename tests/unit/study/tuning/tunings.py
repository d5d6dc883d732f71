"""Collectives with given choices, without a run."""

from collections.abc import Mapping

from weft.study.tuning.algorithm import TunedAlgorithm
from weft.study.tuning.arms import AlgorithmArms
from weft.study.tuning.choice import CellChoice
from weft.study.tuning.ranges import rank_ranges
from weft.study.tuning.tuning_files import TunedCollective

Chosen = Mapping[tuple[int, int], str]
"""By ranks and bytes the chosen arm, "" for the library's choice."""


def tuned(
    benchmark: str, collective: str, algorithms: Mapping[str, TunedAlgorithm], chosen: Chosen
) -> TunedCollective:
    """The collective of these choices."""
    choices = [
        CellChoice(benchmark, n, size, arm, 2.0, 1.9, 2.1) for (n, size), arm in chosen.items()
    ]
    arms = AlgorithmArms(benchmark, collective, "library", dict(algorithms))
    return TunedCollective(arms, tuple(rank_ranges(choices)))


def expected_arm(chosen: Chosen, n_ranks: int, size: int) -> str:
    """The arm of a call by the choices themselves: of the largest measured number of ranks and size
    that are not larger than the call's, and none outside what was measured."""
    counts = sorted({n for n, _ in chosen})
    if not counts[0] <= n_ranks <= counts[-1]:
        return ""
    of_ranks = max(n for n in counts if n <= n_ranks)
    sizes = sorted(s for n, s in chosen if n == of_ranks)
    if not sizes[0] <= size <= sizes[-1]:
        return ""
    return chosen[of_ranks, max(s for s in sizes if s <= size)]
