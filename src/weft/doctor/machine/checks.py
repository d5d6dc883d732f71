"""Rules over a machine: faults that keep jobs from the fabric."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TypeVar

from weft.catalog.libraries.setting_rules import SettingRule, machine_rules
from weft.core.finding import Finding, FindingKind, Severity, worst_first
from weft.core.nodeset import fold
from weft.core.units import format_size_roughly
from weft.core.words import counted
from weft.doctor.facts import MachineFacts
from weft.doctor.machine.adapters import Adapter, AdapterKind, Port
from weft.doctor.machine.machine import Machine
from weft.doctor.machine.pci import Vendor
from weft.doctor.machine.system import CAP_IPC_LOCK, CAP_SYS_PTRACE

LINK_ERRORS = (
    "symbol_error",
    "link_error_recovery",
    "port_rcv_errors",
    "local_link_integrity_errors",
    "excessive_buffer_overrun_errors",
)
ENOUGH_SHM_BYTES = 1 << 30
"""SOURCE: NVIDIA, NCCL user guide, Runtime and MPI issues, Docker: --shm-size=1g."""
ENOUGH_READ_REQUEST_BYTES = 4096
USER_MODE_FAULTS = (5, 11)
"""The first Linux of which every user may have userfaultfd for faults of user mode. SOURCE:
torvalds/linux, Documentation/admin-guide/sysctl/vm.rst: unprivileged_userfaultfd."""
_DRIVERS = {Vendor.MELLANOX: "mlx5_ib", Vendor.CRAY: "cxi_ss1", Vendor.AMAZON: "efa"}


@dataclass(frozen=True, slots=True)
class Problem:
    """A fault that a rule found. `about` is the part of the machine: adapters, P_Keys, PCIe,
    errors, access, GPUs, memory."""

    rule: SettingRule
    about: str
    words: Mapping[str, str]

    @property
    def happens(self) -> str:
        """The fault, in one sentence."""
        return self.rule.happens.format_map(self.words)

    @property
    def fix(self) -> str:
        """The correction, in words."""
        return self.rule.fix.format_map(self.words)

    @property
    def severity(self) -> Severity:
        """The severity of its rule."""
        return Severity(self.rule.severity)

    def to_finding(self) -> Finding:
        """The problem as weft's finding."""
        return Finding(
            FindingKind.MIS_SETTING,
            self.severity,
            self.happens,
            (f"fix: {self.fix}", f"source: {self.rule.cited}"),
            facts=MachineFacts(self.rule.id, self.about, self.fix, self.words),
        )


def problems(machine: Machine) -> list[Problem]:
    """All faults, worst first."""
    rules = machine_rules()
    found = [
        Problem(rules[rule], about, words)
        for about, check in _CHECKS
        for rule, words in check(machine)
    ]
    return list(worst_first(found))


_Found = Iterator[tuple[str, dict[str, str]]]
_Key = TypeVar("_Key")


def rails(machine: Machine) -> tuple[Adapter, ...]:
    """The adapters that carry data: those of a fast network, or else RoCE's."""
    return machine.fast or machine.adapters


def grouped(pairs: Iterable[tuple[_Key, str]]) -> dict[_Key, list[str]]:
    """Names by key, in the order of their first."""
    groups: dict[_Key, list[str]] = {}
    for key, name in pairs:
        groups.setdefault(key, []).append(name)
    return groups


def _named(names: Sequence[str], shown: str = "") -> dict[str, str]:
    return {"devices": shown or fold(names), "is": "is" if len(names) == 1 else "are"}


def _listed(names: Sequence[str], most: int | None = None) -> dict[str, str]:
    """The first names, and how many more there are."""
    more = f" and {len(names) - most} more" if most is not None and len(names) > most else ""
    return _named(names, ", ".join(names[:most]) + more)


def _names(adapters: Iterable[Adapter]) -> list[str]:
    return [one.name for one in adapters]


def _drivers(machine: Machine) -> _Found:
    for vendor, devices in groupby(machine.driverless, key=lambda one: one.vendor):
        addresses = [one.address for one in devices]
        words = {"it": "it" if len(addresses) == 1 else "them"}
        words["module"] = _DRIVERS[Vendor(vendor)]
        yield "no-driver", _listed(addresses, 3) | words


def _ports(machine: Machine) -> _Found:
    pairs = [(one, port) for one in rails(machine) for port in one.ports]
    is_active = any(port.is_active for _, port in pairs)
    waiting = grouped((port.state, one.name) for one, port in pairs if _waits(port))
    for state, names in sorted(waiting.items()):
        yield "no-subnet-manager", _named(names) | {"state": state}
    down = grouped(
        (_state(port), f"{one.name}:{port.number}")
        for one, port in pairs
        if port.is_known and not port.is_active and not _waits(port)
    )
    if is_active:
        for state, names in sorted(down.items()):
            yield "port-down", _listed(names) | {"state": state}
    elif down and not waiting and all(port.is_known for _, port in pairs):
        words = {"number": counted(len(pairs), "port"), "states": ", ".join(sorted(down))}
        yield "no-active-port", words
    yield from _slower(pairs)


