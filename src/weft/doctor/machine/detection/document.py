"""A host's hardware as a platform document: figures that were read over those of the nearest
generic platform, which are marked assumed."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from weft.catalog import load
from weft.catalog.document import SourceClass
from weft.catalog.machine.generic import Hardware, generic_platform, slot_of
from weft.catalog.machine.platform import Platform
from weft.core.errors import InputError
from weft.core.words import counted
from weft.doctor.machine.adapters import CXI, INFINIBAND
from weft.doctor.machine.detection.commands import NoCommands
from weft.doctor.machine.detection.gpus import gpu_devices
from weft.doctor.machine.detection.host import UNNAMED, read_host
from weft.doctor.machine.detection.model import ETHERNET, GpuFacts, HostHardware, RailSlot
from weft.doctor.machine.pci import PciLink
from weft.doctor.machine.sysroot import Sysroot

HERE = "here"
"""The name by which verbs take the platform of this machine."""
ROOT = Path("/")
_GENERATIONS = {2.5: 1, 5.0: 2, 8.0: 3, 16.0: 4, 32.0: 5, 64.0: 6}
_GPU_PCIE_SHARE = 0.78
"""What NCCL's GPUs see of their slot: as weft.catalog.machine.generic assumes it."""
EFA_MOST_GBPS = 400
"""SOURCE: AWS, instance type p6-b200: eight adapters of 400 Gb/s."""
_NETWORK_PARTS = ("links", "packets", "switch", "fabric", "host", "mpi")
Entry = dict[str, Any]


def detected_host(root: Path | None = None) -> HostHardware | None:
    """This machine by /sys and /proc alone, no command is run; None where there is neither an
    active RDMA adapter nor a GPU of the catalogue."""
    tree = Sysroot(ROOT if root is None else root)
    if not (tree.names(INFINIBAND) or tree.names(CXI) or gpu_devices(tree)):
        return None
    host = read_host(tree, NoCommands())
    return host if host.has_platform else None


def detected_platform(root: Path | None = None, *, name: str = "") -> Platform | None:
    """The platform of `detected_host`, by the host's name or another."""
    host = detected_host(root)
    return platform_of(host if not name else replace(host, name=name)) if host else None


def platform_named(name_or_path: str) -> Platform:
    """The platform of a name or a file; 'here' is this machine. Raises InputError."""
    if name_or_path != HERE:
        return load.platform(name_or_path)
    found = detected_platform(name=HERE)
    if found is None:
        raise nothing_here()
    return found


def nothing_here() -> InputError:
    """The error of a machine without a platform of its own."""
    return InputError(
        "this machine has neither an active RDMA adapter nor a GPU that weft knows",
        where=f"platform '{HERE}'",
        expected="the name of a platform, or a .toml file",
        hint="'weft platform detect' prints the hardware of this machine",
    )


def platform_of(host: HostHardware) -> Platform:
    """The document. Raises InputError where nothing is known of the host."""
    if host.is_empty:
        raise InputError(
            "nothing tells what this machine is",
            expected="a directory that holds the machine's sys and proc",
        )
    base = _Base()
    document = generic_platform(_hardware(host), base.platform).model_dump(
        by_alias=True, mode="json", exclude_none=True
    )
    generic_node = document.get("node", {})
    document |= {
        "name": UNNAMED if host.name in load.platform_names() else host.name,
        "title": title_of(host),
        "notes": _notes(host, base.name if host.rails else ""),
        "facts": dict(_facts(host)),
        "node": dict(_node(host, generic_node)),
    }
    if not host.rails:
        for part in _NETWORK_PARTS:
            document.pop(part, None)
    else:
        _set_network(document, host)
    if host.gpus is not None and host.gpus.product is not None:
        _set_gpus(document["gpus"], host, host.gpus)
    return Platform.model_validate(document)


def slot_name(link: PciLink) -> str:
    """'PCIe Gen4 x16'."""
    return f"PCIe Gen{_GENERATIONS[link.gt_s]} x{link.lanes}" if link.rate_gbps else ""


