"""More ranks on a host than CPUs: rounds in which those that are active find one each."""

from collections import Counter
from collections.abc import Mapping, Sequence

Pair = tuple[int, int]
Rounds = Sequence[Sequence[Pair]]


def within_cpus(rounds: Rounds, tasks_per_node: int, n_cpus: Mapping[int, int]) -> Rounds:
    """Each round in as few parts as first fit needs, so that no host has more active ranks in a
    part than CPUs; the others rest. Ranks are placed in blocks, `tasks_per_node` on each host.
    `n_cpus` is by host; one that is not in it has a CPU for each rank.

    A pair within a host takes two CPUs of it. One that finds too few even alone keeps a round of
    its own, which the kernel then marks as crowded. Raises ValueError below one CPU or rank.
    """
    least = min(n_cpus.values(), default=tasks_per_node)
    if tasks_per_node < 1 or least < 1:
        raise ValueError(f"{tasks_per_node} ranks on {least} CPUs")
    if tasks_per_node <= least:
        return rounds
    return [part for pairs in rounds for part in _parts(pairs, tasks_per_node, n_cpus)]


def _parts(
    pairs: Sequence[Pair], tasks_per_node: int, n_cpus: Mapping[int, int]
) -> list[list[Pair]]:
    parts: list[list[Pair]] = []
    active: list[Counter[int]] = []
    for pair in pairs:
        asked = Counter(rank // tasks_per_node for rank in pair)
        fits = [
            all(n + of[host] <= n_cpus.get(host, tasks_per_node) for host, n in asked.items())
            for of in active
        ]
        place = fits.index(True) if True in fits else len(parts)
        if place == len(parts):
            parts.append([])
            active.append(Counter())
        parts[place].append(pair)
        active[place].update(asked)
    return parts
