"""The label on a device: system, board, chip and port of a node description."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from weft.audit.facts import AuditCable, AuditPort
from weft.audit.thresholds import NamePatterns
from weft.topology.subnet.labels import shown
from weft.topology.subnet.subnet import Subnet, SubnetCable


@dataclass(frozen=True, slots=True)
class DeviceLabel:
    """A switch by its parts; `system` alone for what is not written in parts."""

    system: str
    model: str = ""
    board: str = ""
    chip: str = ""

    @property
    def name(self) -> str:
        """'leaf003', or 'core1 board L02': chips are named where a board has no name."""
        return f"{self.system} board {self.board}" if self.board else self.system

    @property
    def inside(self) -> str:
        """'MQM8700, chip U1', or nothing."""
        chip = f"chip {self.chip}" if self.chip else ""
        return ", ".join(part for part in (self.model, chip) if part)


def label_of(description: str, names: NamePatterns) -> DeviceLabel:
    """The parts of a node description."""
    text = shown(description)
    match = re.match(names.switch, text)
    if match is None:
        return DeviceLabel(system=text)
    parts = match.groupdict()
    return DeviceLabel(
        parts["system"], parts["model"] or "", parts["board"] or "", parts["chip"] or ""
    )


class Labels:
    """How the audit writes nodes, ports and cables of a subnet."""

    def __init__(self, subnet: Subnet, names: NamePatterns) -> None:
        self._subnet = subnet
        self._labels = [label_of(node.description, names) for node in subnet.nodes]
        often = Counter(label.name for label in self._labels)
        self._names = [
            label.name if often[label.name] == 1 else f"{label.name} ({node.guid:#x})"
            for label, node in zip(self._labels, subnet.nodes, strict=True)
        ]

    def name(self, node: int) -> str:
        """'core1 board L02'; with its GUID where others have the same name."""
        return self._names[node]

    def port(self, node: int, port: int) -> str:
        """'core1 board L02 port 7'."""
        return f"{self.name(node)} port {port}"

    def whole(self, node: int, port: int, facts: Mapping[str, str] | None = None) -> str:
        """'core1 board L02 port 7 (CS8500, chip U1, GUID 0x506b4b0300000110)'."""
        facts = facts or {}
        printed = facts.get("Label", "")
        serial = facts.get("SN", "").strip('" ')
        parts = (
            f"labelled {printed}" if printed not in ("", str(port)) else "",
            self._labels[node].inside,
            self.guid(node),
            f"cable {serial}" if serial else "",
        )
        return f"{self.port(node, port)} ({', '.join(part for part in parts if part)})"

    def guid(self, node: int) -> str:
        """'GUID 0x506b4b0300000110'."""
        return f"GUID {self._subnet.nodes[node].guid:#018x}"

    def cable(self, cable: SubnetCable) -> str:
        """Both ends of a cable, whole."""
        return " -- ".join(self.whole(end.node, end.port, end.facts) for end in cable.ends)

    def short(self, cable: SubnetCable) -> str:
        """Both ends of a cable, by name and port."""
        return " -- ".join(self.port(end.node, end.port) for end in cable.ends)

    def audit_port(self, node: int, port: int = 0) -> AuditPort:
        """One port by all its names; port 0 is a node as a whole."""
        found, label = self._subnet.nodes[node], self._labels[node]
        guid = f"{found.guid:#018x}"
        return AuditPort(
            found.description, guid, port or None, label.system, label.board, label.chip
        )

    def audit_cable(self, cable: SubnetCable, rate: str | None = None) -> AuditCable:
        """Both ends of a cable by all their names."""
        a, b = (self.audit_port(*end.key) for end in cable.ends)
        return AuditCable(a, b, rate)


def listing(names: list[str], most: int = 4) -> str:
    """'a, b, c and 7 more'."""
    if len(names) <= most:
        return ", ".join(names)
    return f"{', '.join(names[: most - 1])} and {len(names) - most + 1} more"
