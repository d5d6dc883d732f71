"""What keeps jobs from the fabric: rules over a machine."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from weft.catalog.libraries.setting_rules import SettingRule, machine_rules
from weft.core.finding import Finding, FindingKind, Severity, worst_first
from weft.core.nodeset import fold
from weft.core.units import format_size_roughly
from weft.core.words import counted
from weft.doctor.facts import MachineFacts
from weft.doctor.machine.adapters import Adapter, AdapterKind, PKey, Port
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
_DRIVERS = {
    AdapterKind.INFINIBAND: "mlx5_ib",
    AdapterKind.SLINGSHOT: "cxi_ss1",
    AdapterKind.EFA: "efa",
}
_KIND_OF_VENDOR = {
    Vendor.MELLANOX: AdapterKind.INFINIBAND,
    Vendor.CRAY: AdapterKind.SLINGSHOT,
    Vendor.AMAZON: AdapterKind.EFA,
}


@dataclass(frozen=True, slots=True)
class Problem:
    """What a rule found. `about` is the part of the machine: adapters, P_Keys, PCIe, errors,
    access, GPUs, memory."""

    rule: SettingRule
    about: str
    words: Mapping[str, str]

    @property
    def happens(self) -> str:
        """What is wrong, in one sentence."""
        return self.rule.happens.format_map(self.words)

    @property
    def fix(self) -> str:
        """What to do about it."""
        return self.rule.fix.format_map(self.words)

    @property
    def severity(self) -> Severity:
        """How it counts."""
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
    """All that is wrong, worst first."""
    rules = machine_rules()
    found = [
        Problem(rules[rule], about, words)
        for about, check in _CHECKS
        for rule, words in check(machine)
    ]
    return list(worst_first(found))


_Found = Iterator[tuple[str, dict[str, str]]]


def rails(machine: Machine) -> tuple[Adapter, ...]:
    """The adapters that carry data: those of a fast network, or else RoCE's."""
    return machine.fast or machine.adapters


def _named(adapters: Iterable[Adapter]) -> dict[str, str]:
    names = [one.name for one in adapters]
    return {"devices": fold(names), "is": "is" if len(names) == 1 else "are"}


def _some(names: Sequence[str]) -> str:
    """The first three, and how many more there are."""
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more


def _drivers(machine: Machine) -> _Found:
    for vendor, devices in groupby(machine.driverless, key=lambda one: one.vendor):
        addresses = [one.address for one in devices]
        one = len(addresses) == 1
        yield (
            "no-driver",
            {
                "devices": _some(addresses),
                "is": "is" if one else "are",
                "it": "it" if one else "them",
                "module": _DRIVERS[_KIND_OF_VENDOR[Vendor(vendor)]],
            },
        )


def _ports(machine: Machine) -> _Found:
    pairs = [(one, port) for one in rails(machine) for port in one.ports]
    waiting = [
        pair
        for pair in pairs
        if pair[1].state in ("INIT", "ARMED") and pair[1].physical_state == "LinkUp"
    ]
    for state in sorted({port.state for _, port in waiting}):
        yield (
            "no-subnet-manager",
            {
                **_named(one for one, port in waiting if port.state == state),
                "state": state,
            },
        )
    down = [pair for pair in pairs if not pair[1].is_active and pair not in waiting]
    if down and not any(port.is_active for _, port in pairs) and not waiting:
        states = sorted({_state(port) for _, port in down})
        yield (
            "no-active-port",
            {
                "number": counted(len(pairs), "port"),
                "states": ", ".join(states),
            },
        )
    elif any(port.is_active for _, port in pairs):
        for state in sorted({_state(port) for _, port in down}):
            ports = [f"{one.name}:{port.number}" for one, port in down if _state(port) == state]
            yield (
                "port-down",
                {
                    "devices": ", ".join(ports),
                    "is": "is" if len(ports) == 1 else "are",
                    "state": state,
                },
            )
    yield from _slower(pairs)


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
        for rate in sorted({port.rate for _, port in of_board if port.rate_gbps < best.rate_gbps}):
            slow = [one for one, port in of_board if port.rate == rate]
            yield "slower-port", {**_named(slow), "rate": rate, "best": best.rate}


def _p_keys(machine: Machine) -> _Found:
    tables: dict[tuple[PKey, ...], list[Adapter]] = {}
    for one in machine.adapters:
        if one.kind is AdapterKind.INFINIBAND:
            for port in one.ports:
                if port.p_keys:
                    tables.setdefault(port.p_keys, []).append(one)
    for keys, owners in tables.items():
        full = [key for key in keys if key.is_full]
        first = next((key for key in keys if key.index == 0), None)
        if not full:
            shown = ", ".join(f"{key.value:#06x}" for key in keys[:4])
            yield "no-full-member", {**_named(owners), "keys": shown}
        elif first is None or not first.is_full:
            yield (
                "limited-at-0",
                {
                    **_named(owners),
                    "first": f"{first.value:#06x}" if first is not None else "nothing",
                    "index": str(full[0].index),
                    "key": f"{full[0].value:#06x}",
                },
            )


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
        yield "no-routable-gid", _named(bare)


