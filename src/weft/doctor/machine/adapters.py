"""Adapters of /sys/class/infiniband and /sys/class/cxi: ports, P_Keys, GIDs, counters, their node
in /dev.

SOURCE: torvalds/linux, Documentation/ABI/stable/sysfs-class-infiniband and drivers/infiniband/core/
sysfs.c; of Slingshot, HewlettPackard/shs-cxi-driver.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from weft.core.natural import natural_key
from weft.doctor.machine.pci import PciDevice, Vendor, pci_device
from weft.doctor.machine.sysroot import Sysroot, leading_number, whole_number

INFINIBAND = "/sys/class/infiniband"
CXI = "/sys/class/cxi"
VERBS = "/sys/class/infiniband_verbs"
FULL_MEMBER = 0x8000
"""The upper bit of a P_Key. SOURCE: Red Hat Enterprise Linux 7, Networking Guide, 13.8.4."""
_EMPTY_GID = "0000:0000:0000:0000:0000:0000:0000:0000"


class AdapterKind(StrEnum):
    """The network of an adapter."""

    INFINIBAND = "InfiniBand"
    SLINGSHOT = "Slingshot"
    EFA = "EFA"
    ETHERNET = "Ethernet"


@dataclass(frozen=True, slots=True)
class PKey:
    """An entry of a port's P_Key table that is not empty."""

    index: int
    value: int

    @property
    def is_full(self) -> bool:
        """Whether the port is a full member of the partition."""
        return bool(self.value & FULL_MEMBER)

    def __str__(self) -> str:
        return f"{self.value:#06x} {'full' if self.is_full else 'limited'}"


@dataclass(frozen=True, slots=True)
class Gid:
    """An entry of a port's GID table that is not empty. `kind` is `IB/RoCE v1` or `RoCE v2`."""

    index: int
    value: str
    kind: str
    interface: str


UNKNOWN = "unknown"
"""The state of a port whose file is missing or empty."""
STATES = {
    *("NOP", "DOWN", "INIT", "ARMED", "ACTIVE", "ACTIVE_DEFER"),
    *("UP", "NOTPRESENT", "LOWERLAYERDOWN", "TESTING", "DORMANT"),
}
"""SOURCE: torvalds/linux, drivers/infiniband/core/sysfs.c state_show; for Slingshot, operstate of
Documentation/ABI/testing/sysfs-class-net. Another word tells nothing."""
UNLINKED = {
    *("Sleep", "Polling", "Disabled", "PortConfigurationTraining", "LinkErrorRecovery"),
    "Phy Test",
}
"""SOURCE: torvalds/linux, drivers/infiniband/core/sysfs.c phys_state_to_str."""


@dataclass(frozen=True, slots=True)
class Port:
    """`state` is ACTIVE, INIT, DOWN, ...; `rate` as the kernel writes it."""

    number: int
    state: str
    physical_state: str
    rate: str
    rate_gbps: float
    lid: int = 0
    sm_lid: int = 0
    p_keys: tuple[PKey, ...] = ()
    gids: tuple[Gid, ...] = ()
    counters: Mapping[str, int] = field(default_factory=dict)

    @property
    def is_active(self) -> bool:
        """Whether it carries data now."""
        return self.state in ("ACTIVE", "UP")

    @property
    def is_known(self) -> bool:
        """Whether a file tells that it carries data, or that it does not."""
        return self.state in STATES or self.physical_state in UNLINKED


@dataclass(frozen=True, slots=True)
class Adapter:
    """`node` is the file that programs open in /dev, "" where the kernel offers none."""

    name: str
    kind: AdapterKind
    firmware: str
    board: str
    pci: PciDevice | None
    ports: tuple[Port, ...]
    node: str
    has_node: bool
    may_open: bool

    @property
    def is_fast(self) -> bool:
        """Whether it is made for MPI and NCCL."""
        return self.kind is not AdapterKind.ETHERNET

    @property
    def active(self) -> tuple[Port, ...]:
        """Ports that carry data now."""
        return tuple(port for port in self.ports if port.is_active)


def adapters(root: Sysroot, *, tables: bool = True) -> tuple[Adapter, ...]:
    """All of them: those of fast networks first, by name. Without `tables` no P_Keys, GIDs and
    counters, which are most of the files."""
    nodes = {
        root.line(f"{VERBS}/{name}/ibdev"): f"/dev/infiniband/{name}"
        for name in root.names(VERBS)
        if name.startswith("uverbs")
    }
    found = [_verbs(root, name, nodes.get(name, ""), tables) for name in root.names(INFINIBAND)]
    found += [_cxi(root, name) for name in root.names(CXI) if name.startswith("cxi")]
    return tuple(sorted(found, key=lambda one: (not one.is_fast, one.kind, natural_key(one.name))))


