"""Node sets over so many leaf switches, of the nodes that Slurm has."""

import random
from collections import Counter
from collections.abc import Mapping, Sequence

from weft.cluster.slurm.allocation import ask_leaves
from weft.cluster.slurm.scheduler import ask, not_understood
from weft.core.errors import InputError, MissingError
from weft.core.nodeset import expand

SINFO = ("sinfo", "--noheader", "--all", "--Node", "--format=%N|%T|%P")
# SOURCE: sinfo(1) of Slurm 22.05, "Node state codes"; what follows a state ('*': does not answer)
# makes it another.
_USABLE = {"idle", "mixed", "allocated", "completing", "planned"}


def usable_leaves(partition: str | None) -> dict[str, list[str]]:
    """Nodes by leaf switch: those of a partition (None: of the default one) that can run jobs.

    Raises MissingError where Slurm does not say.
    """
    answer, leaves = ask(SINFO), ask_leaves()
    not_known = answer.not_known or leaves.not_known
    if not_known is not None:
        raise MissingError(
            f"no leaf switches are known: {not_known}",
            where="scontrol show topology",
            expected="a Slurm with topology/tree",
            hint="--sbatch=--nodelist=NODES names nodes without it",
        )
    found: dict[str, list[str]] = {}
    for node in parse_usable(answer.text, partition):
        if node in leaves.by_node:
            found.setdefault(leaves.by_node[node], []).append(node)
    return found


def parse_usable(text: str, partition: str | None) -> list[str]:
    """The nodes of sinfo's lines 'node|state|partition' that can run jobs, each once; '*' behind a
    partition marks the default one. Raises InputError."""
    found: dict[str, None] = {}
    for line in filter(None, map(str.strip, text.splitlines())):
        parts = line.split("|")
        if len(parts) != 3:
            raise not_understood("sinfo", line, "node|state|partition")
        node, state, of = parts
        wanted = of.endswith("*") if partition is None else of.rstrip("*") == partition
        if wanted and state in _USABLE:
            found |= dict.fromkeys(expand(node))
    return list(found)


def spread(
    leaves: Mapping[str, Sequence[str]], n_nodes: int, n_leaves: int, n_sets: int, *, seed: int
) -> tuple[tuple[str, ...], ...]:
    """`n_sets` sets of `n_nodes`, each over exactly `n_leaves` leaves, as evenly as can be.

    Leaves and nodes that were used least come first, then chance by `seed`. Raises InputError
    where there are too few leaves with enough nodes.
    """
    if n_leaves > n_nodes:
        raise InputError(
            f"{n_nodes} nodes cannot lie on {n_leaves} leaves", where="--leaves",
            expected=f"at most {n_nodes}",
        )  # fmt: skip
    least, n_larger = divmod(n_nodes, n_leaves)
    shares = [least + 1] * n_larger + [least] * (n_leaves - n_larger)
    wide = {leaf: nodes for leaf, nodes in leaves.items() if len(nodes) >= least}
    n_widest = sum(len(nodes) > least for nodes in wide.values())
    if len(wide) < n_leaves or n_widest < n_larger:
        there = ", ".join(f"{leaf}: {len(nodes)}" for leaf, nodes in sorted(leaves.items())[:8])
        larger = f", {n_larger} of them {least + 1}" if n_larger else ""
        raise InputError(
            f"{n_nodes} nodes do not lie on {n_leaves} leaves",
            where="--leaves",
            expected=f"{n_leaves} leaves with {least} usable nodes{larger} (there are"
            f" {there or 'none'})",
        )
    rng = random.Random(f"{seed}/{n_nodes}/{n_leaves}")  # noqa: S311 - reproducible, not secret
    used: Counter[str] = Counter()
    sets = []
    for _ in range(n_sets):
        chosen: list[str] = []
        leaf_order = _least_used(rng, wide, used)
        larger_ones = [leaf for leaf in leaf_order if len(wide[leaf]) > least][:n_larger]
        others = [leaf for leaf in leaf_order if leaf not in larger_ones]
        taken = [*larger_ones, *others][:n_leaves]
        for leaf, share in zip(taken, shares, strict=True):
            order = rng.sample(list(wide[leaf]), len(wide[leaf]))
            chosen += sorted(order, key=lambda node: used[node])[:share]
        used.update(chosen)
        sets.append(tuple(sorted(chosen)))
    return tuple(sets)


def _least_used(
    rng: random.Random, leaves: Mapping[str, Sequence[str]], used: Counter[str]
) -> list[str]:
    order = rng.sample(sorted(leaves), len(leaves))
    return sorted(order, key=lambda leaf: sum(used[n] for n in leaves[leaf]) / len(leaves[leaf]))
