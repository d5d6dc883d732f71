"""Everything known of a machine's way to its fabric, as one value."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from weft.doctor.machine.adapters import Adapter, Kind, adapters
from weft.doctor.machine.pci import DEVICES, PciDevice, pci_device
from weft.doctor.machine.sysroot import Sysroot, whole_number
from weft.doctor.machine.system import System, system

SCHEMA = "weft.doctor-machine/1"
FABRIC_DEVICES = (
    (0x15B3, 0x020700, Kind.INFINIBAND),
    (0x17DB, 0x020000, Kind.SLINGSHOT),
    (0x1D0F, 0x020000, Kind.EFA),
)
"""Vendor, class and network of PCI devices that have a driver of this fabric. SOURCE: the PCI ID
repository; HewlettPackard's Cassini is 17db:0501, Amazon's EFA 1d0f:efa0 and up."""
_IDS = {0x17DB: range(0x0501, 0x0502), 0x1D0F: range(0xEFA0, 0xEFB0)}
_NVIDIA, _AMD = 0x10DE, 0x1002
_DISPLAY, _ACCELERATOR = 0x03, 0x12


@dataclass(frozen=True, slots=True)
class Machine:
    """`driverless` are adapters on PCI that no driver serves; `bridges` PCI bridges whose
    configuration can be read. `unread` is what is there and could not be read, with the reason."""

    system: System
    adapters: tuple[Adapter, ...]
    gpus: tuple[PciDevice, ...]
    bridges: tuple[PciDevice, ...]
    driverless: tuple[PciDevice, ...]
    unread: Mapping[str, str]

    @property
    def fast(self) -> tuple[Adapter, ...]:
        """Adapters that are made for MPI and NCCL."""
        return tuple(one for one in self.adapters if one.is_fast)

    @property
    def has_nvidia(self) -> bool:
        """Whether there are GPUs of NVIDIA."""
        return any(gpu.vendor == _NVIDIA for gpu in self.gpus)

    def to_record(self) -> dict[str, Any]:
        """All of it as plain values."""
        record: dict[str, Any] = _plain(asdict(self))
        return record


def read_machine(root: Sysroot) -> Machine:
    """The machine below a root. What cannot be read is empty and listed, never an error."""
    here = system(root)
    found = adapters(root)
    served = {one.pci.address for one in found if one.pci is not None}
    gpus, bridges, driverless = [], [], []
    for name in root.names(DEVICES):
        path = f"{DEVICES}/{name}"
        class_code = whole_number(root.text(f"{path}/class")) or 0
        if class_code >> 16 not in (0x02, _DISPLAY, 0x06, _ACCELERATOR):
            continue
        device = pci_device(root, path)
        if device is None:
            continue
        if _is_gpu(device):
            gpus.append(device)
        elif class_code >> 8 == 0x0604 and device.config is not None:
            bridges.append(device)
        elif device.address not in served and _is_of_a_fabric(device):
            driverless.append(device)
    return Machine(here, found, tuple(gpus), tuple(bridges), tuple(driverless), dict(root.unread))


def _is_gpu(device: PciDevice) -> bool:
    return device.vendor in (_NVIDIA, _AMD) and (
        device.class_code >> 8 in (0x0300, 0x0302, 0x0380) or device.class_code >> 16 == 0x12
    )


def _is_of_a_fabric(device: PciDevice) -> bool:
    return any(
        (device.vendor, device.class_code) == (vendor, class_code)
        and device.device in _IDS.get(vendor, (device.device,))
        for vendor, class_code, _ in FABRIC_DEVICES
    )


def _plain(value: Any) -> Any:
    """Sets as sorted lists, keys as text: what JSON can hold."""
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, frozenset):
        return sorted(value)
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value
