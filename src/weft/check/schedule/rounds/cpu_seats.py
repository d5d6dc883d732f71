"""More ranks on a machine than CPUs: rounds in which those that are active find one each."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType

Pair = tuple[int, int]
Rounds = Sequence[Sequence[Pair]]


def within_cpus(
    rounds: Rounds,
    tasks_per_node: int,
    n_cpus: Mapping[int, int],
    machine_of: Mapping[int, int] = MappingProxyType({}),
) -> Rounds:
    """Each round in as few parts as first fit needs, so that no machine has more active ranks in a
    part than CPUs; the others are idle. Ranks are placed in blocks, `tasks_per_node` on each host.
    `n_cpus` is by host; one that is not in it has a CPU for each rank. `machine_of` is by host the
    first host on its machine, for hosts that share one (containers).

    A pair within a machine takes two CPUs of it. One that finds too few even alone keeps a round of
    its own, which the kernel then marks as crowded. Raises ValueError below one CPU or rank.
    """
    least = min(n_cpus.values(), default=tasks_per_node)
    if tasks_per_node < 1 or least < 1:
        raise ValueError(f"{tasks_per_node} ranks on {least} CPUs")
    if tasks_per_node <= least and not machine_of:
        return rounds
    return [part for pairs in rounds for part in _parts(pairs, tasks_per_node, n_cpus, machine_of)]


def _parts(
    pairs: Sequence[Pair],
    tasks_per_node: int,
    n_cpus: Mapping[int, int],
    machine_of: Mapping[int, int],
) -> list[list[Pair]]:
    parts: list[list[Pair]] = []
    active: list[Counter[int]] = []
    for pair in pairs:
        hosts = (rank // tasks_per_node for rank in pair)
        asked = Counter(machine_of.get(host, host) for host in hosts)
        fits = [
            all(n + of[machine] <= n_cpus.get(machine, math.inf) for machine, n in asked.items())
            for of in active
        ]
        place = fits.index(True) if True in fits else len(parts)
        if place == len(parts):
            parts.append([])
            active.append(Counter())
        parts[place].append(pair)
        active[place].update(asked)
    return parts
