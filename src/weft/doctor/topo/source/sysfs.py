"""A machine's own /sys: the tree that NCCL would find by itself.

SOURCE: NVIDIA/nccl v2.30.7, src/graph/xml.cc: ncclTopoGetXmlFromSys; torvalds/linux,
Documentation/ABI/testing/sysfs-bus-pci.
"""

import re

from weft.core.errors import InputError
from weft.doctor.machine.pci import DEVICES, pci_device
from weft.doctor.machine.sysroot import Sysroot, numbers_of_list, whole_number
from weft.doctor.topo.affinity import mask_of_cpus
from weft.doctor.topo.node import Node
from weft.doctor.topo.source.facts import PciFact, bus_id_of, node_of

_NODES = "/sys/devices/system/node"
_PROCESSOR = {"vendor_id": "vendor", "cpu family": "familyid", "model": "modelid"}


def _fact(root: Sysroot, name: str) -> PciFact | None:
    path = f"{DEVICES}/{name}"
    device = pci_device(root, path)
    bus_id = bus_id_of(name)
    if device is None or bus_id is None:
        return None
    folder = (root.real(path) or "").rpartition("/")[0]
    vendor, model = (whole_number(root.text(f"{path}/subsystem_{w}")) for w in ("vendor", "device"))
    return PciFact(
        bus_id,
        device.class_code,
        device.vendor,
        device.device,
        subsystem=(vendor, model) if vendor is not None and model is not None else None,
        numa=whole_number(root.text(f"{path}/numa_node")),
        above=bus_id_of(folder.rpartition("/")[2]),
        gt_s=device.most_link.gt_s or None,
        lanes=device.most_link.lanes or None,
    )


def _cpus(root: Sysroot) -> dict[int, int]:
    """CPUs by NUMA node, as bits."""
    numbers = (re.fullmatch(r"node(\d{1,4})", name) for name in root.names(_NODES))
    return {
        int(found[1]): mask_of_cpus(numbers_of_list(root.text(f"{_NODES}/{found[0]}/cpulist")))
        for found in numbers
        if found is not None
    }


def _processor(root: Sysroot) -> dict[str, str]:
    """Vendor, family and model of an x86 processor; of others NCCL asks only for the
    architecture, which it knows."""
    values: dict[str, str] = {}
    for line in root.text("/proc/cpuinfo").splitlines():
        name, _, value = line.partition(":")
        if name.strip() in _PROCESSOR:
            values.setdefault(_PROCESSOR[name.strip()], value.strip())
    return {"arch": "x86_64", **values} if len(values) == len(_PROCESSOR) else {}


def node_of_machine(root: Sysroot, where: str) -> Node:
    """The node below a root. Raises InputError where it has no GPU and no adapter, or more devices
    than are read."""
    facts = [fact for name in root.names(DEVICES) if (fact := _fact(root, name)) is not None]
    if DEVICES in root.unread:
        raise InputError(f"{DEVICES}: {root.unread[DEVICES]}", where=where)
    return node_of(facts, _cpus(root), _processor(root), where=where)
