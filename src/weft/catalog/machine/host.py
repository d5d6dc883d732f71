"""Facts about the machine this runs on, as figures."""

from weft.catalog.document import Figure, SourceClass
from weft.catalog.machine.platform import Platform
from weft.core.host import this_host


def with_facts_of_this_host(platform: Platform) -> Platform:
    """The document with what the operating system reports of this host."""
    return platform.model_copy(update={"node": {**platform.node, **_facts()}})


def _facts() -> dict[str, Figure]:
    host = this_host()
    n_hcas = sum(device.link_layer == "InfiniBand" for device in host.devices)
    facts = {"cores": _figure(len(host.cpus), "CPUs", "CPUs this process may run on")}
    if host.memory_gb is not None:
        facts["memory"] = _figure(host.memory_gb, "GB", "MemTotal of /proc/meminfo")
    facts["hcas"] = _figure(n_hcas, "HCAs", "InfiniBand ports")
    return facts


def _figure(value: float, unit: str, what: str) -> Figure:
    source = f"the operating system of this host: {what}"
    fields = {"value": value, "unit": unit, "class": SourceClass.SOURCED, "source": source}
    return Figure.model_validate(fields)
