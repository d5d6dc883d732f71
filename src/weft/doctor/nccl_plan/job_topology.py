"""A topology file as NCCL has it once it has asked the driver: with GPUs, NVLinks and adapters.

A file of a cloud holds bus ids and links alone. What the driver would add is taken from the
platform; a dump of NCCL (NCCL_TOPO_DUMP_FILE) has it already and stays as it is.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from weft.catalog.libraries.nccl_topology import nccl_topology
from weft.core.errors import InputError
from weft.doctor.topo.element import Element
from weft.doctor.topo.elements import bus_id, kind_of, number
from weft.doctor.topo.graph import Known, graph_of
from weft.doctor.topo.node import attributes_text
from weft.doctor.topo.xml import TopologyFile

HOST_HASH = 1
"""Of the one host that the file describes."""
NVSWITCH = "0000:ee:00.0"
"""A made-up bus id; NCCL asks for the class alone."""
_HOPPER = 90
"""Compute capability."""
_OF_NET = {"latency": "0", "port": "1", "maxconn": "131072", "gdr": "1", "coll": "0"}


@dataclass(frozen=True, slots=True)
class JobTopology:
    """The text of a node's file, and what a communicator of all of its GPUs knows: `bus_ids` by
    rank, as numbers; the compute capability; whether switches join the GPUs; adapters' names by
    NCCL's number; the file that the user gave, '' for a platform."""

    text: str
    bus_ids: tuple[int, ...]
    sm: int
    has_nvswitch: bool
    nets: tuple[str, ...]
    file: str = field(default="", compare=False)

    @property
    def has_nvls(self) -> bool:
        """Whether NCCL looks for NVLink SHARP: on Hopper and newer behind NVSwitches."""
        return self.has_nvswitch and self.sm >= _HOPPER


@dataclass(slots=True)
class _Counts:
    gpus: dict[str, int]
    nets: list[str] = field(default_factory=list)


def job_topology(file: TopologyFile, known: Known) -> JobTopology:
    """The file for a job of all GPUs in it. Raises InputError where NCCL refuses the file, or
    something is missing that no driver is here to ask."""
    if file.system is None or file.is_refused:
        raise InputError(
            "NCCL gives up on this topology file",
            where=file.name,
            expected="a file that it reads",
            hint=f"weft doctor topo {file.name} says where",
        )
    graph = graph_of(file.system, known)
    gpus = sorted(graph.gpus, key=lambda one: one.number)
    if not gpus:
        raise InputError("no GPU is in it", where=file.name, expected="a file of a GPU node")
    capabilities = {gpu.sm for gpu in gpus}
    if len(capabilities) > 1 or not min(capabilities):
        raise InputError(
            "the compute capability of the GPUs is not known",
            where=file.name,
            expected="--platform of a machine with these GPUs, or a file with sm in <gpu>",
        )
    counts = _Counts({gpu.name: i for i, gpu in enumerate(gpus)})
    lines = ['<system version="1">']
    for cpu in file.system.inside("cpu"):
        lines += _lines(cpu, known, counts, indent="  ")
    has_nvswitch = any(link.to.kind == "NVS" for gpu in gpus for link in gpu.links)
    return JobTopology(
        "\n".join([*lines, "</system>", ""]),
        tuple(_number_of(gpu.name, file.name) for gpu in gpus),
        min(capabilities),
        has_nvswitch,
        tuple(counts.nets),
    )


def _number_of(bus: str, where: str) -> int:
    """A bus id as NCCL keeps it."""
    digits = bus.replace(":", "").replace(".", "")
    try:
        return int(digits, 16)
    except ValueError:
        raise InputError(
            f"a GPU has the bus id '{bus}'", where=where, expected="one as 0001:00:00.0"
        ) from None


def _lines(element: Element, known: Known, counts: _Counts, *, indent: str) -> Iterator[str]:
    attributes = {key: one.value for key, one in element.attributes.items() if key}
    inside = [
        line
        for child in element.children
        for line in _lines(child, known, counts, indent=f"{indent}  ")
    ]
    if element.name == "cpu":
        attributes.setdefault("host_hash", hex(HOST_HASH))
    elif element.name == "gpu":
        attributes |= {"rank": str(counts.gpus[bus_id(element)])}
        attributes.setdefault("gdr", "1")
        if known.sm:
            attributes.setdefault("sm", str(known.sm))
        if next(element.inside("nvlink", "c2c"), None) is None:
            inside = _nvlinks(known, f"{indent}  ")
    elif element.name == "net":
        attributes |= _of_net(attributes, known, counts)
    elif element.name == "pci":
        for key in ("link_speed", "link_width"):
            attributes.setdefault(key, "")
        if next(element.inside("gpu", "nic"), None) is None:
            inside = [*_added(element, known, counts, f"{indent}  "), *inside]
    yield from _element(element.name, attributes, inside, indent)


def _element(
    name: str, attributes: Mapping[str, str], inside: list[str], indent: str
) -> Iterator[str]:
    tag = f"{indent}<{name}{attributes_text(attributes)}"
    yield f"{tag}>" if inside else f"{tag}/>"
    if inside:
        yield from inside
        yield f"{indent}</{name}>"


def _added(pci: Element, known: Known, counts: _Counts, indent: str) -> list[str]:
    """What the driver tells of a device without anything inside."""
    kind = kind_of(pci)
    if kind == "GPU":
        rank = str(counts.gpus[bus_id(pci)])
        attributes = {"dev": rank, "sm": str(known.sm), "rank": rank, "gdr": "1"}
        return list(_element("gpu", attributes, _nvlinks(known, f"{indent}  "), indent))
    if kind == "NIC":
        net = list(_element("net", _of_net({}, known, counts), [], f"{indent}  "))
        return list(_element("nic", {}, net, indent))
    return []


def _nvlinks(known: Known, indent: str) -> list[str]:
    if not known.nvlink_gb_s:
        return []
    n = round(known.nvlink_gb_s / nccl_topology().nvlink_gb_s(known.sm))
    attributes = {"target": NVSWITCH, "count": str(n), "tclass": "0x068000"}
    return list(_element("nvlink", attributes, [], indent))


def _of_net(said: Mapping[str, str], known: Known, counts: _Counts) -> dict[str, str]:
    place = number(said["dev"]) if "dev" in said else len(counts.nets)
    name = said.get("name", f"net{place}")
    counts.nets.append(name)
    speed = str(round(known.net_gb_s * 8000) or 10_000)
    return {
        **_OF_NET,
        "dev": str(place),
        "guid": hex(place + 1),
        "speed": speed,
        "rail": str(place),
        "plane": "0",
        **said,
        "name": name,
    }
