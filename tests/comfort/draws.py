"""Inputs of the comfort tests: a fault without its evidence, and harmless oddities."""

import random
from collections.abc import Callable, Sequence

import pytest

N_FAST = 25
N_SLOW = 1000
NOT_GOOD = (1, 2, 3, 5)
"""Exit codes of an input with a fault: named, refused, or no verdict."""
NOT_BAD = (0, 5)
"""Exit codes of a healthy input that may show too little for a verdict."""

each_draw = pytest.mark.parametrize(
    "seeds",
    [
        pytest.param(range(N_FAST), id="few"),
        pytest.param(
            range(N_FAST, N_FAST + N_SLOW),
            id="many",
            marks=[pytest.mark.slow, pytest.mark.timeout(3000)],
        ),
    ],
)
"""Each test takes a range of seeds: a few, and a thousand with the slow tests."""


def without_some(lines: Sequence[str], is_evidence: Callable[[str], bool], draw: random.Random):
    """The lines without any evidence, and without other lines at random."""
    share = draw.choice([0.0, 0.0, 0.05, 0.5])
    return [line for line in lines if not is_evidence(line) and draw.random() >= share]


def odd_lines(lines: Sequence[str], draw: random.Random, *, notes: Sequence[str]) -> bytes:
    """The lines with harmless oddities: blank lines, notes of others, ends of lines of Windows,
    spaces at the end, and no end of the last line."""
    found: list[str] = []
    for line in lines:
        if draw.random() < 0.05:
            found.append(draw.choice(["", *notes]))
        found.append(line + draw.choice(["", "", "", "  "]))
    end = draw.choice(["\n", "\n", "\r\n"])
    return (end.join(found) + draw.choice(["", end, end + end])).encode()
