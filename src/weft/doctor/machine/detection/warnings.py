"""What of the hardware is less than it could be: rules of `weft doctor` on ports and slots."""

from collections.abc import Iterator
from dataclasses import dataclass

from weft.core.finding import Severity
from weft.doctor.machine.checks import problems
from weft.doctor.machine.coverage import link_gaps
from weft.doctor.machine.detection.model import SOCKETS, HostHardware, RailFacts
from weft.doctor.machine.machine import read_machine
from weft.doctor.machine.sysroot import Sysroot

RULES = (
    "no-driver", "no-active-port", "no-subnet-manager", "port-down", "slower-port", "narrow-pcie",
    "trained-down-pcie",
)  # fmt: skip
"""Those on hardware that a platform describes."""


@dataclass(frozen=True, slots=True)
class HardwareHealth:
    """`warnings` are a sentence each, with what to do; `would_show` faults that would have shown;
    a gap is (the open question, the file that would answer it), which leaves no good verdict."""

    warnings: tuple[str, ...]
    would_show: tuple[str, ...]
    gaps: tuple[tuple[str, str], ...]


def hardware_health(root: Sysroot, host: HostHardware) -> HardwareHealth:
    """What of the hardware is less than it could be, and what no file tells."""
    machine = read_machine(root, tables=False)
    found = [one for one in problems(machine) if one.rule.id in RULES]
    shown = [f"{one.happens}; fix: {one.fix}" for one in found if one.severity is not Severity.NOTE]
    warnings = (*shown, *_of_sockets(host), *_of_nvlinks(host))
    return HardwareHealth(warnings, tuple(_would_show(host)), tuple(link_gaps(machine)))


def _would_show(host: HostHardware) -> Iterator[str]:
    if host.rails:
        yield "a port that is down or slower than others of its kind"
    if any(rail.slot.is_known for rail in host.rails):
        yield "a PCIe link slower than its port"


def _of_sockets(host: HostHardware) -> Iterator[str]:
    """Slots of Ethernet adapters without RDMA, of which doctor has no rule."""
    for rail in host.rails:
        if rail.family in SOCKETS and rail.slot.is_known:
            yield from _of_slot(rail)


def _of_slot(rail: RailFacts) -> Iterator[str]:
    link, most = rail.slot.link, rail.slot.most
    if link.rate_gbps < rail.gbps:
        carried = f"{link} carries {link.rate_gbps:.0f} Gb/s, the port {rail.gbps:g} Gb/s"
        yield f"{rail.name}: {carried}; fix: move it to a slot of {most}, or check the BIOS"
    elif link.rate_gbps < most.rate_gbps:
        fix = "reseat it; check the BIOS and the riser"
        yield f"{rail.name} is at {link} and can {most}; fix: {fix}"


def _of_nvlinks(host: HostHardware) -> Iterator[str]:
    gpus = host.gpus
    if gpus is None or gpus.product is None or gpus.nvlinks is None:
        return
    # A card with a bridge may do without it.
    if gpus.product.switched and gpus.nvlinks < gpus.product.links:
        usual = gpus.product.links
        yield (
            f"a GPU has {gpus.nvlinks} active NVLinks, {gpus.title} has {usual}; fix: read "
            "nvidia-smi nvlink -s and dmesg on the host"
        )
