"""Names that people type for places in a subnet: hosts, adapters, switches, GUIDs, LIDs."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from weft.core.errors import InputError, did_you_mean
from weft.topology.subnet.subnet import Subnet

_DEVICE = re.compile(r"\s+(HCA-\d+|hca\d+|mlx[45]_\w+|ibp?\w+|hfi1_\d+|cxi\d+)$")


@dataclass(frozen=True, slots=True)
class Place:
    """A port with a LID: an adapter's port, or a switch itself (port 0)."""

    node: int
    port: int
    lid: int


def host_of(description: str) -> str:
    """The host in an adapter's description: 'c101-001' in 'c101-001 HCA-1', 'c101-001 mlx5_0'."""
    return _DEVICE.sub("", description.strip()) or description


class Places:
    """Finds what a name means in a subnet."""

    def __init__(self, subnet: Subnet) -> None:
        self._subnet = subnet
        self._by_name: dict[str, list[Place]] = defaultdict(list)
        self._by_guid: dict[int, list[Place]] = defaultdict(list)
        self._by_lid: dict[int, Place] = {}
        for node in subnet.nodes:
            ports = {0: node.lid} if node.is_switch else node.port_lids or {1: 0}
            for port, lid in ports.items():
                place = Place(node.index, port, lid)
                self._by_guid[node.guid].append(place)
                for name in {node.description, host_of(node.description)}:
                    self._by_name[name].append(place)
                if lid:
                    self._by_lid.setdefault(lid, place)

    def find(self, name: str) -> tuple[Place, ...]:
        """All ports that a name means, in the order of nodes: '0x...' is a GUID, a number a LID.

        Raises InputError for a name the subnet does not have, or has without a LID.
        """
        found = self._by_name.get(name) or self._numbered(name)
        self._require_one_meaning(name, found)
        with_lid = tuple(place for place in found if place.lid)
        if with_lid:
            return with_lid
        if found:
            raise InputError(
                f"'{name}' has no LID",
                expected="ports that a subnet manager has given LIDs",
                hint="the file was written before the subnet manager ran; or add its guid2lid",
            )
        raise InputError(
            f"no device in these files is called '{name}'",
            expected="a host, a node description, a GUID as 0x..., or a LID",
            hint=did_you_mean(name, list(self._by_name)),
        )

    def _require_one_meaning(self, name: str, found: Iterable[Place]) -> None:
        """A host has several adapters, but no two of one name."""
        nodes = {place.node for place in found}
        counts = Counter(self._subnet.nodes[node].description for node in nodes)
        for description, n in counts.items():
            if n > 1:
                alike = [it for it in nodes if self._subnet.nodes[it].description == description]
                guids = ", ".join(
                    f"{self._subnet.nodes[it].guid:#018x}" for it in sorted(alike)[:3]
                )
                raise InputError(
                    f"'{name}' may be any of {n} nodes that are called '{description}'",
                    expected="a name that one node has, or a GUID, or a LID",
                    hint=f"their GUIDs: {guids}{', ...' if n > 3 else ''}",
                )

    def _numbered(self, name: str) -> Iterable[Place]:
        if re.fullmatch(r"0x[0-9a-fA-F]{1,16}", name):
            return self._of_guid(int(name, 16))
        if re.fullmatch(r"(lid:?)?[0-9]{1,5}", name):
            place = self._by_lid.get(int(name.removeprefix("lid").removeprefix(":")))
            return [place] if place is not None else []
        return []

    def _of_guid(self, guid: int) -> Iterable[Place]:
        found = self._by_guid.get(guid)
        if found:
            return found
        ports: Mapping[int, Place] = {
            record_guid: Place(node, port, lid)
            for node, port, lid, record_guid in self._subnet.port_guids
        }
        place = ports.get(guid)
        return [place] if place is not None else []
