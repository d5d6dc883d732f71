"""A machine in a few lines: the verdict, then a fact a line, with its faults and their fixes."""

from collections.abc import Sequence

from weft.core.finding import Severity, cannot_tell, verdict_of
from weft.core.nodeset import fold
from weft.core.units import format_size_roughly
from weft.core.words import counted
from weft.doctor.machine.adapters import Adapter, AdapterKind, PKey, Port
from weft.doctor.machine.checks import LINK_ERRORS, Problem, grouped, has_dma_buf, rails
from weft.doctor.machine.coverage import coverage_of
from weft.doctor.machine.machine import Machine
from weft.doctor.machine.system import SHM

SHOWN_KEYS = 3
MOST_CHARACTERS = 1000
"""Of a line. A tree may hold anything; that of a machine has shorter ones."""
_WORDS = {Severity.BAD: "BAD", Severity.WARNING: "WARN", Severity.GOOD: "GOOD"}


def machine_verdict(machine: Machine, found: Sequence[Problem]) -> Severity:
    """BAD with a fault; else UNKNOWN where a file is missing that could show one."""
    worst = verdict_of(found)
    return worst if worst is Severity.BAD or not coverage_of(machine).gaps else Severity.UNKNOWN


def machine_lines(machine: Machine, found: Sequence[Problem]) -> list[str]:
    """At most ten lines, and one that says what would have shown. Notes are left to the record."""
    facts = {
        "machine": _machine(machine),
        "adapters": _adapters(machine),
        "P_Keys": _p_keys(machine),
        "PCIe": _pcie(machine),
        "errors": _errors(machine),
        "access": _access(machine),
        "GPUs": _gpus(machine),
        "memory": _memory(machine),
    }
    lines = [_verdict(machine, found)]
    if machine_verdict(machine, found) in (Severity.GOOD, Severity.WARNING):
        lines.append(f"would show: {'; '.join(coverage_of(machine).would_show)}")
    for label, fact in facts.items():
        wrong = [one for one in found if one.about == label and one.severity is not Severity.NOTE]
        lines.append("; ".join([f"{label:<9} {fact}", *_problems(wrong)]))
    return [*map(_cut, lines), f"{'next':<9} {_next(machine)}"]


def _cut(line: str) -> str:
    whole = len(line) <= MOST_CHARACTERS
    return line if whole else f"{line[:MOST_CHARACTERS]}...; --format json has the whole line"


def _problems(wrong: Sequence[Problem]) -> list[str]:
    shown = [f"{_WORDS[one.severity]}: {one.happens}; fix: {one.fix}" for one in wrong[:2]]
    more = len(wrong) - len(shown)
    return [*shown, f"{more} more: --format json"] if more else shown


def _verdict(machine: Machine, found: Sequence[Problem]) -> str:
    worst = machine_verdict(machine, found)
    number = sum(one.severity is worst for one in found)
    if worst is Severity.BAD:
        first = next(one for one in found if one.severity is worst)
        what = "thing keeps" if number == 1 else "things keep"
        return f"BAD   {number} {what} jobs from the fabric: {first.rule.title}"
    if worst is Severity.UNKNOWN:
        gaps = coverage_of(machine).gaps
        asked = "; ".join(gap for gap, _ in gaps)
        return f"UNKNOWN  {cannot_tell(asked, ', '.join(files for _, files in gaps))}"
    if worst is Severity.WARNING:
        return f"WARN  {_ready(machine)}; {counted(number, 'thing')} to look at"
    if not machine.adapters:
        return f"NONE  {_ready(machine)}"
    return f"GOOD  {_ready(machine)}"


def _ready(machine: Machine) -> str:
    active = [one for one in rails(machine) if one.active]
    if not active:
        return "no InfiniBand, Slingshot, EFA or RoCE adapter: jobs here talk over TCP"
    kinds = "/".join(sorted({one.kind.value for one in active}))
    return f"{counted(len(active), f'{kinds} adapter')} ready"


def _machine(machine: Machine) -> str:
    here = machine.system
    parts = [f"Linux {here.kernel or 'of unknown version'}"]
    total = here.n_processors or len(here.processors)
    if total:
        mine = f"{len(here.processors)} of " if 0 < len(here.processors) < total else ""
        parts.append(f"{mine}{counted(total, 'processor')}")
    if here.n_numa_nodes:
        parts.append(counted(here.n_numa_nodes, "NUMA node"))
    if here.memory_kib is not None:
        parts.append(f"{here.memory_kib * 1024 / 1e9:.0f} GB")
    return ", ".join([*parts, f"inside {here.container}"] if here.container else parts)