def title_of(host: HostHardware) -> str:
    """The machine in one line."""
    parts = []
    if host.rails:
        first, slot = host.rails[0], host.slot
        rails = f"{counted(len(host.rails), 'rail')} of {first.title} ({first.gbps:g} Gb/s)"
        parts.append(f"{rails}, {slot_name(slot.link)}" if slot is not None else rails)
    else:
        parts.append("no network of known rate")
    if host.gpus is not None:
        parts.append(f"{host.gpus.count} x {host.gpus.title}")
    here = host.processors
    if here.cores or here.cpus:
        cores = counted(here.cores, "core") if here.cores else counted(here.cpus, "CPU")
        nodes = f" in {counted(here.numa_nodes, 'NUMA node')}" if here.numa_nodes else ""
        parts.append(f"{cores}{nodes}")
    if here.memory_gb is not None:
        parts.append(f"{here.memory_gb:.0f} GB")
    return ", ".join(parts)


class _Base:
    """Opens generic platforms with all figures assumed, and remembers which it was."""

    name = ""

    def platform(self, name: str) -> Platform:
        self.name = name
        document = load.platform(name).model_dump(by_alias=True, mode="json", exclude_none=True)
        return Platform.model_validate(_assumed(document, name))


def _assumed(part: Any, base: str) -> Any:
    """The same with its figures assumed. An unverified one stays so: it must decide nothing."""
    if isinstance(part, list):
        return [_assumed(one, base) for one in part]
    if not isinstance(part, dict):
        return part
    changed = {key: _assumed(value, base) for key, value in part.items()}
    if "class" in part and "source" in part:
        plain = part["source"].removeprefix("assumed: ")
        changed["source"] = f"assumed: as {base}; {plain}"
        if part["class"] != SourceClass.UNVERIFIED.value:
            changed["class"] = SourceClass.ASSUMED.value
    return changed


def _hardware(host: HostHardware) -> Hardware:
    product = host.gpus.product if host.gpus is not None else None
    gpu = product.name if product is not None else ""
    return Hardware(link=host.rails[0].link if host.rails else "", gpu=gpu)


def _read(value: float, unit: str, source: str, conditions: str = "") -> Entry:
    sourced = SourceClass.SOURCED.value
    entry: Entry = {"value": value, "unit": unit, "class": sourced, "source": source}
    return {**entry, "conditions": conditions} if conditions else entry


def _guess(value: float, unit: str, source: str) -> Entry:
    return {**_read(value, unit, f"assumed: {source}"), "class": SourceClass.ASSUMED.value}


def _notes(host: HostHardware, base: str) -> list[str]:
    notes = ["Read by weft platform detect from the files that each figure names."]
    if base:
        notes.append(f"Figures that no file tells are those of {base}, marked assumed.")
    idle = [f"{rail.name} ({rail.state})" for rail in host.idle]
    if idle:
        notes.append(f"adapters that carry no data are not counted: {', '.join(idle[:8])}")
    doubts = dict.fromkeys(rail.conditions for rail in host.rails if rail.conditions)
    return [*notes, *doubts, *host.notes]


def _set_network(document: Entry, host: HostHardware) -> None:
    first = host.rails[0]
    links = document["links"]
    links["host"]["rate"] = _read(first.gbps, "Gb/s", first.source, first.conditions)
    links["switch"]["rate"] = _guess(
        first.gbps, "Gb/s", "cables between switches are as fast as the host's"
    )
    most = max(rail.n_active_ports for rail in host.rails) * first.gbps
    if most > first.gbps:
        links["host"]["most"] = _guess(most, "Gb/s", "all active ports of an adapter together")
    if first.conditions:
        links["host"]["most"] = _guess(EFA_MOST_GBPS, "Gb/s", first.conditions)
    packets = document["packets"]
    if first.family in ETHERNET:
        packets["headers"] = "ethernet"
    told = next((rail for rail in host.rails if rail.mtu is not None), None)
    if told is not None and told.mtu is not None:
        packets["mtu"] = _read(told.mtu, "B", told.mtu_source)


