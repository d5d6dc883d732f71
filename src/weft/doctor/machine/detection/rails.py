"""Adapters of the network of a host: RDMA adapters, or else Ethernet interfaces.

SOURCE: torvalds/linux, drivers/infiniband/core/sysfs.c: rate is `200 Gb/sec (4X HDR)`, of Ethernet
too; Documentation/ABI/testing/sysfs-class-net: speed is in Mb/s.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from weft.catalog.paths.path_class import PathClass, path_classes
from weft.core.natural import natural_key
from weft.doctor.machine.adapters import INFINIBAND, Adapter, AdapterKind, Port
from weft.doctor.machine.detection.commands import CommandOutput, source_of
from weft.doctor.machine.detection.model import NO_LINK, SOCKETS, RailFacts, RailSlot
from weft.doctor.machine.detection.mtu import rdma_mtu
from weft.doctor.machine.pci import PciDevice, PciLink, pci_device
from weft.doctor.machine.sysroot import Sysroot, whole_number

NET = "/sys/class/net"
MOST_GBPS = 10_000
MOST_RAILS = 64
"""So many adapters of a network are described; no host has more."""
_LANES = re.compile(r"\((?P<lanes>\d{1,2})X(?: (?P<speed>[A-Z]+\d*))?\)")
_SOFTWARE = ("rxe", "siw")
"""Names of RDMA devices that have no hardware."""
_ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_LINK_STATUS = re.compile(r"^\s*LnkSta:.*Speed ([\d.]{1,4})GT/s.*Width x(\d{1,2})", re.MULTILINE)
_LINK_MOST = re.compile(r"^\s*LnkCap:.*Speed ([\d.]{1,4})GT/s.*Width x(\d{1,2})", re.MULTILINE)
_IWARP = "4"
"""node_type of an RNIC. SOURCE: torvalds/linux, include/rdma/ib_verbs.h: RDMA_NODE_RNIC."""
_ETHERNET_TYPE = 1
_EFA_CONDITIONS = "older efa drivers state 100 Gb/s for every adapter"
"""SOURCE: torvalds/linux, drivers/infiniband/hw/efa/efa_verbs.c: efa_query_port."""


@dataclass(frozen=True, slots=True)
class NamedLink:
    """`name` of a path class, or a rate as link_of takes it; `gbps` of data."""

    name: str
    title: str
    gbps: float


def rails_of(
    root: Sysroot, commands: CommandOutput, found: Sequence[Adapter]
) -> tuple[RailFacts, ...]:
    """Every adapter of a fast network; without one RoCE's; without one that carries data the
    Ethernet interfaces too. In the order of names. Virtual functions count where nothing else is
    there: beside its physical function one carries no rate of its own."""
    hardware = [one for one in found if not one.name.startswith(_SOFTWARE)]
    hardware = [one for one in hardware if not _is_virtual(one.pci)] or hardware
    fast = [one for one in hardware if one.is_fast] or hardware
    rails = [_rail(root, commands, one) for one in fast[: 2 * MOST_RAILS]]
    if not any(rail.is_active for rail in rails):
        rails += _interfaces(root, commands)
    return tuple(rails)


def _rail(root: Sysroot, commands: CommandOutput, adapter: Adapter) -> RailFacts:
    port = max(adapter.ports, key=lambda one: (one.is_active, one.rate_gbps), default=None)
    family = _family(root, adapter)
    link = _link(family, port) if port is not None else NamedLink("", "", 0)
    is_active = port is not None and port.is_active and link.gbps > 0
    folder = f"{INFINIBAND}/{adapter.name}"
    source = f"{folder}/ports/{port.number}/rate: {port.rate}" if port is not None else folder
    if adapter.kind is AdapterKind.SLINGSHOT:
        folder = f"/sys/class/cxi/{adapter.name}"
        source = f"{folder}/device/net/*/speed"
    mtu, mtu_source = rdma_mtu(root, commands, adapter.name, family) if is_active else (None, "")
    return RailFacts(
        name=adapter.name,
        family=family,
        link=link.name,
        title=link.title,
        gbps=link.gbps,
        source=source,
        state=port.state if port is not None else "without a port",
        is_active=is_active,
        n_active_ports=len(adapter.active),
        slot=_slot(commands, adapter.pci, f"{folder}/device"),
        mtu=mtu,
        mtu_source=mtu_source,
        conditions=_EFA_CONDITIONS if family == "efa" and link.gbps == 100 else "",
    )


def _family(root: Sysroot, adapter: Adapter) -> str:
    """The family of path classes of an adapter."""
    if adapter.kind is AdapterKind.SLINGSHOT:
        return "slingshot"
    if adapter.kind is AdapterKind.EFA:
        return "efa"
    if adapter.kind is AdapterKind.INFINIBAND:
        return "omni-path" if adapter.name.startswith("hfi") else "infiniband"
    node_type = root.line(f"{INFINIBAND}/{adapter.name}/node_type")
    return "iwarp" if node_type.startswith(_IWARP) else "roce"


def _link(family: str, port: Port) -> NamedLink:
    if family == "infiniband":
        return infiniband_link(port.rate, port.rate_gbps)
    return class_of_rate(family, port.rate_gbps)


def infiniband_link(rate: str, gbps: float) -> NamedLink:
    """The class of `200 Gb/sec (4X HDR)`: lanes times what a lane of that speed carries. The kernel
    counts the line code of QDR and slower ones in its rate."""
    classes = _classes("infiniband")
    found = _LANES.search(rate)
    word = (found["speed"] or "SDR").lower() if found is not None else ""
    whole = next((one for one in classes if one.name == word), None)
    if found is None or whole is None:
        return class_of_rate("infiniband", gbps)
    lanes = int(found["lanes"])
    if lanes == 4:
        return NamedLink(whole.name, f"InfiniBand {whole.title}", whole.gbps)
    carried = whole.gbps * lanes / 4
    narrow = next((c for c in classes if c.name.startswith(word) and c.gbps == carried), None)
    if narrow is not None:
        return NamedLink(narrow.name, f"InfiniBand {narrow.title}", carried)
    title = f"InfiniBand {whole.title} of {lanes} lanes"
    return NamedLink(f"{carried:g} Gb/s", title, carried) if carried else NamedLink("", title, 0)


def class_of_rate(family: str, gbps: float) -> NamedLink:
    """The class of a family that has this rate; without one the rate alone, 0 where it is none."""
    title = next(one.title for one in path_classes().families if one.name == family)
    if not 0 < gbps <= MOST_GBPS:
        return NamedLink("", title, 0)
    for one in _classes(family):
        if one.gbps == gbps:
            return NamedLink(one.name, f"{title} {one.title}", gbps)
    return NamedLink(f"{gbps:g} Gb/s", title, gbps)


def _classes(family: str) -> tuple[PathClass, ...]:
    return next(one.classes for one in path_classes().families if one.name == family)


def _interfaces(root: Sysroot, commands: CommandOutput) -> list[RailFacts]:
    """Ethernet interfaces with hardware behind them."""
    rails: list[RailFacts] = []
    virtual: list[RailFacts] = []
    for name in sorted(root.names(NET), key=natural_key):
        folder = f"{NET}/{name}"
        # Azure's netvsc is the master of a virtual function, and both show one rate.
        if not root.exists(f"{folder}/device") or root.exists(f"{folder}/master/device"):
            continue
        if whole_number(root.line(f"{folder}/type")) != _ETHERNET_TYPE:
            continue
        state = root.line(f"{folder}/operstate").upper() or "unknown"
        # The kernel refuses to tell the speed of an interface that is down.
        speed = whole_number(root.line(f"{folder}/speed")) or 0 if state == "UP" else 0
        link = class_of_rate("tcp", speed / 1e3)
        mtu = whole_number(root.line(f"{folder}/mtu"))
        pci = pci_device(root, f"{folder}/device")
        (virtual if _is_virtual(pci) else rails).append(
            RailFacts(
                name=name,
                family="tcp",
                link=link.name,
                title=link.title.replace("TCP", "Ethernet"),
                gbps=link.gbps,
                source=f"{folder}/speed: {speed} Mb/s",
                state=state,
                is_active=state == "UP" and link.gbps > 0,
                slot=_slot(commands, pci, f"{folder}/device"),
                mtu=mtu if mtu is not None and 256 <= mtu <= 65536 else None,
                mtu_source=f"{folder}/mtu",
            )
        )
    return rails or virtual


def _is_virtual(pci: PciDevice | None) -> bool:
    return pci is not None and pci.is_virtual_function


def _slot(commands: CommandOutput, pci: PciDevice | None, folder: str) -> RailSlot:
    """The slot by /sys, or by lspci where an old kernel does not show it."""
    if pci is None or not _ADDRESS.fullmatch(pci.address):
        return RailSlot()
    source = f"{folder}/current_link_speed, current_link_width: {pci.link}"
    slot = RailSlot(pci.link, pci.most_link, pci.numa_node, folder, source)
    if slot.is_known or pci.is_virtual_function:
        return slot
    for block in re.split(r"\n(?=\S)", commands.text("lspci")):
        if block.startswith(f"{pci.address} "):
            link, most = _printed(_LINK_STATUS, block), _printed(_LINK_MOST, block)
            source = f"{source_of('lspci')}: {link}"
            return replace(slot, link=link, most=most, source=source)
    return slot


def _printed(pattern: re.Pattern[str], block: str) -> PciLink:
    found = pattern.search(block)
    link = PciLink(float(found[1]), int(found[2])) if found is not None else NO_LINK
    return link if link.rate_gbps > 0 else NO_LINK


def counted_rails(
    found: Sequence[RailFacts],
) -> tuple[tuple[RailFacts, ...], tuple[RailFacts, ...], tuple[RailFacts, ...]]:
    """(rails, idle RDMA adapters, others): rails are the active adapters of one link, that whose
    rates have the highest sum."""
    sums: dict[tuple[str, float], float] = {}
    for rail in found:
        if rail.is_active:
            key = (rail.family, rail.gbps)
            sums[key] = sums.get(key, 0) + rail.gbps
    idle = [one for one in found if not one.is_active and one.family not in SOCKETS]
    if not sums:
        return (), tuple(idle[:MOST_RAILS]), ()
    best = max(sums, key=lambda one: (sums[one], one[1]))
    active = [one for one in found if one.is_active]
    rails = [one for one in active if (one.family, one.gbps) == best]
    others = [one for one in active if (one.family, one.gbps) != best]
    return tuple(rails[:MOST_RAILS]), tuple(idle[:MOST_RAILS]), tuple(others[:MOST_RAILS])