def _pcie(machine: Machine) -> _Found:
    narrow: dict[tuple[str, str, str, str], list[Adapter]] = {}
    trained: dict[tuple[str, str], list[str]] = {}
    for one in rails(machine):
        pci = one.pci
        if pci is None or pci.is_virtual_function or not pci.link.rate_gbps:
            continue
        rate_gbps = max((port.rate_gbps for port in one.active), default=0)
        if rate_gbps > pci.link.rate_gbps:
            carries = f"{pci.link.rate_gbps:.0f}"
            key = (str(pci.link), carries, f"{rate_gbps:g}", str(pci.most_link))
            narrow.setdefault(key, []).append(one)
        elif pci.link.rate_gbps < pci.most_link.rate_gbps:
            trained.setdefault((str(pci.link), str(pci.most_link)), []).append(one.name)
    for gpu in machine.gpus:
        # An idle GPU lowers its speed, never its lanes.
        if 0 < gpu.link.lanes < gpu.most_link.lanes:
            key_of_gpu = (str(gpu.link), str(gpu.most_link))
            trained.setdefault(key_of_gpu, []).append(f"GPU {gpu.address}")
    for (link, carries, rate, most), owners in narrow.items():
        words = {"link": link, "carries": carries, "rate": rate, "most": most}
        yield "narrow-pcie", _named(owners) | words
    for (link, most), names in trained.items():
        is_are = "is" if len(names) == 1 else "are"
        yield "trained-down-pcie", {
            "devices": ", ".join(names), "is": is_are, "link": link, "most": most
        }  # fmt: skip
    yield from _small_reads(machine)


def _small_reads(machine: Machine) -> _Found:
    small: dict[int, list[Adapter]] = {}
    for one in rails(machine):
        config = one.pci.config if one.pci is not None else None
        if config is not None and config.max_read_request_bytes < ENOUGH_READ_REQUEST_BYTES:
            small.setdefault(config.max_read_request_bytes, []).append(one)
    for n_bytes, owners in small.items():
        reads = "reads" if len(owners) == 1 else "read"
        yield "small-read-request", {**_named(owners), "reads": reads, "bytes": str(n_bytes)}


def _processors(machine: Machine) -> _Found:
    mine = machine.system.processors
    far: dict[str, list[Adapter]] = {}
    for one in rails(machine):
        near = one.pci.local_cpus if one.pci is not None else frozenset()
        if near and mine and not near & mine:
            far.setdefault(fold([str(number) for number in near]), []).append(one)
    for processors, owners in far.items():
        yield "far-processors", {**_named(owners), "processors": processors.strip("[]")}


def _errors(machine: Machine) -> _Found:
    for one in rails(machine):
        for port in one.ports:
            counted_ones = [f"{name} {port.counters[name]}" for name in LINK_ERRORS
                            if port.counters.get(name)]  # fmt: skip
            if counted_ones:
                yield (
                    "errors-counted",
                    {
                        "devices": f"{one.name}:{port.number}",
                        "counters": ", ".join(counted_ones),
                    },
                )


def _nodes(machine: Machine) -> _Found:
    missing = [one for one in rails(machine) if not one.has_node]
    if missing:
        verbs = any(one.kind is not AdapterKind.SLINGSHOT for one in missing)
        option = "--device=/dev/infiniband" if verbs else "--device=/dev/cxi0 and so on"
        module = "ib_uverbs" if verbs else "cxi_user"
        in_container = f"start the container with {option}"
        yield (
            "no-node",
            {
                **_named(missing),
                "nodes": fold([one.node for one in missing if one.node])
                or "/dev/infiniband/uverbs*",
                "fix": in_container if machine.system.container else f"modprobe {module}",
            },
        )
    closed = [one for one in rails(machine) if one.has_node and not one.may_open]
    if closed:
        yield "node-closed", {**_named(closed), "nodes": fold([one.node for one in closed])}


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
    shm_bytes = here.shm_bytes
    has_use = bool(rails(machine) or machine.gpus)
    if has_use and shm_bytes is not None and shm_bytes < ENOUGH_SHM_BYTES:
        fix = "mount -o remount,size=50% /dev/shm"
        in_container = "start the container with --shm-size=1g or more, or --ipc=host"
        words = {
            "size": format_size_roughly(shm_bytes),
            "fix": in_container if here.container else fix,
        }
        yield "small-shm", words


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
    named = [("GPU " + gpu.address, gpu.iommu) for gpu in machine.gpus]
    named += [(one.name, one.pci.iommu) for one in rails(machine) if one.pci is not None]
    behind = [(name, mode) for name, mode in named if mode.startswith("DMA")]
    if behind:
        is_are = "is" if len(behind) == 1 else "are"
        devices = _some([name for name, _ in behind])
        words = {"devices": devices, "is": is_are, "mode": behind[0][1]}
        yield "iommu-translates", words
    upwards = [one.address for one in machine.bridges if one.config and one.config.acs_redirects]
    if upwards:
        words = {"number": counted(len(upwards), "bridge"), "devices": _some(upwards)}
        yield "acs-redirects", words


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
