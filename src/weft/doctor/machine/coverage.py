"""The evidence of a good verdict on a machine, and the evidence that it lacks."""

from collections.abc import Iterator
from dataclasses import dataclass

from weft.core.nodeset import fold
from weft.core.words import counted
from weft.doctor.machine.adapters import AdapterKind
from weft.doctor.machine.checks import rails
from weft.doctor.machine.machine import Machine


@dataclass(frozen=True, slots=True)
class MachineCoverage:
    """`would_show` are faults that would have shown; with a gap there is no good verdict. A gap is
    (the open question, the files that would answer it)."""

    would_show: tuple[str, ...]
    gaps: tuple[tuple[str, str], ...]


def coverage_of(machine: Machine) -> MachineCoverage:
    """What the rules of severity `bad` could see of a machine."""
    return MachineCoverage(tuple(_would_show(machine)), tuple(_gaps(machine)))


def _would_show(machine: Machine) -> Iterator[str]:
    n_ports = sum(port.is_known for one in rails(machine) for port in one.ports)
    if machine.n_pci_devices:
        yield f"an adapter without a driver among {counted(machine.n_pci_devices, 'PCI device')}"
    if n_ports:
        yield f"no active port among {n_ports}, and a device that this user may not open"
    if any(port.p_keys for one in rails(machine) for port in one.ports):
        yield "no full membership in a partition"
    if any(one.pci is not None and one.pci.link.rate_gbps for one in rails(machine)):
        yield "a PCIe link slower than its port"
    if rails(machine) and machine.system.knows_limits:
        yield "a limit of locked memory"


def _gaps(machine: Machine) -> Iterator[tuple[str, str]]:
    if not machine.n_pci_devices:
        asked = "whether an adapter is here without a driver"
        yield asked, "/sys/bus/pci/devices of the host"
    yield from link_gaps(machine)
    keyless = [
        one.name
        for one in rails(machine)
        if one.kind is AdapterKind.INFINIBAND and any(not port.p_keys for port in one.active)
    ]
    if keyless:
        yield f"the P_Keys of {fold(keyless)}", "/sys/class/infiniband/*/ports/*/pkeys"
    verbs = any(one.kind is not AdapterKind.SLINGSHOT for one in rails(machine))
    if verbs and not machine.system.knows_limits:
        yield "the limit of locked memory", "/proc/self/limits"


def link_gaps(machine: Machine) -> Iterator[tuple[str, str]]:
    """Ports, their rates and PCIe links that no file tells."""
    rateless = [
        one.name
        for one in rails(machine)
        if one.kind in (AdapterKind.INFINIBAND, AdapterKind.ETHERNET)
        and not all(port.rate_gbps for port in one.active)
    ]
    if rateless:
        yield f"the rate of {fold(rateless)}", "/sys/class/infiniband/*/ports/*/rate"
    closed = [one.name for one in rails(machine) if not all(port.is_known for port in one.ports)]
    closed += [one.name for one in rails(machine) if not one.ports]
    if closed:
        yield f"whether ports of {fold(closed)} are active", "/sys/class/*/*/ports/*/state"
    unlinked = [
        one.name
        for one in rails(machine)
        if one.active
        and one.kind in (AdapterKind.INFINIBAND, AdapterKind.ETHERNET)
        and (one.pci is None or not (one.pci.is_virtual_function or one.pci.link.rate_gbps))
    ]
    if unlinked:
        yield f"the PCIe link of {fold(unlinked)}", "current_link_speed of the device"
