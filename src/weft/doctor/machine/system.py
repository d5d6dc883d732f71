"""The kernel's grants to a process here: memory to lock, shared memory, processors, modules."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from weft.doctor.machine.sysroot import Sysroot, numbers_of_list, whole_number

MODULES = (
    "mlx5_ib", "ib_uverbs", "efa", "cxi_ss1", "cxi_user", "kdreg2", "xpmem", "nvidia",
    "nvidia_peermem", "nv_peer_mem", "gdrdrv", "amdgpu",
)  # fmt: skip
CAP_IPC_LOCK = 14
CAP_SYS_PTRACE = 19
"""Bits of a process's capabilities. SOURCE: capabilities(7), include/uapi/linux/capability.h."""
RAS_PORT = 28028
"""NCCL's watching service. SOURCE: NVIDIA/nccl v2.30.7, src/ras."""
SHM = "/dev/shm"  # noqa: S108 - named, never written to
_LISTENS = "0A"
_SHM_SIZE = re.compile(r"(?:^|,)size=(\d+)([kmgKMG]?)(?:,|$)")
_FACTOR = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_CONTAINERS = (
    ("/.dockerenv", "Docker"),
    ("/run/.containerenv", "Podman"),
    ("/.singularity.d", "Apptainer"),
    ("/var/run/secrets/kubernetes.io", "Kubernetes"),
)


@dataclass(frozen=True, slots=True)
class System:
    """`None` is unlimited for limits in bytes and not known for everything else.

    `container` is "" outside of one. `processors` and `memory_nodes` are those this process may
    use. `huge_pages` maps a page's KiB to (all, free). `rdma_limits` are the lines of the control
    group that limit a device.
    """

    kernel: str
    container: str
    processors: frozenset[int]
    n_processors: int
    memory_nodes: frozenset[int]
    n_numa_nodes: int
    memory_kib: int | None
    locked_soft_bytes: int | None
    locked_hard_bytes: int | None
    knows_limits: bool
    capabilities: int
    shm_bytes: int | None
    shm_is_half_of_memory: bool
    huge_pages: Mapping[int, tuple[int, int]]
    transparent_huge_pages: str
    numa_balancing: int | None
    unprivileged_userfaultfd: int | None
    rdma_limits: tuple[str, ...]
    modules: Mapping[str, str]
    nvidia_driver: str
    nvidia_is_open: bool
    iommu: tuple[str, ...]
    ras_listens: bool

    def has_capability(self, bit: int) -> bool:
        """Whether this process has the capability now."""
        return bool(self.capabilities >> bit & 1)

    @property
    def kernel_version(self) -> tuple[int, int]:
        """(6, 8) of 6.8.0-1015-azure; (0, 0) where it is not known."""
        found = re.match(r"(\d{1,4})\.(\d{1,4})", self.kernel)
        return (int(found[1]), int(found[2])) if found else (0, 0)


def system(root: Sysroot) -> System:
    """All of it."""
    status = _fields(root.text("/proc/self/status"))
    soft, hard, knows = locked_limits(root.text("/proc/self/limits"))
    memory_kib = whole_number(_fields(root.text("/proc/meminfo")).get("MemTotal", ""))
    shm, is_half = _shm(root.text("/proc/self/mountinfo"), memory_kib)
    version = root.text("/proc/driver/nvidia/version").partition("\n")[0]
    driver = re.search(r"\b\d{3,4}\.\d{1,3}(\.\d{1,3})?\b", version)
    return System(
        kernel=root.line("/proc/sys/kernel/osrelease"),
        container=next((word for path, word in _CONTAINERS if root.exists(path)), ""),
        processors=numbers_of_list(status.get("Cpus_allowed_list", "")),
        n_processors=len(numbers_of_list(root.text("/sys/devices/system/cpu/online"))),
        memory_nodes=numbers_of_list(status.get("Mems_allowed_list", "")),
        n_numa_nodes=len(numbers_of_list(root.text("/sys/devices/system/node/online"))),
        memory_kib=memory_kib,
        locked_soft_bytes=soft,
        locked_hard_bytes=hard,
        knows_limits=knows,
        capabilities=_hexadecimal(status.get("CapEff", "")),
        shm_bytes=shm,
        shm_is_half_of_memory=is_half,
        huge_pages=_huge_pages(root),
        transparent_huge_pages=_chosen(root.line("/sys/kernel/mm/transparent_hugepage/enabled")),
        numa_balancing=whole_number(root.text("/proc/sys/kernel/numa_balancing")),
        unprivileged_userfaultfd=whole_number(root.text("/proc/sys/vm/unprivileged_userfaultfd")),
        rdma_limits=_rdma_limits(root),
        modules={
            name: root.line(f"/sys/module/{name}/version")
            for name in MODULES
            if root.exists(f"/sys/module/{name}")
        },
        nvidia_driver=driver[0] if driver is not None else "",
        nvidia_is_open="Open Kernel Module" in version,
        iommu=root.names("/sys/class/iommu"),
        ras_listens=_listens(root, RAS_PORT),
    )


