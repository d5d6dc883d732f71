"""Pairs that touch some nodes, or cross some switch: `--only`."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from weft.core.errors import InputError, did_you_mean
from weft.core.nodeset import expand
from weft.diagnose.check.measured.readings import Bools
from weft.diagnose.check.rounds.matchings import Round
from weft.diagnose.check.rounds.ranks import Ranks
from weft.diagnose.check.rounds.ways import Ways


@dataclass(frozen=True)
class Group:
    """`inside`: by rank, whether it belongs to the group. `places`: by place of the ways, whether
    a pair that crosses it belongs, too; None without a switch in the middle."""

    words: str
    inside: Bools
    places: Bools | None = None

    def touched(self, pairs: Round, ranks: Ranks, ways: Ways | None) -> Bools:
        """Which pairs have an end inside, or cross a switch of the group."""
        touched = self.inside[pairs].any(axis=1)
        if self.places is not None and ways is not None and pairs.size:
            a, b = ranks.hca[pairs[:, 0]], ranks.hca[pairs[:, 1]]
            for crossed in (ways.cross(a, b), ways.cross(b, a)):
                touched |= self.places[crossed].any(axis=1)
        return np.asarray(touched, np.bool_)

    def of(self, rounds: Sequence[Round], ranks: Ranks, ways: Ways | None) -> list[Round]:
        """What of the rounds touches the group; empty rounds fall away."""
        kept = [pairs[self.touched(pairs, ranks, ways)] for pairs in rounds]
        return [pairs for pairs in kept if pairs.size]


def group_of(text: str, ranks: Ranks, ways: Ways | None) -> Group:
    """The group that a node set or the name of a switch means: nodes, what is cabled to a leaf,
    what crosses another switch. Raises InputError on a name that is none of them."""
    network = ranks.network
    if network is not None and ways is not None and text in network.switches:
        vertex = network.vertex_id[text]
        own = network.port_of_hca[ranks.hca]
        inside = network.vertex[own ^ 1] == vertex
        if inside.any():
            return Group(f"pairs with an end at {text}", inside)
        places = np.zeros(ways.nowhere + 1, np.bool_)
        for place, stage in enumerate(ways.stages):
            places[place] = bool((network.vertex[list(stage)] == vertex).any())
        return Group(f"pairs across {text}", inside, places)
    number = {unit: i for i, unit in enumerate(ranks.units)}
    names = (text,) if text in number else expand(text)
    strangers = [name for name in names if name not in number]
    if strangers:
        known = [*ranks.units, *(network.switches if network is not None else ())]
        raise InputError(
            f"no node or switch '{strangers[0]}' in this check",
            expected=f"nodes such as {ranks.units[0]}, or the name of a switch",
            hint=did_you_mean(strangers[0], known),
        )
    inside = np.isin(ranks.unit, [number[name] for name in names])
    return Group(f"pairs with an end in {text}", np.asarray(inside, np.bool_))
