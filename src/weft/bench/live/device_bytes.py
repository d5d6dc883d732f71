"""Network devices by the bytes that they counted: those of a launch, host by host, and those that
moved while no rank sent."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from weft.bench.live.kernel_records import DeviceCounter, KernelOutput, QuietCounter

FABRIC_SHARE_AT_LEAST = 0.5
"""Below this share of all counted bytes on fast devices, a run between hosts was not on fabric."""

QUIET_BYTES = 2**20
"""Less than this elsewhere is the launcher's and the daemons' own traffic."""

MOST_NAMED = 8
"""Evidence names this many hosts or counters, and counts the others: it stands in every run."""

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


def is_fast(device: DeviceCounter | QuietCounter) -> bool:
    """Whether the device is of a fabric made for MPI. An interface of the kernel's network is not,
    even on InfiniBand: its bytes are counted a second time by the port below it."""
    if device.link_layer == "Slingshot":
        return True
    return device.link_layer == "InfiniBand" and device.port is not None


def bytes_of(counter: DeviceCounter | QuietCounter) -> int:
    """Bytes that a counter moved by; 0 for one that counts something else."""
    return counter.delta * BYTE_COUNTERS.get(counter.counter, 0)


def device_bytes(devices: Iterable[DeviceCounter]) -> dict[str, int]:
    """Bytes that crossed each device, both directions, summed over hosts, by device name."""
    totals: dict[str, int] = defaultdict(int)
    for device in devices:
        totals[device.name] += bytes_of(device)
    return {name: total for name, total in sorted(totals.items()) if total > 0}


def fabric_devices(devices: Iterable[DeviceCounter]) -> list[DeviceCounter]:
    """Counters of fast devices that count bytes."""
    return [d for d in devices if is_fast(d) and d.counter in BYTE_COUNTERS]


def other_devices(devices: Iterable[DeviceCounter]) -> list[DeviceCounter]:
    """Counters of the devices that a message between hosts should not have used."""
    return [d for d in devices if not is_fast(d) and d.link_layer != "Loopback"]


def missed_the_fabric(devices: Sequence[DeviceCounter]) -> bool:
    """Whether a fast device counts its bytes, and most bytes went elsewhere."""
    fast = fabric_devices(devices)
    on_fabric = sum(map(bytes_of, fast))
    elsewhere = sum(map(bytes_of, other_devices(devices)))
    share = on_fabric / max(1, on_fabric + elsewhere)
    return bool(fast) and elsewhere >= QUIET_BYTES and share < FABRIC_SHARE_AT_LEAST


def carried_evidence(devices: Sequence[DeviceCounter]) -> dict[str, Any]:
    """`carried_bytes` on the fabric and elsewhere, `fast_devices`, the hosts `off_fabric`, and the
    `ethernet` links that carried the bytes where no device is fast.

    `fast_devices` has an entry a name: link layer, hosts, states and bytes. `off_fabric` names the
    hosts whose bytes went elsewhere, or that lack the fast devices that other hosts have.
    """
    fast = fabric_devices(devices)
    return {
        "carried_bytes": {
            "fabric": sum(map(bytes_of, fast)),
            "elsewhere": sum(map(bytes_of, other_devices(devices))),
        },
        "fast_devices": [_fast_device(name, fast) for name in sorted({d.name for d in fast})],
        "off_fabric": _off_fabric(devices) if fast else {},
        "ethernet": [] if fast else ethernet_links(devices),
    }


def ethernet_links(devices: Iterable[DeviceCounter]) -> list[dict[str, Any]]:
    """Hosts by the interface that carried their bytes, and by its rate; none of a host whose bytes
    crossed a virtual interface alone, or one that tells no rate: a veth states 10 Gb/s whatever it
    carries. A bond counts the bytes of its links a second time."""
    by_host: dict[str, list[DeviceCounter]] = defaultdict(list)
    for device in other_devices(devices):
        by_host[device.host].append(device)
    found: dict[tuple[str, float], list[str]] = defaultdict(list)
    for host, own in by_host.items():
        carried = device_bytes(own)
        rates = {d.name: d.link_rate_gbps or 0.0 for d in own if not d.virtual}
        real = [name for name in carried if rates.get(name)]
        name = max(real, key=lambda one: carried[one], default="")
        if name and 2 * carried[name] >= max(carried.values()) >= QUIET_BYTES:
            found[name, rates[name]].append(host)
    return [
        {"device": name, "gbps": gbps, "n_hosts": len(hosts), "hosts": sorted(hosts)[:MOST_NAMED]}
        for (name, gbps), hosts in sorted(found.items())
    ]


def _fast_device(name: str, fast: Iterable[DeviceCounter]) -> dict[str, Any]:
    own = [device for device in fast if device.name == name]
    return {
        "device": name,
        "link_layer": own[0].link_layer,
        "hosts": len({device.host for device in own}),
        "states": sorted({device.state for device in own if device.state}),
        "bytes": sum(map(bytes_of, own)),
    }


def _off_fabric(devices: Sequence[DeviceCounter]) -> dict[str, Any]:
    by_host: dict[str, list[DeviceCounter]] = defaultdict(list)
    for device in devices:
        by_host[device.host].append(device)
    off = [
        {"host": host, **_of_host(own)}
        for host, own in by_host.items()
        if missed_the_fabric(own) or not fabric_devices(own)
    ]
    return {"n_hosts": len(off), "hosts": off[:MOST_NAMED]} if off else {}


def _of_host(own: Sequence[DeviceCounter]) -> dict[str, Any]:
    """The device that carried the bytes of a host (null: none), and its fast devices."""
    carried = device_bytes(other_devices(own))
    states = {device.name: device.state for device in fabric_devices(own)}
    return {
        "carried_by": max(carried, key=lambda name: carried[name], default=None),
        "fast": states,
    }


def quiet_evidence(output: KernelOutput) -> dict[str, Any]:
    """How long the network was watched, and the byte counters that moved meanwhile, busiest first;
    {} where it was not. A rate is in MB/s (10^6 bytes), `link_share` is of the device's own
    rate."""
    if output.header is None or output.header.quiet_ns == 0:
        return {}
    moved = [
        _moved(quiet)
        for quiet in output.quiet
        if quiet.counter in BYTE_COUNTERS and quiet.link_layer != "Loopback"
    ]
    moved.sort(key=lambda entry: (-(entry["link_share"] or 0), -entry["mb_s"]))
    return {
        "seconds": output.header.quiet_ns / 1e9,
        "n_moved": len(moved),
        "moved": moved[:MOST_NAMED],
    }


def _moved(quiet: QuietCounter) -> dict[str, Any]:
    bytes_per_s = bytes_of(quiet) / (quiet.elapsed_ns / 1e9)
    rate = quiet.link_rate_gbps
    return {
        "host": quiet.host,
        "device": quiet.name,
        "counter": quiet.counter,
        "mb_s": round(bytes_per_s / 1e6, 3),
        "link_share": round(bytes_per_s * 8 / (rate * 1e9), 4) if rate else None,
    }