def _fields(text: str) -> dict[str, str]:
    pairs = (line.partition(":") for line in text.splitlines())
    return {name.strip(): value.strip() for name, _, value in pairs}


def _hexadecimal(text: str) -> int:
    return int(text, 16) if re.fullmatch("[0-9a-fA-F]{1,32}", text) else 0


def locked_limits(limits: str) -> tuple[int | None, int | None, bool]:
    """(soft, hard, whether the line is there) of `Max locked memory  65536  unlimited  bytes`."""
    found = re.search(r"^Max locked memory\s+(\S+)\s+(\S+)", limits, re.MULTILINE)
    if found is None:
        return None, None, False
    soft, hard = (whole_number(word) for word in found.groups())
    return soft, hard, True


def _shm(mountinfo: str, memory_kib: int | None) -> tuple[int | None, bool]:
    """(bytes of the file system at /dev/shm, whether it has no size of its own).

    SOURCE: tmpfs(5): a size without unit is bytes; without one it may hold half of the memory.
    proc_pid_mountinfo(5): the mount point is the fifth word, the options of the file system follow
    the dash.
    """
    for line in reversed(mountinfo.splitlines()):
        before, dash, behind = line.partition(" - ")
        words = before.split(" ")
        if not dash or len(words) < 5 or words[4] != SHM or len(behind.split(" ")) < 3:
            continue
        size = _SHM_SIZE.search(behind.split(" ")[2])
        if size is not None and len(size[1]) < 20:
            return int(size[1]) * _FACTOR[size[2].lower()], False
        return (memory_kib * 512 if memory_kib is not None else None), True
    return None, False


def _huge_pages(root: Sysroot) -> dict[int, tuple[int, int]]:
    folder = "/sys/kernel/mm/hugepages"
    found = {}
    for name in root.names(folder):
        size = re.fullmatch(r"hugepages-(\d{1,12})kB", name)
        number = whole_number(root.text(f"{folder}/{name}/nr_hugepages"))
        free = whole_number(root.text(f"{folder}/{name}/free_hugepages"))
        if size is not None and number:
            found[int(size[1])] = (number, free or 0)
    return found


def _chosen(text: str) -> str:
    """`madvise` of `always [madvise] never`."""
    found = re.search(r"\[(\w+)\]", text)
    return found[1] if found is not None else ""


def _rdma_limits(root: Sysroot) -> tuple[str, ...]:
    """Lines such as `mlx5_0 hca_handle=2 hca_object=2000`, of this process's control group.

    SOURCE: torvalds/linux, Documentation/admin-guide/cgroup-v2.rst, RDMA.
    """
    groups = re.findall(r"^0::(/\S*)$", root.text("/proc/self/cgroup"), re.MULTILINE)
    folder = groups[0].rstrip("/") if groups and ".." not in groups[0] else ""
    lines = root.text(f"/sys/fs/cgroup{folder}/rdma.max").splitlines()
    return tuple(line for line in lines if re.search(r"=\d", line))


def _listens(root: Sysroot, port: int) -> bool:
    """SOURCE: proc_pid_net(5): the second word is address:port, the fourth the state."""
    for table in ("/proc/self/net/tcp", "/proc/self/net/tcp6"):
        for line in root.text(table).splitlines()[1:]:
            words = line.split()
            if len(words) > 3 and words[3] == _LISTENS and words[1].endswith(f":{port:04X}"):
                return True
    return False
