"""The files of a tuning, and the variables by which a library loads them."""

from collections.abc import Mapping
from dataclasses import dataclass

from weft.bench.metrics import OF_BLOCKS
from weft.study.tuning.arms import AlgorithmArms
from weft.study.tuning.ranges import RankRange


@dataclass(frozen=True, slots=True)
class TunedCollective:
    """The ranges of one collective."""

    arms: AlgorithmArms
    ranges: tuple[RankRange, ...]

    @property
    def is_changed(self) -> bool:
        """Whether any range takes another algorithm than the library would."""
        return any(one.chosen for one in self.ranges)


@dataclass(frozen=True, slots=True)
class TuningFiles:
    """Texts by file name. `variables` load them: a value that is a file name stands for its path.
    `notes` limit where they apply."""

    texts: Mapping[str, str]
    variables: Mapping[str, str]
    notes: tuple[str, ...] = ()


def bytes_scale(one: TunedCollective, ranks: RankRange) -> int:
    """How many messages of the benchmark's size a library adds up before it compares: a benchmark
    that counts a block has one for each rank."""
    return ranks.first if one.arms.benchmark in OF_BLOCKS else 1
