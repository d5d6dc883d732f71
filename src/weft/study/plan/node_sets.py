"""The nodes of a trial: sets drawn by seed, sharing as few nodes as possible."""

import math
import random

from weft.core.errors import InputError


def choose_node_sets(
    nodes: tuple[str, ...], n_nodes: int, n_sets: int, *, seed: int
) -> tuple[tuple[str, ...], ...]:
    """`n_sets` different sets of `n_nodes` of `nodes`, each in the order of `nodes`.

    Sets are cut from seeded shuffles of all nodes, so they are disjoint as long as nodes last:
    independent sets say most about sets like these. Raises InputError when there are too few nodes.
    """
    if n_nodes > len(nodes):
        raise InputError(
            f"the study needs {n_nodes} nodes, {len(nodes)} available",
            expected=f"at least {n_nodes} nodes",
            hint="name more with --nodes or --hosts, or lower `nodes` in the study",
        )
    n_possible = math.comb(len(nodes), n_nodes)
    if n_sets > n_possible:
        raise InputError(
            f"the study needs {n_sets} different sets of {n_nodes} of {len(nodes)} nodes",
            expected=f"at most {n_possible} set{'' if n_possible == 1 else 's'}",
            hint="name more nodes, or lower `node_sets` in the study",
        )
    rng = random.Random(f"{seed}/{n_nodes}")  # noqa: S311 - reproducible, not secret
    sets: dict[tuple[int, ...], None] = {}
    while len(sets) < n_sets:
        shuffled = rng.sample(range(len(nodes)), len(nodes))
        for start in range(0, len(nodes) - n_nodes + 1, n_nodes):
            chosen = tuple(sorted(shuffled[start : start + n_nodes]))
            if len(sets) < n_sets:
                sets[chosen] = None
    return tuple(tuple(nodes[i] for i in chosen) for chosen in sets)
