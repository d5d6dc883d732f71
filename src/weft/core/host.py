"""Facts about this host, from the operating system: CPUs, memory, network devices."""

import os
import platform
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_AMAZON = "0x1d0f"
"""Whose RDMA devices are Elastic Fabric Adapters. SOURCE: the PCI ID repository."""


@dataclass(frozen=True, slots=True)
class NetworkDevice:
    """An RDMA port (`mlx5_0:1`, `cxi0`) or a network interface (`eth0`).

    `rate_gbps` is None, and `firmware` "", where the system does not say. `fast` devices are made
    for MPI: InfiniBand, Slingshot and EFA.
    """

    name: str
    link_layer: str
    state: str
    rate_gbps: float | None
    fast: bool
    firmware: str = ""

    @property
    def active(self) -> bool:
        """Whether it can carry data now."""
        return self.state.upper() in ("ACTIVE", "UP")


@dataclass(frozen=True, slots=True)
class Host:
    """This host. `cpus` are those this process may run on; `n_cores` the physical cores of them."""

    name: str
    cpu_model: str
    cpus: tuple[int, ...]
    n_cores: int
    all_cpus_allowed: bool
    n_numa_nodes: int
    memory_gb: float | None
    kernel: str
    devices: tuple[NetworkDevice, ...]

    def to_record(self) -> dict[str, Any]:
        """The facts as plain values, without what is not known."""
        record = {
            "name": self.name,
            "cpu_model": self.cpu_model,
            "n_cpus_allowed": len(self.cpus),
            "n_cores": self.n_cores,
            "n_numa_nodes": self.n_numa_nodes,
            "memory_gb": self.memory_gb,
            "kernel": self.kernel,
            "devices": [
                {"name": device.name, "link_layer": device.link_layer, "state": device.state}
                | ({} if device.rate_gbps is None else {"rate_gbps": device.rate_gbps})
                | ({"firmware": device.firmware} if device.firmware else {})
                for device in self.devices
            ],
        }
        return {key: value for key, value in record.items() if value is not None}


def this_host(sysfs: Path | None = None, proc: Path = Path("/proc")) -> Host:
    """The facts of the host this runs on. A fact that cannot be read is empty, never an error.

    WEFT_SYSFS names another /sys, as for the kernel.
    """
    root = sysfs if sysfs is not None else sysfs_root()
    cpus = tuple(sorted(os.sched_getaffinity(0)))
    return Host(
        name=platform.node(),
        cpu_model=_field(proc / "cpuinfo", "model name") or platform.machine(),
        cpus=cpus,
        n_cores=_n_cores(root, cpus),
        all_cpus_allowed=len(cpus) == (os.cpu_count() or len(cpus)),
        n_numa_nodes=max(1, len(list(root.glob("devices/system/node/node[0-9]*")))),
        memory_gb=_memory_gb(proc / "meminfo"),
        kernel=platform.release(),
        devices=(*_infiniband(root), *_cxi(root), *_interfaces(root)),
    )


def sysfs_root() -> Path:
    """/sys, or what WEFT_SYSFS names instead."""
    return Path(os.environ.get("WEFT_SYSFS") or "/sys")


def rdma_devices() -> tuple[str, ...]:
    """This host's devices of /sys/class/infiniband, such as 'mlx5_0'."""
    return names_of_class("infiniband")


def names_of_class(kind: str) -> tuple[str, ...]:
    """Names of this host's devices of a class of /sys/class, such as 'net'."""
    folder = sysfs_root() / "class" / kind
    return tuple(sorted(path.name for path in folder.iterdir())) if folder.is_dir() else ()


def rail_exists(rail: str) -> bool:
    """Whether this host has the device of a rail such as 'mlx5_0:1', 'cxi0' or 'eth0'."""
    device, _, port = rail.partition(":")
    if not device or "/" in rail:
        return False
    ports = sysfs_root() / "class/infiniband" / device / "ports"
    if ports.is_dir():
        return not port or (ports / port).exists()
    return any((sysfs_root() / "class" / kind / device).exists() for kind in ("cxi", "net"))


def _n_cores(root: Path, cpus: tuple[int, ...]) -> int:
    """Distinct (package, core) of the CPUs; a CPU that does not say counts as a core."""
    cores = set()
    for cpu in cpus:
        topology = root / f"devices/system/cpu/cpu{cpu}/topology"
        core = _text(topology / "core_id")
        package = _text(topology / "physical_package_id")
        cores.add((package, core) if core else ("cpu", str(cpu)))
    return len(cores)


def _memory_gb(meminfo: Path) -> float | None:
    words = (_field(meminfo, "MemTotal") or "").split()
    return round(int(words[0]) * 1024 / 1e9, 1) if words and words[0].isdigit() else None


def _infiniband(root: Path) -> list[NetworkDevice]:
    """Ports of /sys/class/infiniband: state '4: ACTIVE', rate '200 Gb/sec (4X HDR)'. Those of
    Amazon's adapters have a link layer of their own, which the kernel calls unknown."""
    devices = []
    for port in sorted(root.glob("class/infiniband/*/ports/*")):
        is_efa = _text(port.parent.parent / "device/vendor") == _AMAZON
        link_layer = "EFA" if is_efa else _text(port / "link_layer") or "unknown"
        devices.append(
            NetworkDevice(
                name=f"{port.parent.parent.name}:{port.name}",
                link_layer=link_layer,
                state=_text(port / "state").rpartition(":")[2].strip() or "unknown",
                rate_gbps=_leading_number(_text(port / "rate")),
                fast=link_layer in ("InfiniBand", "EFA"),
                firmware=_text(port.parent.parent / "fw_ver"),
            )
        )
    return devices


def _cxi(root: Path) -> list[NetworkDevice]:
    """Slingshot devices of /sys/class/cxi. Their interface, hsn0, has state and rate."""
    devices = []
    for device in sorted(root.glob("class/cxi/*")):
        interfaces = sorted(device.glob("device/net/*"))
        interface = interfaces[0] if interfaces else device
        devices.append(
            NetworkDevice(
                name=device.name,
                link_layer="Slingshot",
                state=_text(interface / "operstate") or "unknown",
                rate_gbps=_interface_rate_gbps(interface),
                fast=True,
            )
        )
    return devices


def _interfaces(root: Path) -> list[NetworkDevice]:
    """Interfaces of /sys/class/net that have hardware behind them."""
    return [
        NetworkDevice(
            name=interface.name,
            link_layer="InfiniBand (IP)" if _text(interface / "type") == "32" else "Ethernet",
            state=_text(interface / "operstate") or "unknown",
            rate_gbps=_interface_rate_gbps(interface),
            fast=False,
        )
        for interface in sorted(root.glob("class/net/*"))
        if (interface / "device").exists()
    ]


def _interface_rate_gbps(interface: Path) -> float | None:
    """`speed` is in Mb/s, -1 where the driver does not know."""
    speed = _leading_number(_text(interface / "speed"))
    return speed / 1e3 if speed is not None and speed > 0 else None


def _leading_number(text: str) -> float | None:
    try:
        return float(text.split(maxsplit=1)[0]) if text else None
    except ValueError:
        return None


def _field(path: Path, key: str) -> str | None:
    """The value of the first 'key: value' line."""
    for line in _text(path).splitlines():
        name, _, value = line.partition(":")
        if name.strip() == key:
            return value.strip()
    return None


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""