def _waits(port: Port) -> bool:
    """Whether a port has a link and no subnet manager has activated it."""
    return port.state in ("INIT", "ARMED") and port.physical_state == "LinkUp"


def _state(port: Port) -> str:
    return f"{port.state} ({port.physical_state})" if port.physical_state else port.state


def _slower(pairs: list[tuple[Adapter, Port]]) -> _Found:
    """Among active ports of one kind and board."""
    boards: dict[tuple[AdapterKind, str, int], list[tuple[Adapter, Port]]] = {}
    for one, port in pairs:
        if port.is_active and port.rate_gbps > 0:
            key = (one.kind, one.board, one.pci.device if one.pci is not None else 0)
            boards.setdefault(key, []).append((one, port))
    for of_board in boards.values():
        best = max((port for _, port in of_board), key=lambda port: port.rate_gbps)
        slow = grouped(
            (port.rate, one.name) for one, port in of_board if port.rate_gbps < best.rate_gbps
        )
        for rate, names in sorted(slow.items()):
            yield "slower-port", _named(names) | {"rate": rate, "best": best.rate}


def _p_keys(machine: Machine) -> _Found:
    tables = grouped(
        (port.p_keys, one.name)
        for one in machine.adapters
        for port in one.ports
        if one.kind is AdapterKind.INFINIBAND and port.p_keys
    )
    for keys, names in tables.items():
        full = [key for key in keys if key.is_full]
        first = next((key for key in keys if key.index == 0), None)
        if not full:
            shown = ", ".join(f"{key.value:#06x}" for key in keys[:4])
            yield "no-full-member", _named(names) | {"keys": shown}
        elif first is None or not first.is_full:
            words = {"first": f"{first.value:#06x}" if first is not None else "nothing"}
            words |= {"index": str(full[0].index), "key": f"{full[0].value:#06x}"}
            yield "limited-at-0", _named(names) | words


def _gids(machine: Machine) -> _Found:
    """Where RoCE carries the data. Every port has one of version 1; of version 2, one with an IP
    address of its interface."""
    bare = [
        one
        for one in rails(machine)
        if one.kind is AdapterKind.ETHERNET
        and one.active
        and not any(gid.kind == "RoCE v2" for port in one.active for gid in port.gids)
    ]
    if bare:
        yield "no-routable-gid", _named(_names(bare))


def _pcie(machine: Machine) -> _Found:
    narrow: list[tuple[tuple[str, str, str, str], str]] = []
    trained: list[tuple[tuple[str, str], str]] = []
    for one in rails(machine):
        pci = one.pci
        if pci is None or pci.is_virtual_function or not pci.link.rate_gbps:
            continue
        link, most = str(pci.link), str(pci.most_link)
        rate_gbps = max((port.rate_gbps for port in one.active), default=0)
        if rate_gbps > pci.link.rate_gbps:
            carries = f"{pci.link.rate_gbps:.0f}"
            narrow.append(((link, carries, f"{rate_gbps:g}", most), one.name))
        elif pci.link.rate_gbps < pci.most_link.rate_gbps:
            trained.append(((link, most), one.name))
    for gpu in machine.gpus:
        # An idle GPU lowers its speed, never its lanes.
        if 0 < gpu.link.lanes < gpu.most_link.lanes:
            trained.append(((str(gpu.link), str(gpu.most_link)), f"GPU {gpu.address}"))
    for (link, carries, rate, most), names in grouped(narrow).items():
        words = {"link": link, "carries": carries, "rate": rate, "most": most}
        yield "narrow-pcie", _named(names) | words
    for (link, most), names in grouped(trained).items():
        yield "trained-down-pcie", _listed(names) | {"link": link, "most": most}
    small = grouped(
        (one.pci.config.max_read_request_bytes, one.name)
        for one in rails(machine)
        if one.pci is not None
        and one.pci.config is not None
        and one.pci.config.max_read_request_bytes < ENOUGH_READ_REQUEST_BYTES
    )
    for n_bytes, names in small.items():
        reads = "reads" if len(names) == 1 else "read"
        yield "small-read-request", _named(names) | {"reads": reads, "bytes": str(n_bytes)}


def _processors(machine: Machine) -> _Found:
    mine = machine.system.processors
    far = grouped(
        (fold([str(number) for number in one.pci.local_cpus]), one.name)
        for one in rails(machine)
        if one.pci is not None and one.pci.local_cpus and mine and not one.pci.local_cpus & mine
    )
    for processors, names in far.items():
        yield "far-processors", _named(names) | {"processors": processors.strip("[]")}


