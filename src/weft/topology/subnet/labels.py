"""Names of switches as people say them: short names, boards of a director, sorted by number.

SOURCE: managed switches describe themselves as 'MF0;host name:model/board/chip' (ibnetdiscover).
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from weft.topology.subnet.subnet import Subnet, SubnetNode

_MANAGED = re.compile(r"^(?:MF\d+;)?(?P<system>[^:;/]+):(?P<model>[^/]+)/(?P<part>.+)$")
_ONLY_CHIP = re.compile(r"(?:^|/)U1$")
_SEPARATORS = "/:; "
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f]")


@dataclass(frozen=True, slots=True)
class Label:
    """`name` tells a switch from all others; `system` is its chassis, `part` the board in it."""

    name: str
    system: str
    part: str


def shown(description: str) -> str:
    """A description without what would steer a terminal."""
    return _UNPRINTABLE.sub("?", description).strip() or "without a name"


def labels_of(subnet: Subnet) -> Mapping[int, Label]:
    """The label of every switch, by node."""
    switches = [node for node in subnet.nodes if node.is_switch]
    found = {node.index: label_of(node.description) for node in switches}
    return _with_unique_names(switches, _by_system_guid(switches, found))


def label_of(description: str) -> Label:
    """The label of a switch that describes itself so: 'leaf002' of 'MF0;leaf002:MQM8700/U1'."""
    text = shown(description)
    managed = _MANAGED.match(text)
    if managed is None:
        return Label(text, "", "")
    part = _ONLY_CHIP.sub("", managed["part"])
    system = managed["system"].strip()
    return Label(f"{system} {part}".strip(), system, part)


def _by_system_guid(
    switches: Iterable[SubnetNode], found: Mapping[int, Label]
) -> Mapping[int, Label]:
    """Switches that share a system image GUID are one chassis, under any names."""
    chassis: dict[int, list[int]] = defaultdict(list)
    for node in switches:
        if node.system_guid:
            chassis[node.system_guid].append(node.index)
    labels = dict(found)
    for guid, nodes in chassis.items():
        systems = {found[node].system for node in nodes} - {""}
        if len(nodes) < 2 or len(systems) > 1:
            continue
        system = systems.pop() if systems else _in_common([found[at].name for at in nodes])
        for at in nodes:
            part = found[at].part or found[at].name
            labels[at] = Label(found[at].name, system or f"system {guid:#x}", part)
    return labels


def _in_common(names: Sequence[str]) -> str:
    """'director-01' of 'director-01/line-01' and 'director-01/spine-02'."""
    first, last = min(names), max(names)
    pairs = enumerate(zip(first, last, strict=False))
    n_alike = next((at for at, (a, b) in pairs if a != b), min(len(first), len(last)))
    ends = [at for at, letter in enumerate(first[:n_alike]) if letter in _SEPARATORS]
    return first[: ends[-1]].strip() if ends else ""


def _with_unique_names(
    switches: Iterable[SubnetNode], found: Mapping[int, Label]
) -> Mapping[int, Label]:
    """Names that several switches have get what tells them apart: their GUIDs."""
    counts = Counter(label.name for label in found.values())
    labels = {}
    for node in switches:
        label = found[node.index]
        alone = counts[label.name] == 1
        name = label.name if alone else f"{label.name} ({node.guid:#x})"
        labels[node.index] = replace(label, name=name)
    return labels