def _adapters(machine: Machine) -> str:
    groups = grouped(
        ((one.kind.value, _port(one, port)), one.name)
        for one in machine.adapters
        for port in one.ports
    )
    parts = (f"{len(names)} {kind} {port}: {fold(names)}" for (kind, port), names in groups.items())
    return "; ".join(parts) or "none"


def _port(adapter: Adapter, port: Port) -> str:
    function = ", virtual function" if adapter.pci and adapter.pci.is_virtual_function else ""
    state = port.state.lower() if port.is_active else f"{port.state} {port.physical_state}".strip()
    return f"{port.rate} {state}{function}".strip()


def _p_keys(machine: Machine) -> str:
    tables = grouped(
        (port.p_keys, one.name)
        for one in machine.adapters
        for port in one.ports
        if one.kind is AdapterKind.INFINIBAND
    )
    parts = (f"{fold(names)} {_table(keys)}" for keys, names in tables.items())
    return "; ".join(parts) or "none: no InfiniBand port"


def _table(keys: Sequence[PKey]) -> str:
    full = [key.index for key in keys if key.is_full]
    shown = ", ".join(f"{key.index}: {key}" for key in keys[:SHOWN_KEYS])
    more = f" and {len(keys) - SHOWN_KEYS} more" if len(keys) > SHOWN_KEYS else ""
    indices = ", ".join(map(str, full[:SHOWN_KEYS]))
    where = f"full membership at index {indices}" if full else "none full"
    return f"{where} ({shown}{more})" if keys else "empty"


def _pcie(machine: Machine) -> str:
    devices = [(one.name, one.pci) for one in rails(machine) if one.pci is not None]
    links = grouped(
        (str(pci.link) if pci.link.lanes else "link unknown", name) for name, pci in devices
    )
    nodes = grouped((pci.numa_node, name) for name, pci in devices if pci.numa_node is not None)
    parts = [f"{fold(names)} {link}" for link, names in links.items()]
    parts += [f"NUMA {node}: {fold(names)}" for node, names in sorted(nodes.items())]
    return "; ".join(parts) or "no adapter"


def _errors(machine: Machine) -> str:
    counters = [port.counters for one in rails(machine) for port in one.ports if port.counters]
    total = sum(one.get(name, 0) for one in counters for name in LINK_ERRORS)
    if not counters:
        return "no counters"
    ports = counted(len(counters), "port")
    return f"{total} of links on {ports}" if total else f"none of links on {ports}"


def _access(machine: Machine) -> str:
    here = machine.system
    opened = [one.node for one in machine.adapters if one.may_open]
    parts = [f"{fold(opened)} open" if opened else "no device open"]
    if here.knows_limits:
        soft = here.locked_soft_bytes
        parts.append(f"locked memory {'unlimited' if soft is None else format_size_roughly(soft)}")
    if here.shm_bytes is not None:
        half = " (half of memory)" if here.shm_is_half_of_memory else ""
        parts.append(f"{SHM} {format_size_roughly(here.shm_bytes)}{half}")
    return "; ".join(parts)


def _gpus(machine: Machine) -> str:
    here = machine.system
    if not machine.gpus:
        return "none"
    vendor = "NVIDIA" if machine.has_nvidia else "AMD"
    driver = f", driver {here.nvidia_driver}" if here.nvidia_driver else ""
    opened = " (open)" if here.nvidia_is_open else ""
    paths = [name for name in ("nvidia_peermem", "nv_peer_mem") if name in here.modules]
    paths += ["DMA-BUF"] if has_dma_buf(machine) else []
    direct = f"; GPUDirect RDMA by {', '.join(paths)}" if paths else ""
    copy = "; GDRCopy" if "gdrdrv" in here.modules else ""
    return f"{len(machine.gpus)} of {vendor}{driver}{opened}{direct}{copy}"


def _memory(machine: Machine) -> str:
    here = machine.system
    pages = [
        f"{number} huge pages of {format_size_roughly(size_kib << 10)}"
        for size_kib, (number, _) in sorted(here.huge_pages.items())
    ]
    parts = pages or ["no huge pages"]
    if here.transparent_huge_pages:
        parts.append(f"transparent ones {here.transparent_huge_pages}")
    if here.numa_balancing is not None:
        parts.append(f"NUMA balancing {'on' if here.numa_balancing else 'off'}")
    return "; ".join([*parts, f"IOMMU {here.iommu[0]}" if here.iommu else "no IOMMU"])


def _next(machine: Machine) -> str:
    closed = sum("denied" in why or "permitted" in why for why in machine.unread.values())
    partly = len(machine.unread) - closed
    command = "weft doctor env (this environment)" if machine.adapters else "weft bench"
    hidden = f"; {counted(closed, 'file')} only root may read" if closed else ""
    hidden += f"; {counted(partly, 'path')} not wholly read: unread" if partly else ""
    return f"{command}; --format json has everything{hidden}"
