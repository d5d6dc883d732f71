"""What carried the bytes of a launch: device counters, what the MPI library says, and the state
that follows from them."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from weft.bench.kernel_records import Device, KernelOutput
from weft.bench.model import State

FABRIC_SHARE_AT_LEAST = 0.5
"""Below this share of all counted bytes on fast devices, a run between hosts was not on fabric."""

QUIET_BYTES = 2**20
"""Less than this elsewhere is the launcher's and the daemons' own traffic."""

# Bytes a unit of the counters that count payload. InfiniBand's data counters count 4 octets.
# SOURCE: InfiniBand Architecture Specification vol. 1, PortCounters; perfquery(8).
BYTE_COUNTERS = {
    "port_xmit_data": 4,
    "port_rcv_data": 4,
    "tx_bytes": 1,
    "rx_bytes": 1,
    "hni_sts_tx_ok_octets": 1,
    "hni_sts_rx_ok_octets": 1,
}


def evidence_of(output: KernelOutput) -> dict[str, Any]:
    """Library, transports, bytes by device over all hosts, and rails, without empty entries."""
    selected = sorted({t.mpi_selected for t in output.transports if t.mpi_selected})
    rails = sorted({rank.rail for rank in output.ranks if rank.rail})
    evidence: dict[str, Any] = {
        "mpi_library": output.header.mpi_library if output.header else None,
        "mpi_selected": selected,
        "rails": rails,
        "hosts": len({rank.host for rank in output.ranks}),
        "device_bytes": device_bytes(output.devices),
        "device_errors": device_errors(output.devices),
    }
    return {key: value for key, value in evidence.items() if value}


def device_bytes(devices: Sequence[Device]) -> dict[str, int]:
    """Bytes that crossed each device, both directions, summed over hosts, by device name."""
    totals: dict[str, int] = defaultdict(int)
    for device in devices:
        if device.counter in BYTE_COUNTERS:
            totals[_name(device)] += _delta(device) * BYTE_COUNTERS[device.counter]
    return {name: total for name, total in sorted(totals.items()) if total > 0}


def device_errors(devices: Sequence[Device]) -> dict[str, int]:
    """Other counters that moved (waits, errors, discards), as 'host device counter'."""
    return {
        f"{device.host} {_name(device)} {device.counter}": _delta(device)
        for device in devices
        if device.counter not in BYTE_COUNTERS
        and "packets" not in device.counter
        and _delta(device) > 0
    }


def state_of(output: KernelOutput) -> State:
    """NOT_ON_FABRIC where several hosts took part, a fast device counts its bytes, and most bytes
    went elsewhere. Without such a device nothing can be said, and the state is OK."""
    if len({rank.host for rank in output.ranks}) < 2:
        return State.OK
    fast = [device for device in output.devices if is_fast(device)]
    if not any(device.counter in BYTE_COUNTERS for device in fast):
        return State.OK
    on_fabric = sum(device_bytes(fast).values())
    elsewhere = sum(device_bytes(_others(output)).values())
    share = on_fabric / max(1, on_fabric + elsewhere)
    missed = elsewhere >= QUIET_BYTES and share < FABRIC_SHARE_AT_LEAST
    return State.NOT_ON_FABRIC if missed else State.OK


def not_on_fabric_note(output: KernelOutput) -> str:
    """Where the bytes went instead, and what to do about it."""
    carried = device_bytes(_others(output))
    most = max(carried, key=lambda name: carried[name])
    fast = sorted({_name(device) for device in output.devices if is_fast(device)})
    return (
        f"the bytes went over {most}, not over {', '.join(fast)}: name the device with --rails, "
        "or use an MPI built for this fabric (--mpi)"
    )


def is_fast(device: Device) -> bool:
    """Whether the device is of a fabric made for MPI. An interface of the kernel's network is not,
    even on InfiniBand: its bytes are counted a second time by the port below it."""
    if device.link_layer == "Slingshot":
        return True
    return device.link_layer == "InfiniBand" and device.port is not None


def _others(output: KernelOutput) -> list[Device]:
    return [d for d in output.devices if not is_fast(d) and d.link_layer != "Loopback"]


def _name(device: Device) -> str:
    return device.device if device.port is None else f"{device.device}:{device.port}"


def _delta(device: Device) -> int:
    """The difference; a counter that went backwards was reset, and says nothing."""
    return max(0, device.after - device.before)
