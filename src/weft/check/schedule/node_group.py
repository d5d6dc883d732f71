"""Pairs that touch some nodes, or cross some switch: `--only`."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from weft.check.readings.network import Network
from weft.check.readings.readings import Bools, Ints
from weft.check.schedule.paths import FlowPaths
from weft.check.schedule.ranks import ScheduleRanks
from weft.check.schedule.rounds.matchings import Round
from weft.core.errors import InputError, did_you_mean
from weft.core.nodeset import expand
from weft.topology.subnet.labels import label_of

MOST_NAMES = 8


@dataclass(frozen=True)
class Group:
    """`inside`: by rank, whether it belongs to the group. `places`: by place of the paths, whether
    a pair that crosses it belongs, too; None where the group is made of ends only."""

    words: str
    inside: Bools
    places: Bools | None = None

    def touched(self, pairs: Round, ranks: ScheduleRanks, paths: FlowPaths | None) -> Bools:
        """The pairs that have an end inside, or cross a switch of the group."""
        touched = self.inside[pairs].any(axis=1)
        if self.places is not None and paths is not None and pairs.size:
            a, b = ranks.hca[pairs[:, 0]], ranks.hca[pairs[:, 1]]
            for crossed in (paths.cross(a, b), paths.cross(b, a)):
                touched |= self.places[crossed].any(axis=1)
        return np.asarray(touched, np.bool_)


def group_of(text: str, ranks: ScheduleRanks, paths: FlowPaths | None) -> Group:
    """The group of a node set, or of a name in an answer: an HCA, a rank, a leaf (its nodes). Of
    another switch, or one port of a cable, the pairs that cross it. Raises InputError on a name
    that is none of them."""
    network = ranks.network
    number = {unit: i for i, unit in enumerate(ranks.units)}
    if network is not None and paths is not None and not _are_nodes(text, number):
        ports = _ports_of(text, network)
        if ports is not None:
            return _of_ports(text, ranks, paths, ports)
    endpoints = [ranks.endpoint(rank) for rank in range(len(ranks))]
    if text not in number and text in endpoints:
        inside = np.arange(len(ranks)) == endpoints.index(text)
        return Group(f"pairs with an end at {text}", np.asarray(inside, np.bool_))
    names = (text,) if text in number else expand(text)
    strangers = [name for name in names if name not in number]
    if strangers:
        switches = () if network is None else network.switches
        known = [*ranks.units, *switches, *(label_of(name).name for name in switches)]
        raise InputError(
            f"no node or switch '{strangers[0]}' in this check",
            where=f"--only {text}",
            expected=f"nodes such as {ranks.units[0]}, or the name of a switch, a port or an HCA",
            hint=did_you_mean(strangers[0], known),
        )
    inside = np.isin(ranks.unit, [number[name] for name in names])
    return Group(f"pairs with an end in {text}", np.asarray(inside, np.bool_))


def _are_nodes(text: str, number: Mapping[str, int]) -> bool:
    """Whether a text names only nodes."""
    if text in number:
        return True
    try:
        return set(number).issuperset(expand(text))
    except InputError:
        return False


def _ports_of(text: str, network: Network) -> Ints | None:
    """The ports of a switch or an HCA, or both ports of a cable; None for another text."""
    vertex = _vertex(text, network)
    if vertex is not None:
        return np.flatnonzero(network.vertex == vertex)
    name, bracket, number = text.rpartition("[")
    vertex = _vertex(name, network) if bracket else None
    if vertex is None:
        return None
    port = network.port_id.get(f"{(*network.switches, *network.hcas)[vertex]}[{number}")
    return None if port is None else np.array([port, port ^ 1])


def _of_ports(text: str, ranks: ScheduleRanks, paths: FlowPaths, ports: Ints) -> Group:
    """The pairs with an end at these ports or at the other ends of their cables, such as all nodes
    of a leaf; where there is none, the pairs that cross the ports."""
    own = paths.network.port_of_hca[ranks.hca]
    inside = np.isin(own, ports) | np.isin(own ^ 1, ports)
    if inside.any():
        return Group(f"pairs with an end at {text}", inside)
    places = np.zeros(paths.nowhere + 1, np.bool_)
    for place, stage in enumerate(paths.stages):
        places[place] = bool(np.isin(stage, ports).any())
    return Group(f"pairs across {text}", np.zeros(len(ranks), np.bool_), places)


def _vertex(name: str, network: Network) -> int | None:
    """The switch or HCA of a name, or the switch that `weft fabric` calls so. Raises InputError
    where it calls several so."""
    if name in network.vertex_id:
        return network.vertex_id[name]
    called = [i for i, switch in enumerate(network.switches) if label_of(switch).name == name]
    if len(called) > 1:
        names = [network.switches[i] for i in called]
        raise InputError(
            f"'{name}' is ambiguous: {len(names)} switches are called so",
            where=f"--only {name}",
            expected=f"the whole name of one: {', '.join(names[:MOST_NAMES])}",
        )
    return called[0] if called else None
