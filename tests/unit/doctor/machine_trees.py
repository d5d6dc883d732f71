"""Trees like those of /sys, /proc and /dev, in the formats that the kernel writes.

Sources of the formats: torvalds/linux drivers/infiniband/core/sysfs.c (state, phys_state, rate,
lid, pkeys, link_layer), Documentation/ABI/stable/sysfs-class-infiniband, Documentation/ABI/testing/
sysfs-bus-pci (numa_node, *_link_speed), drivers/pci/pci-sysfs.c; proc(5) for limits, status and
mountinfo; HewlettPackard's cxi driver for /sys/class/cxi; Amazon's efa driver, whose ports have the
link layer Unknown.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

EMPTY_KEYS = ("0x0000",)
RATES = {
    "HDR": "200 Gb/sec (4X HDR)",
    "HDR100": "100 Gb/sec (2X HDR)",
    "NDR": "400 Gb/sec (4X NDR)",
    "EDR": "100 Gb/sec (4X EDR)",
}
STATES = {"DOWN": 1, "INIT": 2, "ARMED": 3, "ACTIVE": 4}
PHYSICAL = {"Polling": 2, "Disabled": 3, "LinkUp": 5}
COUNTERS = (
    "symbol_error", "link_error_recovery", "link_downed", "port_rcv_errors", "port_xmit_wait",
    "port_xmit_data", "port_rcv_data", "local_link_integrity_errors",
    "excessive_buffer_overrun_errors", "port_xmit_discards", "VL15_dropped",
)  # fmt: skip


@dataclass(frozen=True)
class Tree:
    """A tree below `root`, of a machine with processors, memory and nothing else."""

    root: Path

    def write(self, path: str, text: str | bytes) -> Path:
        file = self.root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else f"{text}\n".encode())
        return file

    def link(self, path: str, target: str) -> None:
        """A relative link, as sysfs has them."""
        file = self.root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.symlink_to(os.path.relpath(self.root / target.lstrip("/"), file.parent))

    def machine(
        self,
        *,
        kernel: str = "6.8.0-1015-azure",
        processors: str = "0-95",
        mine: str = "0-95",
        nodes: str = "0-1",
        memory_kib: int = 1_900_000_000,
        locked: str = "unlimited",
        locked_hard: str = "unlimited",
        capabilities: str = "0000000000000000",
        shm: str = "rw,size=972800000k,inode64",
    ) -> "Tree":
        self.write("proc/sys/kernel/osrelease", kernel)
        self.write("proc/sys/kernel/numa_balancing", "0")
        self.write("sys/devices/system/cpu/online", processors)
        self.write("sys/devices/system/node/online", nodes)
        self.write("proc/meminfo", f"MemTotal:       {memory_kib} kB\nMemFree:         1000 kB")
        self.write(
            "proc/self/status",
            f"Name:\tcat\nCapEff:\t{capabilities}\nCpus_allowed_list:\t{mine}\n"
            f"Mems_allowed_list:\t{nodes}",
        )
        self.write(
            "proc/self/limits",
            "Limit                     Soft Limit           Hard Limit           Units     \n"
            f"Max locked memory         {locked:<20} {locked_hard:<20} bytes     ",
        )
        self.write(
            "proc/self/mountinfo",
            "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
            f"30 22 0:25 / /dev/shm rw,nosuid,nodev shared:4 - tmpfs tmpfs {shm}",
        )
        return self

    def pci(
        self,
        address: str,
        vendor: int,
        device: int,
        class_code: int,
        *,
        numa_node: int = 0,
        cpus: str = "0-47",
        speed: str = "32.0 GT/s PCIe",
        lanes: int = 16,
        most_speed: str = "32.0 GT/s PCIe",
        most_lanes: int = 16,
        virtual: bool = False,
    ) -> str:
        """The folder of a device, with the link that the bus has to it."""
        folder = f"sys/devices/pci0000:00/{address}"
        self.write(f"{folder}/vendor", f"{vendor:#06x}")
        self.write(f"{folder}/device", f"{device:#06x}")
        self.write(f"{folder}/class", f"{class_code:#08x}")
        self.write(f"{folder}/numa_node", str(numa_node))
        self.write(f"{folder}/local_cpulist", cpus)
        self.write(f"{folder}/current_link_speed", "Unknown" if virtual else speed)
        self.write(f"{folder}/current_link_width", "0" if virtual else str(lanes))
        self.write(f"{folder}/max_link_speed", "Unknown" if virtual else most_speed)
        self.write(f"{folder}/max_link_width", "0" if virtual else str(most_lanes))
        if virtual:
            self.link(f"{folder}/physfn", "sys/devices/pci0000:00/0000:00:01.0")
        self.link(f"sys/bus/pci/devices/{address}", folder)
        return folder

    def hca(
        self,
        number: int,
        *,
        name: str = "",
        rate: str = "NDR",
        layer: str = "InfiniBand",
        state: str = "ACTIVE",
        physical: str = "LinkUp",
        keys: Sequence[str] = ("0x8001", "0x7fff"),
        n_keys: int = 128,
        node: bool = True,
        errors: dict[str, int] | None = None,
        board: str = "MT_0000000838",
        vendor: int = 0x15B3,
        device: int = 0x1021,
        class_code: int = 0x020700,
        **pci: Any,
    ) -> str:
        """An adapter with one port; returns its name."""
        name = name or f"mlx5_{number}"
        address = f"0000:{0x10 + number:02x}:00.0"
        folder = self.pci(address, vendor, device, class_code, **pci)
        own = f"{folder}/infiniband/{name}"
        self.link(f"sys/class/infiniband/{name}", own)
        self.link(f"{own}/device", folder)
        self.write(f"{own}/node_type", "1: CA")
        self.write(f"{own}/fw_ver", "28.39.1002")
        self.write(f"{own}/board_id", board)
        port = f"{own}/ports/1"
        self.write(f"{port}/state", f"{STATES[state]}: {state}")
        self.write(f"{port}/phys_state", f"{PHYSICAL[physical]}: {physical}")
        self.write(f"{port}/rate", RATES.get(rate, rate))
        self.write(f"{port}/link_layer", layer)
        self.write(f"{port}/lid", f"{number + 1:#x}" if layer == "InfiniBand" else "0x0")
        self.write(f"{port}/sm_lid", "0x1" if layer == "InfiniBand" else "0x0")
        for index in range(n_keys):
            self.write(f"{port}/pkeys/{index}", keys[index] if index < len(keys) else "0x0000")
        gid = f"fe80:0000:0000:0000:9803:9b03:0000:{number:04x}"
        for index in range(4):
            self.write(f"{port}/gids/{index}", gid if index == 0 else ":".join(["0000"] * 8))
        for counter in COUNTERS:
            self.write(f"{port}/counters/{counter}", str((errors or {}).get(counter, 0)))
        self.write(f"sys/class/infiniband_verbs/uverbs{number}/ibdev", name)
        if node:
            self.write(f"dev/infiniband/uverbs{number}", "")
        return name

    def roce_gid(self, number: int, name: str = "", kind: str = "RoCE v2") -> None:
        """A GID of RoCE at index 3."""
        port = f"sys/class/infiniband/{name or f'mlx5_{number}'}/ports/1"
        self.write(f"{port}/gids/3", "0000:0000:0000:0000:0000:ffff:0a00:0001")
        self.write(f"{port}/gid_attrs/types/3", kind)
        self.write(f"{port}/gid_attrs/ndevs/3", "eth0")

    def cxi(self, number: int, *, state: str = "up", node: bool = True) -> None:
        """A Slingshot adapter, Cassini 1: 17db:0501."""
        folder = self.pci(f"0000:{0x90 + number:02x}:00.0", 0x17DB, 0x0501, 0x020000,
                          speed="16.0 GT/s PCIe", most_speed="16.0 GT/s PCIe")  # fmt: skip
        self.link(f"sys/class/cxi/cxi{number}", f"{folder}/cxi/cxi{number}")
        (self.root / folder / "cxi" / f"cxi{number}").mkdir(parents=True)
        self.link(f"{folder}/cxi/cxi{number}/device", folder)
        self.write(f"{folder}/net/hsn{number}/operstate", state)
        self.write(f"{folder}/net/hsn{number}/speed", "200000")
        if node:
            self.write(f"dev/cxi{number}", "")

    def efa(self, number: int, **more: Any) -> str:
        """An Elastic Fabric Adapter, 1d0f:efa2: 100 Gb/s, link layer Unknown, one default P_Key."""
        return self.hca(
            number, name=f"rdmap{number}s31", rate="EDR", layer="Unknown", keys=("0xffff",),
            n_keys=1, vendor=0x1D0F, device=0xEFA2, class_code=0x020000, board="",
            virtual=True, **more,
        )  # fmt: skip

    def gpu(self, number: int, *, iommu: str = "", **pci: Any) -> None:
        """An H100: 10de:2330."""
        folder = self.pci(f"0000:{0x40 + number:02x}:00.0", 0x10DE, 0x2330, 0x030200, **pci)
        if iommu:
            self.write(f"sys/kernel/iommu_groups/{number}/type", iommu)
            self.link(f"{folder}/iommu_group", f"sys/kernel/iommu_groups/{number}")

    def interface(
        self, number: int, *, speed: str = "25000", state: str = "up", mtu: int = 1500, **pci: Any
    ) -> str:
        """An Ethernet interface without RDMA; returns its name."""
        name = f"eth{number}"
        folder = self.pci(f"0000:{0x70 + number:02x}:00.0", 0x8086, 0x159B, 0x020000, **pci)
        own = f"{folder}/net/{name}"
        self.link(f"sys/class/net/{name}", own)
        self.link(f"{own}/device", folder)
        for file, text in (("type", "1"), ("speed", speed), ("operstate", state)):
            self.write(f"{own}/{file}", text)
        self.write(f"{own}/mtu", str(mtu))
        return name

    def cores(self, n: int, *, sockets: int = 2) -> None:
        """Physical cores with two threads each, by turns on the sockets; Intel's cpuinfo."""
        for cpu in range(2 * n):
            topology = f"sys/devices/system/cpu/cpu{cpu}/topology"
            self.write(f"{topology}/thread_siblings_list", f"{cpu % n},{cpu % n + n}")
            self.write(f"{topology}/physical_package_id", str(cpu % sockets))
        block = "vendor_id\t: GenuineIntel\nmodel name\t: Intel(R) Xeon(R) Platinum 8480C\n"
        self.write("proc/cpuinfo", f"processor\t: 0\n{block}")

    def nvidia(self, *, opened: bool = False, modules: Sequence[str] = ()) -> None:
        """NVIDIA's driver and modules."""
        kind = "Open Kernel Module for x86_64" if opened else "x86_64 Kernel Module"
        self.write(
            "proc/driver/nvidia/version",
            f"NVRM version: NVIDIA UNIX {kind}  550.54.15  Tue Mar  5 22:23:56 UTC 2024\n"
            "GCC version:  gcc version 12.3.0 (Ubuntu 12.3.0-1ubuntu1~22.04)",
        )
        for name in ("nvidia", *modules):
            self.write(f"sys/module/{name}/version", "550.54.15")


