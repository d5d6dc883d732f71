"""Studies of one benchmark drawn with a known truth: a matrix of sizes, nodes and ranks a node."""

import functools
from collections.abc import Callable, Sequence

import numpy as np

from weft.catalog.load import benchmark
from weft.study.comparison.cells import StudyCell, Value
from weft.study.comparison.rows import ComparisonRow, ComparisonRules, rows_of

RULES = ComparisonRules(functools.cache(benchmark))
ARMS = ("sharp=off", "sharp=on")
Effect = Callable[[StudyCell], float]
"""The factor on the second arm's times."""


def cells_of_matrix(
    sizes: Sequence[int] = (8, 4096, 65536),
    nodes: Sequence[int] = (2, 8, 32, 128),
    tasks: Sequence[int] = (1, 4),
) -> list[StudyCell]:
    return [StudyCell("allreduce", n, k, size) for n in nodes for k in tasks for size in sizes]


def drawn_values(
    rng: np.random.Generator,
    cells: Sequence[StudyCell],
    effect: Effect = lambda _: 1.0,
    *,
    sets: int = 3,
    repeats: int = 3,
    spread: float = 0.03,
) -> list[Value]:
    """Sizes of one launch share half of its luck; node sets have levels of their own."""
    found = []
    scales = dict.fromkeys((cell.n_nodes, cell.tasks_per_node) for cell in cells)
    for n_nodes, tasks in scales:
        for node_set in range(sets):
            level = float(rng.lognormal(0, 0.1))
            names = frozenset(f"s{node_set}n{i}" for i in range(n_nodes))
            for arm in ARMS:
                for repeat in range(repeats):
                    luck = float(rng.normal())
                    for cell in cells:
                        if (cell.n_nodes, cell.tasks_per_node) != (n_nodes, tasks):
                            continue
                        time = level * np.exp(spread * (luck + rng.normal()) / np.sqrt(2))
                        time *= effect(cell) if arm == ARMS[1] else 1.0
                        found.append(
                            Value(
                                arm, cell, node_set, names, repeat, "latency_us_p50",
                                10.0 * float(time), 0.0,
                            )
                        )  # fmt: skip
    return found


def judged(
    values: Sequence[Value], only: frozenset[StudyCell] | None = None
) -> list[ComparisonRow]:
    first, second = ([value for value in values if value.arm == arm] for arm in ARMS)
    return rows_of(first, second, RULES, only)
