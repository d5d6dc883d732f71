"""Hosts that should be alike: the hardware that most have, and the hosts that differ."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from statistics import median_low

from weft.core.nodeset import fold
from weft.doctor.machine.detection.document import slot_name
from weft.doctor.machine.detection.model import HostHardware

MEMORY_SHARE = 0.03
"""Kernels of equal hosts reserve different shares of the memory."""
_MEMORY = "memory"


@dataclass(frozen=True, slots=True)
class HostDifference:
    """`hosts` have `own` where the most, `n_usual` hosts, have `usual`."""

    figure: str
    own: str
    usual: str
    hosts: tuple[str, ...]
    n_usual: int

    @property
    def sentence(self) -> str:
        """The difference in words."""
        verb = "has" if len(self.hosts) == 1 else "have"
        others = "1 host has" if self.n_usual == 1 else f"{self.n_usual} hosts have"
        return f"{fold(self.hosts)} {verb} {self.figure} {self.own}; {others} {self.usual}"


def majority_of(found: Mapping[str, HostHardware]) -> tuple[str, list[HostDifference]]:
    """(the host that is most like all others, what differs). The first host wins among equals."""
    figures = {host: _figures(hardware) for host, hardware in found.items()}
    memory = _usual_memory(found)
    for host, hardware in found.items():
        gb = hardware.processors.memory_gb
        is_usual = gb is not None and memory is not None and abs(gb / memory - 1) <= MEMORY_SHARE
        shown = memory if is_usual else gb
        figures[host][_MEMORY] = f"{shown:.0f} GB" if shown is not None else "unknown"
    names = list(next(iter(figures.values())))
    usual = {name: _most(own[name] for own in figures.values()) for name in names}
    chosen = max(figures, key=lambda host: sum(figures[host][n] == usual[n] for n in names))
    return chosen, list(_differences(figures, usual))


def _differences(
    figures: Mapping[str, Mapping[str, str]], usual: Mapping[str, str]
) -> Iterator[HostDifference]:
    for name, common in usual.items():
        groups: dict[str, list[str]] = {}
        for host, values in figures.items():
            groups.setdefault(values[name], []).append(host)
        n_usual = len(groups.pop(common))
        for own, hosts in groups.items():
            yield HostDifference(name, own, common, tuple(hosts), n_usual)


def _most(values: Iterator[str]) -> str:
    return Counter(values).most_common(1)[0][0]


def _usual_memory(found: Mapping[str, HostHardware]) -> float | None:
    known = [
        hardware.processors.memory_gb
        for hardware in found.values()
        if hardware.processors.memory_gb is not None
    ]
    return median_low(known) if known else None


def _figures(host: HostHardware) -> dict[str, str]:
    """What is compared, by name, in the order in which it is printed."""
    here, gpus = host.processors, host.gpus
    link = f"{host.rails[0].title} ({host.rails[0].gbps:g} Gb/s)" if host.rails else "none"
    slots = dict.fromkeys(slot_name(r.slot.link) for r in host.rails if r.slot.is_known)
    nodes = [str(r.slot.numa_node) for r in host.rails if r.slot.numa_node is not None]
    mtus = {str(rail.mtu) for rail in host.rails if rail.mtu is not None}
    idle = ", ".join(f"{rail.name} ({rail.state})" for rail in host.idle)
    return {
        "link": link,
        "rails": str(len(host.rails)),
        "idle adapters": idle or "none",
        "slots": ", ".join(slots) or "unknown",
        "NUMA nodes of rails": ", ".join(nodes) or "unknown",
        "MTU": ", ".join(sorted(mtus)) or "unknown",
        "cores": str(here.cores or "unknown"),
        "CPUs": str(here.cpus or "unknown"),
        "NUMA nodes": str(here.numa_nodes or "unknown"),
        "processor": here.model or "unknown",
        _MEMORY: "",
        "GPUs": f"{gpus.count} x {gpus.title}" if gpus is not None else "none",
        "active NVLinks of a GPU": str(gpus.nvlinks)
        if gpus is not None and gpus.nvlinks is not None
        else "unknown",
    }
