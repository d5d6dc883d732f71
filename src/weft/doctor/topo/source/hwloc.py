"""Output of `lstopo --of xml`, of hwloc 1 and 2, with its PCI devices and NUMA nodes: the engine
reads it (crates/weft-fabric, read/host/hwloc.rs).

Rates of links are of now and in GB/s there, which does not separate lanes from speed: NCCL asks
/sys for them.
"""

import re
from typing import TYPE_CHECKING

from weft.core.errors import InputError
from weft.doctor.topo.node import Node
from weft.doctor.topo.source.facts import PciFact, bus_id_of, node_of
from weft.topology.engine import engine_module

if TYPE_CHECKING:
    from weft.topology.engine import HwlocDevice, HwlocHost

EXPECTED = "the output of 'lstopo --of xml'"
_IDS = re.compile(
    r"([0-9a-f]{4}) \[([0-9a-f]{4}):([0-9a-f]{4})\](?: \[([0-9a-f]{4}):([0-9a-f]{4})\])?"
)
_PROCESSOR = {"CPUVendor": "vendor", "CPUFamilyNumber": "familyid", "CPUModelNumber": "modelid"}
_ARCHITECTURES = {"x86_64": "x86_64", "aarch64": "arm64", "ppc64le": "ppc64"}


def node_of_hwloc(text: str, where: str) -> Node:
    """The node of a file. Raises InputError where it is none, or has no device or too many."""
    try:
        host: HwlocHost = engine_module().read_hwloc(text)
    except ValueError as error:
        line, what = error.args
        raise InputError(what, where=f"{where}:{line}", expected=EXPECTED) from error
    facts = host["facts"]
    processor = {key: facts[name] for name, key in _PROCESSOR.items() if name in facts}
    if architecture := _ARCHITECTURES.get(facts.get("Architecture", "")):
        processor["arch"] = architecture
    cpus = {number: sum(1 << cpu for cpu in members) for number, members in host["cpus"].items()}
    devices = (_fact(device, len(cpus)) for device in host["devices"])
    return node_of((one for one in devices if one is not None), cpus, processor, where=where)


def _fact(device: "HwlocDevice", n_nodes: int) -> PciFact | None:
    bus_id, found = bus_id_of(device["bus"]), _IDS.match(device["ids"])
    if bus_id is None or found is None:
        return None
    near = device["numa_nodes"]
    # Near several nodes but not all: a socket of several, of which it takes the first.
    numa = near[0] if len(near) == 1 or 0 < len(near) < n_nodes else None
    class_, *numbers = (int(one, 16) if one is not None else 0 for one in found.groups())
    subsystem = (numbers[2], numbers[3]) if found[4] is not None and numbers[2] else None
    above = bus_id_of(device["above"] or "")
    return PciFact(bus_id, class_ << 8, numbers[0], numbers[1], subsystem, numa, above)