def ndr(root: Path) -> Tree:
    """8 NDR adapters with 8 GPUs, and 2 Ethernet functions of the same driver."""
    tree = Tree(root).machine()
    for number in range(8):
        near: dict[str, Any] = {"numa_node": number // 4, "cpus": "0-47" if number < 4 else "48-95"}
        tree.hca(number, **near)
        tree.gpu(number, **near)
    for number in (8, 9):
        tree.hca(number, rate="100 Gb/sec (4X EDR)", layer="Ethernet", keys=("0xffff",), n_keys=1,
                 class_code=0x020000, device=0x1016, board="MT_0000000012")  # fmt: skip
        tree.roce_gid(number)
    tree.nvidia(modules=("nvidia_peermem", "gdrdrv"))
    return tree


def hdr_functions(root: Path) -> Tree:
    """One HDR virtual function, as virtual machines of a cloud have it."""
    tree = Tree(root).machine(processors="0-119", mine="0-119", nodes="0-3")
    tree.hca(0, name="mlx5_ib0", rate="HDR", virtual=True, device=0x101C, numa_node=-1, cpus="",
             keys=("0x8023", "0x7fff"))  # fmt: skip
    return tree


def slingshot(root: Path) -> Tree:
    """4 Slingshot adapters."""
    tree = Tree(root).machine(kernel="5.14.21-150500.55.65_13.0.73-cray_shasta_c")
    for number in range(4):
        tree.cxi(number)
    return tree


def aws(root: Path) -> Tree:
    """4 Elastic Fabric Adapters."""
    tree = Tree(root).machine(kernel="6.1.115-126.197.amzn2023.x86_64")
    for number in range(4):
        tree.efa(number)
    return tree
