"""Everything known of a machine's path to its fabric, as one value."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from weft.doctor.machine.adapters import Adapter, adapters
from weft.doctor.machine.pci import DEVICES, EFA, PciDevice, Vendor, is_gpu, pci_device
from weft.doctor.machine.sysroot import Sysroot, whole_number
from weft.doctor.machine.system import System, system

SCHEMA = "weft.doctor-machine/1"
_INFINIBAND, _ETHERNET = 0x020700, 0x020000
_CASSINI = 0x0501
_DISPLAY, _ACCELERATOR = 0x03, 0x12


@dataclass(frozen=True, slots=True)
class Machine:
    """`driverless` are adapters on PCI that no driver serves; `bridges` PCI bridges whose
    configuration can be read. `unread` maps paths that could not be read to reasons.
    `n_pci_devices` are all devices whose class was read."""

    system: System
    adapters: tuple[Adapter, ...]
    gpus: tuple[PciDevice, ...]
    bridges: tuple[PciDevice, ...]
    driverless: tuple[PciDevice, ...]
    unread: Mapping[str, str]
    n_pci_devices: int

    @property
    def fast(self) -> tuple[Adapter, ...]:
        """Adapters that are made for MPI and NCCL."""
        return tuple(one for one in self.adapters if one.is_fast)

    @property
    def has_nvidia(self) -> bool:
        """Whether there are GPUs of NVIDIA."""
        return any(gpu.vendor == Vendor.NVIDIA for gpu in self.gpus)

    def to_record(self) -> dict[str, Any]:
        """All of it as plain values."""
        record: dict[str, Any] = _plain(asdict(self))
        return record


def read_machine(root: Sysroot, *, tables: bool = True) -> Machine:
    """The machine below a root. A file that cannot be read is empty and listed, never an error.

    Without `tables` the ports come without P_Keys, GIDs and counters, which are most of the files.
    """
    here = system(root)
    found = adapters(root, tables=tables)
    served = {one.pci.address for one in found if one.pci is not None}
    gpus, bridges, driverless = [], [], []
    n_devices = 0
    for name in root.names(DEVICES):
        path = f"{DEVICES}/{name}"
        class_code = whole_number(root.text(f"{path}/class")) or 0
        n_devices += class_code > 0
        if class_code >> 16 not in (0x02, _DISPLAY, 0x06, _ACCELERATOR):
            continue
        device = pci_device(root, path)
        if device is None:
            continue
        if is_gpu(device.vendor, device.class_code):
            gpus.append(device)
        elif class_code >> 8 == 0x0604 and device.config is not None:
            bridges.append(device)
        elif device.address not in served and _is_of_a_fabric(device):
            driverless.append(device)
    return Machine(
        here,
        found,
        tuple(gpus),
        tuple(bridges),
        tuple(driverless),
        dict(root.unread),
        n_devices,
    )


def _is_of_a_fabric(device: PciDevice) -> bool:
    """Whether it needs the driver of a fabric: other Ethernet adapters may be for the machine's own
    traffic."""
    if device.vendor == Vendor.MELLANOX:
        return device.class_code == _INFINIBAND
    is_slingshot = device.vendor == Vendor.CRAY and device.device == _CASSINI
    is_efa = device.vendor == Vendor.AMAZON and device.device in EFA
    return device.class_code == _ETHERNET and (is_slingshot or is_efa)


def _plain(value: Any) -> Any:
    """Values for JSON: sets as sorted lists, keys as text."""
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, frozenset):
        return sorted(value)
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value