def _node(host: HostHardware, generic: Entry) -> Iterator[tuple[str, Entry]]:
    here = host.processors
    if host.rails:
        names = ", ".join(rail.name for rail in host.rails[:8])
        source = f"adapters of one rate that carry data: {names}"
        yield "hcas", _read(len(host.rails), "HCAs", source)
        slot = host.slot
        if slot is not None:
            line = f"one direction after line code: {slot_name(slot.link)}"
            yield "hca_pcie", _read(_slot_gb_s(slot), "GB/s", slot.source, line)
        else:
            source = "the usual slot of such a link; no file tells the slot"
            yield "hca_pcie", _guess(generic["hca_pcie"]["value"], "GB/s", source)
    if here.cores:
        yield "cores", _read(here.cores, "cores", here.sources["cores"])
    elif here.cpus:
        yield "cores", _read(here.cpus, "CPUs", here.sources["cpus"])
    elif host.rails and "cores" in generic:
        yield "cores", generic["cores"]
    counts = (
        ("cpus", here.cpus, "CPUs"),
        ("sockets", here.sockets, "sockets"),
        ("numa_nodes", here.numa_nodes, "NUMA nodes"),
    )
    for key, count, unit in counts:
        if count:
            yield key, _read(count, unit, here.sources[key])
    if here.memory_gb is not None:
        yield "memory", _read(here.memory_gb, "GB", here.sources["memory"])
    if host.gpus is not None:
        yield "gpus", _read(host.gpus.count, "GPUs", host.gpus.source)


def _slot_gb_s(slot: RailSlot) -> float:
    """Of the path class, so that the figure is that of --pcie; of the lanes where none is."""
    link = slot.link
    try:
        return slot_of(f"{_GENERATIONS[link.gt_s]}x{link.lanes}").gb_s
    except InputError:
        return round(link.rate_gbps / 8, 3)


def _facts(host: HostHardware) -> Iterator[tuple[str, Entry]]:
    """What was read of each rail."""
    for rail in (*host.rails, *host.idle):
        name = re.sub(r"[^a-z0-9._-]+", "-", rail.name.lower()).lstrip("-._") or "rail"
        if rail.gbps and rail.is_active:
            yield f"{name}.rate", _read(rail.gbps, "Gb/s", rail.source, rail.conditions)
        slot = rail.slot
        for which, link in (("pcie", slot.link), ("most_pcie", slot.most)):
            if link.rate_gbps:
                word = "current" if which == "pcie" else "max"
                source = slot.source if word == "current" else f"{slot.folder}/max_link_*"
                yield f"{name}.{which}_speed", _read(link.gt_s, "GT/s", source)
                yield f"{name}.{which}_lanes", _read(link.lanes, "lanes", source)
        if slot.numa_node is not None:
            source = f"{slot.folder}/numa_node"
            yield f"{name}.numa_node", _read(slot.numa_node, "NUMA node", source)


def _set_gpus(gpus: Entry, host: HostHardware, found: GpuFacts) -> None:
    product = found.product
    assert product is not None
    gpus["per_node"] = _read(found.count, "GPUs", found.source)
    if host.processors.vendor:
        gpus["cpu"] = host.processors.vendor
    if found.slot.rate_gbps:
        share = f"{_GPU_PCIE_SHARE:.0%} of {found.slot_source}"
        gb_s = _GPU_PCIE_SHARE * _slot_gb_s(RailSlot(found.slot))
        gpus["pcie"] = _guess(round(gb_s, 3), "GB/s", share)
    if not product.link:
        return
    if found.nvlinks:
        rate = found.nvlinks * product.seen_gb_s
        source = f"{found.nvlinks_source}: {counted(found.nvlinks, 'active link')} of a GPU"
        gpus["nvlink"] = _read(rate, "GB/s", source)
    elif found.nvlinks is None:
        rate = product.links * product.seen_gb_s
        source = f"{product.source}; product by {found.source}"
        bridge = f"all links of the product are there: {source}"
        gpus["nvlink"] = (_read if product.switched else _guess)(
            rate, "GB/s", source if product.switched else bridge
        )
    else:
        gpus.pop("nvlink", None)
