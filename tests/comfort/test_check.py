"""`weft check`: a slow node among few, where little is measured, is never called good."""

import random
from pathlib import Path

import pytest

from weft.cli import run

NOT_GOOD = (1, 5)
each_draw = pytest.mark.parametrize(
    "seeds",
    [
        pytest.param(range(4), id="few"),
        pytest.param(range(4, 40), id="many", marks=[pytest.mark.slow, pytest.mark.timeout(3000)]),
    ],
)


def argv(seed: int, draw: random.Random, folder: Path) -> list[str]:
    """A check of 2 to 5 nodes of a twin."""
    words = ["check", "--twin", draw.choice(["azure-hc", "fat-tree"])]
    words += ["--nodes", str(draw.randint(2, 5)), "--seed", str(seed), "--no-report"]
    return [*words, "--dir", str(folder / str(seed))]


@each_draw
def test_a_slow_node_of_few_is_never_good(seeds: range, tmp_path: Path) -> None:
    for seed in seeds:
        draw = random.Random(seed)
        words = argv(seed, draw, tmp_path)
        nodes = int(words[words.index("--nodes") + 1])
        place = f"n{draw.randint(1, nodes):03d}/hca0[1]"
        assert run([*words, "--plant", f"{place} lanes=1/{draw.choice([2, 4])}"]) in NOT_GOOD, seed


@each_draw
def test_healthy_nodes_are_never_bad(seeds: range, tmp_path: Path) -> None:
    for seed in seeds:
        assert run(argv(seed, random.Random(seed), tmp_path)) in (0, 5), seed
