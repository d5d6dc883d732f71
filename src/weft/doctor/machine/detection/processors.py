"""Processors, NUMA nodes and memory of a host, from /sys, /proc and lscpu."""

import re

from weft.core.natural import natural_key
from weft.doctor.machine.detection.commands import CommandOutput, source_of
from weft.doctor.machine.detection.model import ProcessorFacts
from weft.doctor.machine.sysroot import Sysroot, numbers_of_list, whole_number

CPUS = "/sys/devices/system/cpu"
NODES = "/sys/devices/system/node/online"
CPUINFO = "/proc/cpuinfo"
MEMINFO = "/proc/meminfo"
_CPUINFO_BYTES = 1 << 13
"""The first processor is enough: a file of 256 processors takes the kernel 10 ms."""
_MOST_KIB = 1 << 50
_VENDORS = {"GenuineIntel": "intel", "AuthenticAMD": "amd", "HygonGenuine": "amd"}
_CPU = re.compile(r"cpu\d{1,5}")


def processors_of(root: Sysroot, commands: CommandOutput) -> ProcessorFacts:
    """All of it; 0, None and "" where nothing tells it."""
    cores, sockets = _cores(root)
    memory_kib = _field(root.text(MEMINFO), "MemTotal")
    kib = whole_number(memory_kib) if memory_kib else None
    has_memory = kib is not None and 0 < kib < _MOST_KIB
    vendor, model, source = _model(root, commands)
    topology = f"{CPUS}/cpu*/topology"
    return ProcessorFacts(
        cores=cores,
        cpus=len(numbers_of_list(root.line(f"{CPUS}/online"))),
        sockets=sockets,
        numa_nodes=len(numbers_of_list(root.line(NODES))),
        memory_gb=round(kib * 1024 / 1e9, 1) if has_memory and kib is not None else None,
        vendor=vendor,
        model=model,
        sources={
            "cores": f"{topology}/thread_siblings_list: different ones",
            "cpus": f"{CPUS}/online",
            "sockets": f"{topology}/physical_package_id: different ones",
            "numa_nodes": NODES,
            "memory": f"{MEMINFO}: MemTotal",
            "model": source,
        },
    )


def _cores(root: Sysroot) -> tuple[int, int]:
    """(physical cores, sockets): threads of one core have one list of siblings."""
    first: dict[str, str] = {}
    names = (name for name in root.names(CPUS) if _CPU.fullmatch(name))
    for name in sorted(names, key=natural_key):
        siblings = root.line(f"{CPUS}/{name}/topology/thread_siblings_list")
        if siblings:
            first.setdefault(siblings, name)
    packages = {root.line(f"{CPUS}/{name}/topology/physical_package_id") for name in first.values()}
    return len(first), len(packages - {""})


def _model(root: Sysroot, commands: CommandOutput) -> tuple[str, str, str]:
    """(vendor as the platform document names it, model name, source). Arm's /proc/cpuinfo has no
    model name, lscpu knows it."""
    text = root.content(CPUINFO, _CPUINFO_BYTES).decode("utf-8", "replace")
    vendor = _VENDORS.get(_field(text, "vendor_id"), "")
    if _field(text, "CPU implementer"):
        vendor = "arm"
    model = _printable(_field(text, "model name"))
    if model or not vendor:
        return vendor, model, CPUINFO
    return vendor, _printable(_field(commands.text("lscpu"), "Model name")), source_of("lscpu")


def _field(text: str, key: str) -> str:
    """The value of the first line `key : value`."""
    found = re.search(rf"^{re.escape(key)}\s*:[ \t]*(.*)$", text, re.MULTILINE)
    return found[1].strip() if found is not None else ""


def _printable(text: str) -> str:
    return "".join(c for c in text[:100] if c.isprintable())
