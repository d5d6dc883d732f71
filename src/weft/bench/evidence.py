"""The evidence of a launch: the devices that carried its bytes, the places of its ranks, the quiet
of the network, the step of the clock; and the state that follows."""

from collections.abc import Sequence
from typing import Any

from weft.bench.live.affinity import affinity_evidence
from weft.bench.live.device_bytes import (
    BYTE_COUNTERS,
    carried_evidence,
    device_bytes,
    fabric_devices,
    missed_the_fabric,
    other_devices,
    quiet_evidence,
)
from weft.bench.live.kernel_records import DeviceCounter, KernelOutput, KernelRank
from weft.bench.live.named_devices import missed_note, named_bytes
from weft.bench.model import State


def evidence_of(output: KernelOutput) -> dict[str, Any]:
    """Library, transports, bytes by device over all hosts, rails, places of ranks, quietness and
    clock (docs/reference/run_directory.md), without empty entries."""
    hosts = {rank.host for rank in output.ranks}
    evidence: dict[str, Any] = {
        "mpi_library": output.header.mpi_library if output.header else None,
        "mpi_selected": sorted({t.mpi_selected for t in output.transports if t.mpi_selected}),
        "open_devices": sorted({path for t in output.transports for path in t.open_devices}),
        "rails": sorted({rank.rail for rank in output.ranks if rank.rail}),
        "rail_settings": rail_settings(output.ranks),
        "hosts": len(hosts),
        "machines": output.header.n_machines if output.header else None,
        "device_bytes": device_bytes(output.devices),
        "device_errors": device_errors(output.devices),
        **(carried_evidence(output.devices) if len(hosts) > 1 else {}),
        "named": None if (named := named_bytes(output)) is None else named.to_record(),
        **affinity_evidence(output.ranks, output.devices),
        "quiet": quiet_evidence(output),
        "clock": clock_evidence(output),
    }
    return {key: value for key, value in evidence.items() if value}


def rail_settings(ranks: Sequence[KernelRank]) -> dict[str, list[str]]:
    """Values of the variables that choose an MPI library's device, over all ranks, by name."""
    found: dict[str, set[str]] = {}
    for rank in ranks:
        for name, value in rank.rail_settings.items():
            found.setdefault(name, set()).add(value)
    return {name: sorted(found[name]) for name in sorted(found)}


def clock_evidence(output: KernelOutput) -> dict[str, Any]:
    """Step and cost of the clock, and whether all ranks read the same one."""
    header = output.header
    if header is None:
        return {}
    return {
        "resolution_ns": header.clock_resolution_ns,
        "cost_ns": header.clock_cost_ns,
        "common": header.common_clock,
    }


def device_errors(devices: Sequence[DeviceCounter]) -> dict[str, int]:
    """Other counters that moved (waits, errors, discards), as 'host device counter'."""
    return {
        f"{device.host} {device.name} {device.counter}": device.delta
        for device in devices
        if device.counter not in BYTE_COUNTERS
        and "packets" not in device.counter
        and device.delta > 0
    }


def state_of(output: KernelOutput) -> State:
    """NOT_ON_FABRIC where several hosts took part and most bytes went past the device that was
    named, or past a fast device that counts its bytes. Without such a device the state is
    OK."""
    if len({rank.host for rank in output.ranks}) < 2:
        return State.OK
    named = named_bytes(output)
    if named is not None and named.is_missed:
        return State.NOT_ON_FABRIC
    return State.NOT_ON_FABRIC if missed_the_fabric(output.devices) else State.OK


def not_on_fabric_note(output: KernelOutput) -> str:
    """Where the bytes went instead, and what to do about it."""
    named = named_bytes(output)
    if named is not None and named.is_missed:
        return missed_note(named)
    carried = device_bytes(other_devices(output.devices))
    most = max(carried, key=lambda name: carried[name])
    fast = sorted({device.name for device in fabric_devices(output.devices)})
    return (
        f"the bytes went over {most}, not over {', '.join(fast)}: name the device with --rails, "
        "or use an MPI built for this fabric (--mpi)"
    )