def _errors(machine: Machine) -> _Found:
    for one in rails(machine):
        for port in one.ports:
            errors = [(name, port.counters.get(name)) for name in LINK_ERRORS]
            shown = ", ".join(f"{name} {number}" for name, number in errors if number)
            if shown:
                yield "errors-counted", {"devices": f"{one.name}:{port.number}", "counters": shown}


def _nodes(machine: Machine) -> _Found:
    missing = [one for one in rails(machine) if not one.has_node]
    if missing:
        verbs = any(one.kind is not AdapterKind.SLINGSHOT for one in missing)
        option = "--device=/dev/infiniband" if verbs else "--device=/dev/cxi0 and so on"
        fix = "modprobe ib_uverbs" if verbs else "modprobe cxi_user"
        if machine.system.container:
            fix = f"start the container with {option}"
        nodes = fold([one.node for one in missing if one.node]) or "/dev/infiniband/uverbs*"
        yield "no-node", _named(_names(missing)) | {"nodes": nodes, "fix": fix}
    closed = [one for one in rails(machine) if one.has_node and not one.may_open]
    if closed:
        nodes = fold([one.node for one in closed])
        yield "node-closed", _named(_names(closed)) | {"nodes": nodes}


def _limits(machine: Machine) -> _Found:
    here = machine.system
    verbs = any(one.kind is not AdapterKind.SLINGSHOT for one in rails(machine))
    soft = here.locked_soft_bytes
    memory_bytes = here.memory_kib << 10 if here.memory_kib is not None else None
    is_limit = soft is not None and (memory_bytes is None or soft < memory_bytes)
    if verbs and soft is not None and is_limit and not here.has_capability(CAP_IPC_LOCK):
        yield "locked-memory", {"limit": format_size_roughly(soft), "fix": _fix_of_limit(machine)}
    if here.rdma_limits:
        yield "few-handles", {"limits": "; ".join(here.rdma_limits)}
    has_use = bool(rails(machine) or machine.gpus)
    if has_use and here.shm_bytes is not None and here.shm_bytes < ENOUGH_SHM_BYTES:
        fix = "mount -o remount,size=50% /dev/shm"
        if here.container:
            fix = "start the container with --shm-size=1g or more, or --ipc=host"
        yield "small-shm", {"size": format_size_roughly(here.shm_bytes), "fix": fix}


def _fix_of_limit(machine: Machine) -> str:
    here = machine.system
    if here.container:
        return "start the container with --ulimit memlock=-1"
    if here.locked_hard_bytes is None:
        return "ulimit -l unlimited before the job starts"
    return (
        "memlock unlimited in /etc/security/limits.conf, LimitMEMLOCK=infinity for the scheduler's "
        "daemon"
    )


def _gpu_direct(machine: Machine) -> _Found:
    here = machine.system
    if not machine.gpus or not rails(machine):
        return
    peer = {"nvidia_peermem", "nv_peer_mem"} & set(here.modules)
    if machine.has_nvidia and here.nvidia_driver and not peer and not has_dma_buf(machine):
        yield "no-gpu-direct", {}
    modes = [(f"GPU {gpu.address}", gpu.iommu) for gpu in machine.gpus]
    modes += [(one.name, one.pci.iommu) for one in rails(machine) if one.pci is not None]
    behind = [(name, mode) for name, mode in modes if mode.startswith("DMA")]
    if behind:
        names = [name for name, _ in behind]
        yield "iommu-translates", _listed(names, 3) | {"mode": behind[0][1]}
    upwards = [one.address for one in machine.bridges if one.config and one.config.acs_redirects]
    if upwards:
        number = {"number": counted(len(upwards), "bridge")}
        yield "acs-redirects", number | {"devices": _listed(upwards, 3)["devices"]}


def has_dma_buf(machine: Machine) -> bool:
    """Whether GPU memory can be registered as a DMA-BUF: NVIDIA's open driver, Linux 5.12."""
    return machine.system.nvidia_is_open and machine.system.kernel_version >= (5, 12)


def _monitors(machine: Machine) -> _Found:
    here = machine.system
    slingshot = any(one.kind is AdapterKind.SLINGSHOT for one in machine.adapters)
    if slingshot and here.unprivileged_userfaultfd == 0 and not here.has_capability(CAP_SYS_PTRACE):
        is_all_closed = here.kernel_version < USER_MODE_FAULTS
        yield "no-userfaultfd" if is_all_closed else "userfaultfd-of-user-mode", {}
    if here.numa_balancing and here.n_numa_nodes > 1:
        yield "numa-balancing", {}


_CHECKS: tuple[tuple[str, Callable[[Machine], _Found]], ...] = (
    ("adapters", _drivers),
    ("adapters", _ports),
    ("P_Keys", _p_keys),
    ("adapters", _gids),
    ("PCIe", _pcie),
    ("PCIe", _processors),
    ("errors", _errors),
    ("access", _nodes),
    ("access", _limits),
    ("GPUs", _gpu_direct),
    ("memory", _monitors),
)
