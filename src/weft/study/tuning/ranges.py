"""Ranges of message sizes and of ranks that share a choice."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from weft.study.tuning.choice import CellChoice


@dataclass(frozen=True, slots=True)
class SizeRange:
    """Neighbouring sizes with one choice: `first` and `last` in bytes were measured, `end` is the
    first byte count beyond. Sizes between two that were measured share the smaller one's choice."""

    arm: str
    first: int
    last: int
    end: int
    choices: tuple[CellChoice, ...]

    def bytes_compared(self, scale: int) -> tuple[int, int]:
        """The first byte count and the first one beyond, of `scale` such messages together."""
        if self.end == self.last + 1:
            return self.first * scale, self.last * scale + 1
        return self.first * scale, self.end * scale


@dataclass(frozen=True, slots=True)
class RankRange:
    """Communicators of `first` to `last` ranks (`first` was measured), and their sizes."""

    first: int
    last: int
    sizes: tuple[SizeRange, ...]

    @property
    def chosen(self) -> tuple[SizeRange, ...]:
        """The ranges with an algorithm, without those that keep the library's choice."""
        return tuple(one for one in self.sizes if one.arm)


def rank_ranges(choices: Sequence[CellChoice]) -> list[RankRange]:
    """The ranges of one benchmark's choices.

    What was not measured keeps the library's choice: sizes under the smallest and over the largest,
    and communicators outside the measured ones. Communicators between two that were measured take
    the choice of the smaller.
    """
    by_ranks = {
        n: tuple(group)
        for n, group in groupby(
            sorted(choices, key=lambda one: (one.n_ranks, one.size_bytes)), lambda one: one.n_ranks
        )
    }
    counts = list(by_ranks)
    lasts = [*(n - 1 for n in counts[1:]), counts[-1]] if counts else []
    return [
        RankRange(n, last, _size_ranges(by_ranks[n])) for n, last in zip(counts, lasts, strict=True)
    ]


def _size_ranges(choices: Sequence[CellChoice]) -> tuple[SizeRange, ...]:
    found: list[SizeRange] = []
    groups = [(arm, tuple(group)) for arm, group in groupby(choices, lambda one: one.arm)]
    for i, (arm, group) in enumerate(groups):
        last = group[-1].size_bytes
        end = groups[i + 1][1][0].size_bytes if i + 1 < len(groups) else last + 1
        found.append(SizeRange(arm, group[0].size_bytes, last, end, group))
    return tuple(found)
