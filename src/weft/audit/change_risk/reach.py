"""What stays in reach after a change: parts of a fabric that no cable joins, and who is cut off."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from weft.audit.change_risk.change import Change, after_changes
from weft.topology.subnet.place_names import host_of
from weft.topology.subnet.subnet import PortKey, Subnet


@dataclass(frozen=True, slots=True)
class Changed:
    """A subnet after changes without what they leave apart, and the end ports (GUID of the node,
    port) that lost their path to the others. Those taken out on purpose are not among them."""

    subnet: Subnet
    cut_off: tuple[PortKey, ...]
    left_apart: tuple[str, ...]


def changed(subnet: Subnet, changes: Sequence[Change]) -> Changed:
    """The subnet after changes made at once, with the tables of before. Of each part of before,
    the largest remainder stays, by its end ports. Raises InputError."""
    whole = after_changes(subnet, changes)
    kept = _kept(subnet, whole)
    apart = [node.index for node in whole.nodes if node.index not in kept]
    after = whole.altered(gone=apart) if apart else whole
    left = set(endport_keys(after))
    gone = {guid for change in changes for guid in change.gone}
    cut_off = tuple(key for key in endport_keys(subnet) if key not in left and key[0] not in gone)
    switches = (whole.nodes[node] for node in apart)
    return Changed(after, cut_off, tuple(it.description for it in switches if it.is_switch))


def endport_keys(subnet: Subnet) -> list[PortKey]:
    """The GUID of the node and the port of each end port, in the engine's order."""
    return [(subnet.nodes[it.node].guid, it.port) for it in subnet.endports]


def hosts_of_ports(subnet: Subnet, ports: Sequence[PortKey]) -> tuple[dict[str, int], set[str]]:
    """By host how many of these end ports it has, and the hosts that have no others."""
    name = {node.guid: host_of(node.description) for node in subnet.nodes}
    lost: dict[str, int] = {}
    for guid, _ in ports:
        lost[name[guid]] = lost.get(name[guid], 0) + 1
    had: dict[str, int] = {}
    for guid, _ in endport_keys(subnet):
        had[name[guid]] = had.get(name[guid], 0) + 1
    return lost, {host for host, n in lost.items() if n == had[host]}


def parts(subnet: Subnet) -> list[int]:
    """By node the number of the part that cables join it to."""
    beside: list[list[int]] = [[] for _ in subnet.nodes]
    for cable in subnet.cables:
        beside[cable.a.node].append(cable.b.node)
        beside[cable.b.node].append(cable.a.node)
    part = [-1] * len(beside)
    for first in range(len(beside)):
        stack = [first] if part[first] < 0 else []
        while stack:
            node = stack.pop()
            if part[node] < 0:
                part[node] = first
                stack += beside[node]
    return part


def _kept(before: Subnet, after: Subnet) -> set[int]:
    """Nodes of the largest remainder of each part of before."""
    part_before = {node.guid: part for node, part in zip(before.nodes, parts(before), strict=True)}
    part_after = parts(after)
    had = {guid for guid, _ in endport_keys(before)}
    sizes: dict[int, dict[int, tuple[int, int]]] = {}
    for node, now in zip(after.nodes, part_after, strict=True):
        then = part_before.get(node.guid)
        if then is not None:
            of_part = sizes.setdefault(then, {})
            n_ends, n_nodes = of_part.get(now, (0, 0))
            of_part[now] = (n_ends + (node.guid in had), n_nodes + 1)
    best = {_largest(of_part) for of_part in sizes.values()}
    return {node for node, part in enumerate(part_after) if part in best}


def _largest(of_part: Mapping[int, tuple[int, int]]) -> int:
    return max(of_part, key=lambda part: (*of_part[part], -part))
