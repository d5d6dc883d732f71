"""What lspci prints: `-Dvvnn` (as root with links), or `-Dvmmnn`, which says less.

SOURCE: pciutils, lspci(8). A bridge says which bus begins behind it, a device its NUMA node.
"""

import re
from dataclasses import dataclass, field

from weft.core.errors import InputError
from weft.doctor.topo.source.facts import MOST_DEVICES, PciFact, bus_id_of

_HEAD = re.compile(r"([0-9a-fA-F:.]{7,17}) (.*)")
_CLASS = re.compile(r"(?:.*? )?\[?([0-9a-f]{4})\]?: ")
_IDS = re.compile(r"\[?([0-9a-f]{4}):([0-9a-f]{4})\]?")
_PROG_IF = re.compile(r"\(prog-if ([0-9a-f]{2})\b")
_BEHIND = re.compile(r"\s*Bus: .*secondary=([0-9a-f]{2})\b")
_NUMA = re.compile(r"\s*NUMA node: (\d{1,4})\s*")
_LINK = re.compile(r"\s*LnkCap:.*\bSpeed (\d{1,3}(?:\.\d)?)GT/s.*\bWidth x(\d{1,2})\b")
_NUMBER = re.compile(r"(?:.*\[)?([0-9a-f]{2,4})\]?")
_MOST_CHARACTERS = 1000
"""Of a line. The longest names of pci.ids leave it far below."""
EXPECTED = "what 'lspci -Dvvnn' prints (as root, for the links), or 'lspci -Dvmmnn'"


@dataclass(slots=True)
class _Block:
    bus_id: str
    class_code: int = 0
    ids: tuple[int, int] = (0, 0)
    subsystem: tuple[int, int] | None = None
    numa: int | None = None
    behind: str | None = None
    gt_s: float | None = None
    lanes: int | None = None
    words: dict[str, str] = field(default_factory=dict)


def read_lspci(text: str, where: str) -> list[PciFact]:
    """The devices. Raises InputError where there are none, or too many."""
    blocks = _blocks(text, where)
    if not any(block.class_code for block in blocks):
        raise InputError("no PCI device is in it", where=where, expected=EXPECTED)
    bridges = {
        f"{block.bus_id.split(':')[0]}:{block.behind}": block.bus_id
        for block in blocks
        if block.behind not in (None, "00")
    }
    return [
        PciFact(
            block.bus_id,
            block.class_code,
            *block.ids,
            subsystem=block.subsystem,
            numa=block.numa,
            above=bridges.get(block.bus_id.rpartition(":")[0]),
            gt_s=block.gt_s,
            lanes=block.lanes,
        )
        for block in blocks
    ]


def _blocks(text: str, where: str) -> list[_Block]:
    blocks: list[_Block] = []
    for whole in text.splitlines():
        # A pattern may try each place of a line for each of its words.
        line = whole[:_MOST_CHARACTERS]
        head = _head(line)
        if head is not None:
            blocks.append(head)
            if len(blocks) > MOST_DEVICES:
                what = f"more than {MOST_DEVICES} devices"
                raise InputError(what, where=where, expected=EXPECTED)
        elif blocks:
            _line(blocks[-1], line)
    return [_finished(block) for block in blocks]


def _head(line: str) -> _Block | None:
    """The line that begins a device, in either format."""
    key, tab, value = line.partition(":\t")
    if tab and key == "Slot":
        bus_id = bus_id_of(value.strip())
        return _Block(bus_id) if bus_id is not None else None
    found = _HEAD.match(line)
    bus_id = bus_id_of(found[1]) if found is not None else None
    if found is None or bus_id is None:
        return None
    block = _Block(bus_id)
    class_ = _CLASS.match(found[2])
    if class_ is not None:
        prog_if = _PROG_IF.search(found[2])
        block.class_code = int(class_[1], 16) << 8 | (int(prog_if[1], 16) if prog_if else 0)
    ids = _IDS.findall(found[2][class_.end() if class_ is not None else 0 :])
    if ids:
        block.ids = (int(ids[-1][0], 16), int(ids[-1][1], 16))
    return block


def _line(block: _Block, line: str) -> None:
    key, tab, value = line.partition(":\t")
    if tab and key.isalpha():
        block.words[key] = value.strip()
        return
    if (numa := _NUMA.fullmatch(line)) is not None:
        block.numa = int(numa[1])
    elif (behind := _BEHIND.match(line)) is not None:
        block.behind = behind[1]
    elif (link := _LINK.match(line)) is not None:
        block.gt_s, block.lanes = float(link[1]), int(link[2])
    elif line.strip().startswith("Subsystem: ") and (ids := _IDS.findall(line)):
        block.subsystem = (int(ids[-1][0], 16), int(ids[-1][1], 16))


def _finished(block: _Block) -> _Block:
    """With the values that -vmm prints in lines of their own."""
    numbers = {key: _NUMBER.fullmatch(value.lower()) for key, value in block.words.items()}
    values = {key: int(found[1], 16) for key, found in numbers.items() if found is not None}
    if "Class" in values:
        block.class_code = values["Class"] << 8 | values.get("ProgIf", 0)
        block.ids = (values.get("Vendor", 0), values.get("Device", 0))
        if "SVendor" in values:
            block.subsystem = (values["SVendor"], values.get("SDevice", 0))
    node = block.words.get("NUMANode", "")
    if node.isdecimal() and len(node) <= 4:
        block.numa = int(node)
    return block