def _verbs(root: Sysroot, name: str, node: str, tables: bool) -> Adapter:
    folder = f"{INFINIBAND}/{name}"
    pci = pci_device(root, f"{folder}/device")
    numbers = sorted(int(port) for port in root.names(f"{folder}/ports") if port.isdecimal())
    layers = {root.line(f"{folder}/ports/{number}/link_layer") for number in numbers}
    kind = AdapterKind.INFINIBAND if "InfiniBand" in layers else AdapterKind.ETHERNET
    if pci is not None and pci.vendor == Vendor.AMAZON:
        kind = AdapterKind.EFA
    return Adapter(
        name,
        kind,
        root.line(f"{folder}/fw_ver"),
        root.line(f"{folder}/board_id"),
        pci,
        tuple(_port(root, f"{folder}/ports/{number}", number, tables) for number in numbers),
        node,
        bool(node) and root.exists(node),
        bool(node) and root.may_open(node),
    )


def _port(root: Sysroot, folder: str, number: int, tables: bool) -> Port:
    rate = root.line(f"{folder}/rate")
    port = Port(
        number,
        _word(root.line(f"{folder}/state")),
        _word(root.line(f"{folder}/phys_state")),
        rate,
        leading_number(rate),
    )
    if not tables:
        return port
    return replace(
        port,
        lid=whole_number(root.line(f"{folder}/lid")) or 0,
        sm_lid=whole_number(root.line(f"{folder}/sm_lid")) or 0,
        p_keys=_p_keys(root, f"{folder}/pkeys"),
        gids=_gids(root, folder),
        counters=_counters(root, f"{folder}/counters") | _counters(root, f"{folder}/hw_counters"),
    )


def _word(text: str) -> str:
    """`ACTIVE` of `4: ACTIVE`."""
    return text.partition(":")[2].strip() or text or UNKNOWN


def _indices(root: Sysroot, folder: str) -> list[int]:
    return sorted(int(name) for name in root.names(folder) if name.isdecimal() and len(name) < 9)


def _p_keys(root: Sysroot, folder: str) -> tuple[PKey, ...]:
    """An entry whose lower 15 bits are 0 is empty."""
    values = [(i, whole_number(root.line(f"{folder}/{i}")) or 0) for i in _indices(root, folder)]
    return tuple(PKey(i, value) for i, value in values if value & 0x7FFF > 0 and value <= 0xFFFF)


def _gids(root: Sysroot, folder: str) -> tuple[Gid, ...]:
    found = []
    for index in _indices(root, f"{folder}/gids"):
        value = root.line(f"{folder}/gids/{index}")
        if value in ("", _EMPTY_GID):
            continue
        kind = root.line(f"{folder}/gid_attrs/types/{index}")
        found.append(Gid(index, value, kind, root.line(f"{folder}/gid_attrs/ndevs/{index}")))
    return tuple(found)


def _counters(root: Sysroot, folder: str) -> dict[str, int]:
    values = {name: whole_number(root.line(f"{folder}/{name}")) for name in root.names(folder)}
    return {name: value for name, value in values.items() if value is not None}


def _cxi(root: Sysroot, name: str) -> Adapter:
    """A Slingshot adapter: its network interface has state and rate; every process opens
    /dev/cxiN."""
    folder = f"{CXI}/{name}"
    interfaces = root.names(f"{folder}/device/net")
    interface = f"{folder}/device/net/{interfaces[0]}" if interfaces else ""
    state = root.line(f"{interface}/operstate") if interface else ""
    speed = whole_number(root.line(f"{interface}/speed")) if interface else None
    rate_gbps = speed / 1e3 if speed is not None and speed > 0 else 0
    shown = f"{rate_gbps:g} Gb/s" if rate_gbps else ""
    port = Port(1, state.upper() or UNKNOWN, "", shown, rate_gbps)
    node = f"/dev/{name}"
    pci, opens = pci_device(root, f"{folder}/device"), root.may_open(node)
    kind = AdapterKind.SLINGSHOT
    return Adapter(name, kind, "", "", pci, (port,), node, root.exists(node), opens)
