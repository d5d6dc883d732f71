"""Devices on PCI Express: their links, their place, and their configuration space."""

import struct
from dataclasses import dataclass
from enum import IntEnum

from weft.doctor.machine.sysroot import Sysroot, leading_number, numbers_of_list, whole_number

DEVICES = "/sys/bus/pci/devices"


class Vendor(IntEnum):
    """The maker of a device. SOURCE: the PCI ID repository, pci.ids."""

    NVIDIA = 0x10DE
    AMD = 0x1002
    MELLANOX = 0x15B3
    CRAY = 0x17DB
    AMAZON = 0x1D0F


EFA = range(0xEFA0, 0xEFB0)
"""Amazon's Elastic Fabric Adapters, which are Ethernet controllers by class."""
_GPU_CLASSES = (0x0300, 0x0302, 0x0380, 0x1200)
"""VGA and 3D controllers, other displays, processing accelerators."""
CONFIG_BYTES = 4096
_CAPABILITY_EXPRESS = 0x10
_EXTENDED_ACS = 0x000D
_ACS_REDIRECTS = 0x1C
"""P2P request redirect, P2P completion redirect, upstream forwarding. SOURCE: torvalds/linux,
include/uapi/linux/pci_regs.h: PCI_ACS_RR, PCI_ACS_CR, PCI_ACS_UF, in PCI_ACS_CTRL."""
_LINE = 128 / 130
PAYLOAD_SHARE = {2.5: 0.8, 5.0: 0.8, 8.0: _LINE, 16.0: _LINE, 32.0: _LINE, 64.0: 236 / 256}
"""The share of a lane's GT/s for bytes: 8b/10b, 128b/130b, 236 of 256 bytes of a flit. SOURCE:
torvalds/linux, drivers/pci/pci.h: PCIE_SPEED2MBS_ENC; of flits G. K. Lockwood, PCIe Gen6."""


@dataclass(frozen=True, slots=True)
class PciLink:
    """GT/s and lanes of a link, 0 where it is not known."""

    gt_s: float
    lanes: int

    @property
    def rate_gbps(self) -> float:
        """Gb/s of bytes in each direction, 0 where it is not known."""
        return self.gt_s * self.lanes * PAYLOAD_SHARE.get(self.gt_s, 0)

    def __str__(self) -> str:
        return f"{self.gt_s:g} GT/s x{self.lanes}"


@dataclass(frozen=True, slots=True)
class PciConfig:
    """Values of the configuration space, of which a plain user sees the first 64 bytes only."""

    relaxed_ordering: bool
    max_payload_bytes: int
    max_read_request_bytes: int
    acs_redirects: bool


@dataclass(frozen=True, slots=True)
class PciDevice:
    """`numa_node` is None where the firmware says none; `config` where it cannot be read."""

    address: str
    vendor: int
    device: int
    class_code: int
    driver: str
    numa_node: int | None
    local_cpus: frozenset[int]
    link: PciLink
    most_link: PciLink
    is_virtual_function: bool
    iommu: str
    """The IOMMU's mapping of its memory: DMA, DMA-FQ, identity; "" where there is none."""
    config: PciConfig | None


def is_gpu(vendor: int, class_code: int) -> bool:
    """Whether NCCL or RCCL can use a device of this class of 24 bits as a GPU."""
    return vendor in (Vendor.NVIDIA, Vendor.AMD) and class_code >> 8 in _GPU_CLASSES


def pci_device(root: Sysroot, path: str) -> PciDevice | None:
    """The device whose folder, or a link to it, is at `path`; None where it is no PCI device."""
    real = root.real(path)
    vendor = whole_number(root.line(f"{path}/vendor"))
    if real is None or vendor is None:
        return None
    node = whole_number(root.line(f"{path}/numa_node"))
    return PciDevice(
        address=real.rpartition("/")[2],
        vendor=vendor,
        device=whole_number(root.line(f"{path}/device")) or 0,
        class_code=whole_number(root.line(f"{path}/class")) or 0,
        driver=(root.real(f"{path}/driver") or "").rpartition("/")[2]
        if root.exists(f"{path}/driver")
        else "",
        numa_node=node if node is not None and node >= 0 else None,
        local_cpus=numbers_of_list(root.line(f"{path}/local_cpulist")),
        link=_link(root, path, "current"),
        most_link=_link(root, path, "max"),
        is_virtual_function=root.exists(f"{path}/physfn"),
        iommu=root.line(f"{path}/iommu_group/type"),
        config=pci_config(root.content(f"{path}/config", CONFIG_BYTES)),
    )


def _link(root: Sysroot, path: str, which: str) -> PciLink:
    """`32.0 GT/s PCIe` and `16`; a virtual function says Unknown and 0."""
    gt_s = leading_number(root.line(f"{path}/{which}_link_speed"))
    lanes = whole_number(root.line(f"{path}/{which}_link_width")) or 0
    return PciLink(gt_s, lanes) if gt_s in PAYLOAD_SHARE and lanes > 0 else PciLink(0, 0)


def pci_config(space: bytes) -> PciConfig | None:
    """The values of a configuration space of up to 4096 bytes.

    SOURCE: torvalds/linux, include/uapi/linux/pci_regs.h, PCI_EXP_DEVCTL: at 8 of capability 0x10,
    bit 4 relaxed ordering, bits 5-7 payload, bits 12-14 read request, both 128 bytes shifted left.
    """
    express = _capability(space, _CAPABILITY_EXPRESS)
    if express is None or express + 10 > len(space):
        return None
    control = int.from_bytes(space[express + 8 : express + 10], "little")
    acs = _extended(space, _EXTENDED_ACS)
    redirects = acs is not None and acs + 8 <= len(space) and bool(space[acs + 6] & _ACS_REDIRECTS)
    return PciConfig(
        relaxed_ordering=bool(control & 0x10),
        max_payload_bytes=128 << (control >> 5 & 7),
        max_read_request_bytes=128 << (control >> 12 & 7),
        acs_redirects=redirects,
    )


def _capability(space: bytes, wanted: int) -> int | None:
    """The place of a capability. The list begins at 0x34; no list has more than 48 entries."""
    at = space[0x34] & 0xFC if len(space) > 0x40 else 0
    for _ in range(48):
        if at < 0x40 or at + 2 > len(space):
            return None
        if space[at] == wanted:
            return at
        at = space[at + 1] & 0xFC
    return None


def _extended(space: bytes, wanted: int) -> int | None:
    """The place of an extended capability: id in 16 bits, the next one in the upper 12."""
    at = 0x100
    for _ in range(CONFIG_BYTES // 8):
        if at < 0x100 or at + 4 > len(space):
            return None
        (head,) = struct.unpack_from("<I", space, at)
        if head & 0xFFFF == wanted:
            return at
        at = head >> 20 & 0xFFC
    return None
