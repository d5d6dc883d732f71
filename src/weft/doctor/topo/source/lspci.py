"""Output of lspci: `-Dvvnn` (as root with links), or `-Dvmmnn`, which says less.

SOURCE: pciutils, lspci(8). A bridge says which bus begins behind it, a device its NUMA node.
"""

import re
from dataclasses import replace

from weft.core.errors import InputError
from weft.doctor.topo.node import Node
from weft.doctor.topo.source.facts import PciFact, bus_id_of, node_of

_HEAD = re.compile(r"(?:Slot:\t\s*)?([0-9a-fA-F:.]{7,17})(?:\s|$)")
"""The line that begins a device, in either format."""
_CLASS = re.compile(r"(?:.*? )?\[?([0-9a-f]{4})\]?: ")
_IDS = re.compile(r"\[?([0-9a-f]{4}):([0-9a-f]{4})\]?")
_PROG_IF = re.compile(r"\(prog-if ([0-9a-f]{2})\b")
_BEHIND = re.compile(r"^\s*Bus: .*secondary=([0-9a-f]{2})\b", re.M)
_NUMA = re.compile(r"^(?:\s*NUMA node: |NUMANode:\t\s*)(\d{1,4})\s*$", re.M)
_LINK = re.compile(r"^\s*LnkCap:.*\bSpeed (\d{1,3}(?:\.\d)?)GT/s.*\bWidth x(\d{1,2})\b", re.M)
_SUBSYSTEM = re.compile(r"^\s*Subsystem: (.*)", re.M)
_WORD = re.compile(r"^([a-z]+):\t[ \t]*(?:.*\[)?([0-9a-f]{2,4})\]?[ \t]*$", re.M)
"""-vmm prints these in lines of their own."""
_MOST_CHARACTERS = 1000
"""Of a line. The longest names of pci.ids leave it far below."""
EXPECTED = "the output of 'lspci -Dvvnn' (as root, for the links), or of 'lspci -Dvmmnn'"


def node_of_lspci(text: str, where: str) -> Node:
    """The node of the devices. Raises InputError where there are none, or too many."""
    facts: list[PciFact] = []
    bridges: dict[str, str] = {}
    for bus_id, lines in _blocks(text):
        facts.append(_fact(bus_id, lines))
        behind = _BEHIND.search("\n".join(lines))
        if behind is not None and behind[1] != "00":
            bridges[f"{bus_id.split(':')[0]}:{behind[1]}"] = bus_id
    if not any(fact.class_code for fact in facts):
        raise InputError("no PCI device is in it", where=where, expected=EXPECTED)
    whole = [replace(one, above=bridges.get(one.bus_id.rpartition(":")[0])) for one in facts]
    return node_of(whole, {}, {}, where=where)


def _blocks(text: str) -> list[tuple[str, list[str]]]:
    """The bus id and the lines of each device."""
    blocks: list[tuple[str, list[str]]] = []
    for whole in text.splitlines():
        # A pattern may try each place of a line for each of its words.
        line = whole[:_MOST_CHARACTERS]
        head = _HEAD.match(line)
        bus_id = bus_id_of(head[1]) if head is not None else None
        if bus_id is not None:
            blocks.append((bus_id, [line]))
        elif blocks:
            blocks[-1][1].append(line)
    return blocks


def _fact(bus_id: str, lines: list[str]) -> PciFact:
    whole = "\n".join(lines)
    words = {key: int(value, 16) for key, value in _WORD.findall(whole.lower())}
    numa, link, subsystem = (one.search(whole) for one in (_NUMA, _LINK, _SUBSYSTEM))
    head = lines[0].partition(" ")[2]
    class_, prog_if = _CLASS.match(head), _PROG_IF.search(head)
    code = int(class_[1], 16) << 8 | (int(prog_if[1], 16) if prog_if else 0) if class_ else 0
    fact = PciFact(
        bus_id,
        code,
        *(_ids(head[class_.end() if class_ else 0 :]) or (0, 0)),
        subsystem=_ids(subsystem[1]) if subsystem else None,
        numa=int(numa[1]) if numa else None,
        gt_s=float(link[1]) if link else None,
        lanes=int(link[2]) if link else None,
    )
    if "class" not in words:
        return fact
    vendor, device = words.get("vendor", 0), words.get("device", 0)
    code = words["class"] << 8 | words.get("progif", 0)
    own = (words["svendor"], words.get("sdevice", 0)) if "svendor" in words else fact.subsystem
    return replace(fact, class_code=code, vendor=vendor, device=device, subsystem=own)


def _ids(text: str) -> tuple[int, int] | None:
    """The last vendor and device of a text."""
    found = _IDS.findall(text)
    return (int(found[-1][0], 16), int(found[-1][1], 16)) if found else None
