"""Names that people type for parts of a fabric: switches, hosts, chassis, cables."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from weft.core.errors import InputError
from weft.core.nodeset import expand
from weft.core.words import nearest_few
from weft.topology.subnet.labels import labels_of
from weft.topology.subnet.place_names import host_of
from weft.topology.subnet.subnet import PortKey, Subnet, SubnetCable

CABLE_FORMS = "a cable as leaf03[5], leaf03[5]-spine01[2], or 'leaf03 - spine01' for all between"
NAME_FORMS = "a switch, chassis or host by name, node set or GUID (0x...)"

_BOTH_ENDS = re.compile(r"^(.+?)\[(\d+)\]\s*-{1,2}\s*(.+)\[(\d+)\]$")
_ONE_END = re.compile(r"^(.+)\[(\d+)\]$")
_BETWEEN = re.compile(r"^(.+?)\s+-{1,2}\s+(.+)$")
_GUID = re.compile(r"0x[0-9a-fA-F]{1,16}")
_SET = re.compile(r"[\[\],]")


@dataclass(frozen=True, slots=True)
class NamedNodes:
    """A component and its nodes: one, or those of a host or a chassis."""

    name: str
    nodes: tuple[int, ...]


class Components:
    """Finds what a name means in a fabric."""

    def __init__(self, subnet: Subnet) -> None:
        self.subnet = subnet
        self._labels = labels_of(subnet)
        self._by_name: dict[str, list[int]] = defaultdict(list)
        self._by_guid: dict[int, int] = {}
        for node in subnet.nodes:
            self._by_guid[node.guid] = node.index
            names = {node.description}
            if node.is_switch:
                label = self._labels[node.index]
                names |= {label.name, label.system} - {""}
            else:
                names.add(host_of(node.description))
            for name in names:
                self._by_name[name].append(node.index)
        for node_index, _, _, guid in subnet.port_guids:
            self._by_guid.setdefault(guid, node_index)

    def node_name(self, node: int) -> str:
        """The short name of a node."""
        label = self._labels.get(node)
        return label.name if label is not None else host_of(self.subnet.nodes[node].description)

    def port_name(self, key: PortKey) -> str:
        """'leaf03[5]'."""
        return f"{self.node_name(key[0])}[{key[1]}]"

    def cable_name(self, cable: SubnetCable) -> str:
        """'leaf03[5] - spine01[2]', the lower switch first."""
        return " - ".join(self.port_name(end.key) for end in cable.ends)

    def nodes(self, text: str) -> tuple[NamedNodes, ...]:
        """The components of a name, a GUID or a node set. Raises InputError."""
        text = text.strip()
        if (found := self._of_name(text)) is not None:
            return (found,)
        if _SET.search(text) is None:
            raise self._unknown(text)
        found_all = []
        for name in expand(text):
            found = self._of_name(name)
            if found is None:
                raise self._unknown(name)
            found_all.append(found)
        return tuple(found_all)

    def node(self, text: str) -> int:
        """The one node of a name. Raises InputError."""
        found = self.nodes(text)
        if len(found) != 1 or len(found[0].nodes) != 1:
            n = sum(len(one.nodes) for one in found)
            raise InputError(
                f"'{text}' is {n} nodes", expected="the name or the GUID of one switch or adapter"
            )
        return found[0].nodes[0]

    def names_node(self, text: str) -> bool:
        """Whether a name, as it stands, is that of a node."""
        return self._of_name(text.strip()) is not None

    def cables(self, text: str) -> tuple[SubnetCable, ...]:
        """The cables of a name. Raises InputError."""
        text = text.strip()
        if (both := _BOTH_ENDS.match(text)) and self.names_node(both[1]):
            return (self._cable_between(both),)
        if one := _ONE_END.match(text):
            named = self.nodes(one[1])
            ports = [(node, int(one[2])) for it in named for node in self._one_switch(it)]
            return tuple(self._cable_at(port) for port in ports)
        if pair := _BETWEEN.match(text):
            return self._cables_between(self.node(pair[1]), self.node(pair[2]))
        raise InputError(f"'{text}' names no cable", expected=CABLE_FORMS)

    def is_cable(self, text: str) -> bool:
        """Whether a name has the form of a cable's: a port of a node that is there."""
        both, one = _BOTH_ENDS.match(text.strip()), _ONE_END.match(text.strip())
        match = both or one
        return match is not None and self.names_node(match[1])

    def free_ports(self, node: int) -> list[int]:
        """Numbers of the ports of a node without a cable."""
        n_ports = self.subnet.nodes[node].n_ports
        return [at for at in range(1, n_ports + 1) if (node, at) not in self.subnet.cable_at]

    def _of_name(self, name: str) -> NamedNodes | None:
        if _GUID.fullmatch(name):
            node = self._by_guid.get(int(name, 16))
            return None if node is None else NamedNodes(self.node_name(node), (node,))
        nodes = self._by_name.get(name)
        if nodes is None:
            return None
        self._require_one_meaning(name, nodes)
        short = self.node_name(nodes[0]) if len(nodes) == 1 else name
        return NamedNodes(short, tuple(nodes))

    def _require_one_meaning(self, name: str, nodes: Iterable[int]) -> None:
        """A host has several adapters and a chassis several boards, but no two of one name."""
        every = self.subnet.nodes
        counts = Counter(every[node].description for node in nodes)
        alike = [node for node in nodes if counts[every[node].description] > 1]
        if alike:
            guids = ", ".join(f"{every[node].guid:#018x}" for node in alike[:3])
            raise InputError(
                f"'{name}' may be any of {len(alike)} nodes that are called "
                f"'{every[alike[0]].description}'",
                expected="a name that one node has, or a GUID",
                hint=f"their GUIDs: {guids}{', ...' if len(alike) > 3 else ''}",
            )

    def _unknown(self, name: str) -> InputError:
        near = nearest_few(name, self._by_name)
        return InputError(
            f"no switch and no host in these files is called '{name}'",
            expected=NAME_FORMS,
            hint=f"the nearest names: {', '.join(near)}" if near else None,
        )

    def _one_switch(self, named: NamedNodes) -> tuple[int, ...]:
        if len(named.nodes) > 1:
            names = ", ".join(self.subnet.nodes[node].description for node in named.nodes[:3])
            raise InputError(
                f"'{named.name}' has {len(named.nodes)} devices with ports of that number",
                expected=f"one of them: {names}",
            )
        return named.nodes

    def _cable_at(self, key: PortKey) -> SubnetCable:
        cable = self.subnet.cable_at.get(key)
        if cable is None:
            n_ports = self.subnet.nodes[key[0]].n_ports
            known = sorted(port for node, port in self.subnet.cable_at if node == key[0])
            some = ", ".join(map(str, known[:8])) + (", ..." if len(known) > 8 else "")
            what = "has no cable" if 0 < key[1] <= n_ports else f"is none of its {n_ports} ports"
            raise InputError(
                f"{self.port_name(key)} {what}", expected=f"a port with a cable: {some or 'none'}"
            )
        return cable

    def _cable_between(self, match: re.Match[str]) -> SubnetCable:
        a, b = (self.node(match[1]), int(match[2])), (self.node(match[3]), int(match[4]))
        cable = self._cable_at(a)
        far = cable.beyond(a)
        if far.key != b:
            raise InputError(
                f"{self.port_name(a)} is cabled to {self.port_name(far.key)}, "
                f"not to {self.port_name(b)}",
                expected="both ends of one cable",
            )
        return cable

    def _cables_between(self, a: int, b: int) -> tuple[SubnetCable, ...]:
        found = tuple(
            cable for cable in self.subnet.cables if {end.node for end in cable.ends} == {a, b}
        )
        if not found:
            raise InputError(
                f"no cable joins {self.node_name(a)} and {self.node_name(b)}", expected=CABLE_FORMS
            )
        return found
