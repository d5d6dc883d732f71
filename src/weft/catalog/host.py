"""Facts about the machine this runs on, as figures."""

import os
from pathlib import Path

from weft.catalog.document import Figure, SourceClass
from weft.catalog.platform import Platform


def with_facts_of_this_host(platform: Platform) -> Platform:
    """The document with what the operating system tells about this host."""
    return platform.model_copy(update={"node": {**platform.node, **_facts()}})


def _facts() -> dict[str, Figure]:
    n_cpus = len(os.sched_getaffinity(0))
    facts = {"cores": _figure(n_cpus, "CPUs", "CPUs this process may run on")}
    memory_gb = _memory_gb(Path("/proc/meminfo"))
    if memory_gb is not None:
        facts["memory"] = _figure(memory_gb, "GB", "MemTotal of /proc/meminfo")
    facts["hcas"] = _figure(_n_entries(Path("/sys/class/infiniband")), "HCAs", "InfiniBand devices")
    return facts


def _figure(value: float, unit: str, what: str) -> Figure:
    source = f"the operating system of this host: {what}"
    fields = {"value": value, "unit": unit, "class": SourceClass.SOURCED, "source": source}
    return Figure.model_validate(fields)


def _memory_gb(meminfo: Path) -> float | None:
    try:
        lines = meminfo.read_text().splitlines()
    except OSError:
        return None
    for line in lines:
        words = line.split()
        if len(words) >= 2 and words[0] == "MemTotal:":
            return round(int(words[1]) * 1024 / 1e9, 1)
    return None


def _n_entries(folder: Path) -> int:
    try:
        return len(list(folder.iterdir()))
    except OSError:
        return 0
