"""GPUs of a host by product: names of drivers and tools, or PCI ids, and active NVLinks."""

import re
from collections import Counter
from dataclasses import replace

from weft.catalog.libraries.nccl_topology import nccl_topology
from weft.catalog.paths.gpu_product import GpuProduct, gpu_products, product_of
from weft.doctor.machine.detection.commands import FOLDER, CommandOutput, source_of
from weft.doctor.machine.detection.model import GpuFacts
from weft.doctor.machine.pci import DEVICES, PciDevice, Vendor, is_gpu, pci_device
from weft.doctor.machine.sysroot import Sysroot, whole_number

DRIVER = "/proc/driver/nvidia/gpus"
_MOST_NAME = 80
_MODEL = re.compile(r"^Model:\s*(\S.*)$", re.MULTILINE)
_QUERY = re.compile(r"^(?P<name>[^,:\n]+), *0*(?P<address>[0-9a-fA-F]{4}:\S+)$", re.MULTILINE)
_LISTED = re.compile(r"^GPU \d+: (?P<name>.+?)(?: \(UUID: .*)?$", re.MULTILINE)
_SERIES = re.compile(r"^GPU\[\d+\]\s*:\s*Card [Ss]eries:\s*(\S.*)$", re.MULTILINE)
_NVLINK = re.compile(r"^\s*Link \d+: (?P<rate>[\d.]+ GB/s|<inactive>)\s*$", re.MULTILINE)
_Named = tuple[str, str]
"""The name of a GPU, and where it was read."""


def gpu_devices(root: Sysroot) -> list[PciDevice]:
    """GPUs on PCI Express that NCCL or RCCL can use."""
    found = []
    for name in root.names(DEVICES):
        path = f"{DEVICES}/{name}"
        code = whole_number(root.line(f"{path}/class")) or 0
        vendor = whole_number(root.line(f"{path}/vendor")) if code >> 16 in (3, 0x12) else None
        if vendor is not None and is_gpu(vendor, code):
            device = pci_device(root, path)
            found += [device] if device is not None and not device.is_virtual_function else []
    return found


def gpus_of(root: Sysroot, commands: CommandOutput) -> tuple[GpuFacts | None, tuple[str, ...]]:
    """(GPUs of the product that most have, notes on the others)."""
    devices = gpu_devices(root)
    named = [_name(root, commands, device) for device in devices]
    if not devices:
        named = _without_pci(root, commands)
    titles = Counter(_title(name) for name, _ in named)
    known = [title for title in titles if _product(title) is not None]
    if not titles:
        return None, ()
    title = max(known or list(titles), key=lambda one: titles[one])
    product = _product(title)
    mine = [i for i, (name, _) in enumerate(named) if _title(name) == title]
    others = [f"{n} x {one}" for one, n in titles.items() if one != title]
    notes = [f"other GPUs are not counted: {', '.join(others)}"] if others else []
    if product is None:
        notes.append(f"GPU '{title}' is no product of the catalogue: no [gpus]")
    slots = [devices[i] for i in mine] if devices else []
    slot = max((one.most_link for one in slots), key=lambda link: link.rate_gbps, default=None)
    facts = GpuFacts(
        title=product.title if product is not None else title,
        product=product,
        count=len(mine),
        source=named[mine[0]][1],
        nvlinks=None,
    )
    if slot is not None and slot.rate_gbps:
        where = f"{DEVICES}/{slots[0].address}/max_link_speed, max_link_width: {slot}"
        facts = replace(facts, slot=slot, slot_source=where)
    return _with_nvlinks(facts, commands), tuple(notes)


def _with_nvlinks(facts: GpuFacts, commands: CommandOutput) -> GpuFacts:
    """The fewest active NVLinks of a GPU, where its product has some."""
    if facts.product is None or not facts.product.link.startswith("nvlink"):
        return facts
    counts = [
        sum(found["rate"] != "<inactive>" for found in _NVLINK.finditer(part))
        for part in re.split(r"^GPU \d+:", commands.text("nvidia-smi-nvlink"), flags=re.MULTILINE)
        if _NVLINK.search(part)
    ]
    if not counts:
        return facts
    return replace(facts, nvlinks=min(counts), nvlinks_source=source_of("nvidia-smi-nvlink"))


def _title(name: str) -> str:
    product = product_of([name])
    return product.name if product is not None else name


def _product(title: str) -> GpuProduct | None:
    return next((one for one in gpu_products() if one.name == title), None)


def _name(root: Sysroot, commands: CommandOutput, device: PciDevice) -> _Named:
    """The driver's name of a GPU, a tool's, or that of its PCI id."""
    if device.vendor == Vendor.NVIDIA:
        path = f"{DRIVER}/{device.address}/information"
        model = _MODEL.search(root.text(path))
        if model is not None:
            return model[1][:_MOST_NAME], path
        for found in _QUERY.finditer(commands.text("nvidia-smi")):
            if found["address"].lower() == device.address.lower():
                return found["name"].strip()[:_MOST_NAME], source_of("nvidia-smi")
    else:
        path = f"{DEVICES}/{device.address}/product_name"
        name = root.line(path)
        if _product(_title(name)) is not None:
            return name[:_MOST_NAME], path
    return _of_pci_id(commands, device)


def _of_pci_id(commands: CommandOutput, device: PciDevice) -> _Named:
    ids = f"{device.vendor:04x}:{device.device:04x}"
    source = f"{DEVICES}/{device.address}/vendor, device: {ids}"
    product = next((one for one in gpu_products() if ids in one.pci_ids), None)
    if product is not None:
        return product.title, source
    if device.vendor == Vendor.NVIDIA:
        model = nccl_topology().gpu(f"{device.device:#06x}")
        if model is not None:
            return model.model, source
    else:
        series = _SERIES.search(commands.text("rocm-smi"))
        if series is not None:
            return series[1].strip()[:_MOST_NAME], source_of("rocm-smi")
    head = re.search(
        rf"^{re.escape(device.address)} .*\[([^\]\[]+)\] \[{ids}\]",
        commands.text("lspci"),
        re.MULTILINE,
    )
    if head is not None:
        return head[1][:_MOST_NAME], source_of("lspci")
    return f"PCI {ids}", source


def _without_pci(root: Sysroot, commands: CommandOutput) -> list[_Named]:
    """GPUs of a tree whose /sys shows none: those of the driver, or of saved tools."""
    found: list[_Named] = []
    for name in root.names(DRIVER):
        path = f"{DRIVER}/{name}/information"
        model = _MODEL.search(root.text(path))
        found += [(model[1][:_MOST_NAME], path)] if model is not None else []
    if found or not root.exists(FOLDER):
        return found
    text = commands.text("nvidia-smi")
    names = [one["name"] for one in (list(_QUERY.finditer(text)) or _LISTED.finditer(text))]
    if names:
        return [(name.strip()[:_MOST_NAME], source_of("nvidia-smi")) for name in names]
    series = _SERIES.findall(commands.text("rocm-smi"))
    return [(name.strip()[:_MOST_NAME], source_of("rocm-smi")) for name in series]
