"""NCCL's reading of the elements and attributes of a topology file, one after the other."""

import re
from collections.abc import Callable, Iterator

from weft.catalog.libraries.nccl_topology import NcclTopology, nccl_topology
from weft.doctor.case import Found, mistake
from weft.doctor.job import NOWHERE
from weft.doctor.numbers import strtoll
from weft.doctor.topo.affinity import cpu_list, mask_of, misread_form
from weft.doctor.topo.dialect import RCCL_DIALECT
from weft.doctor.topo.element import Element
from weft.doctor.topo.elements import MADE_UP, bus_id, device, elements_of, kind_of, number
from weft.doctor.topo.places import check_places
from weft.doctor.topo.xml import MOST_ATTRIBUTES, TopologyFile

BUS_ID = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")

_NEEDED = {
    "cpu": {"numaid": "NCCL gives up"},
    "pci": {"busid": "it stands for no device, and NCCL gives up where it is used"},
    "nvlink": {"target": "NCCL gives up", "count": "NCCL gives up"},
    "xgmi": {"target": "NCCL gives up", "count": "NCCL gives up"},
    "c2c": {"bw": "NCCL gives up", "count": "NCCL gives up"},
    "pcilink": {"target": "NCCL gives up"},
}
_NUMBERS = {
    "cpu": ("numaid", "familyid", "modelid"),
    "pci": ("link_width",),
    "gpu": ("dev", "sm", "rank", "gdr"),
    "nvlink": ("count",),
    "xgmi": ("count",),
    "c2c": ("bw", "count"),
    "net": ("dev", "speed", "port", "gdr", "maxconn", "coll"),
}
_ADDED = {
    "cpu": ("host_hash",),
    "pci": ("vendor", "device", "subsystem_vendor", "subsystem_device"),
    "gpu": ("keep",),
    "net": ("keep",),
}
"""Attributes that NCCL adds to elements that it uses, where they lack them."""
_FLAWLESS_WIDTH = 16


def check(file: TopologyFile) -> Iterator[Found]:
    """Faults of the elements of a file."""
    yield from _system(file)
    elements = elements_of(file)
    yield from _room(file, elements)
    for element in elements:
        yield from _missing(element)
        yield from _slots(element)
        yield from _numbers(element)
        if element.name in _CHECKS:
            of_element = _CHECKS[element.name](element)
            yield from (one for one in of_element if not _is_of_amd(one, file))
    yield from _twice(elements, "pci", "busid", "topo-bus-id-twice")
    yield from _twice(elements, "cpu", "numaid", "topo-cpu-twice")
    yield from _overlaps([one for one in elements if one.name == "cpu"])
    yield from _one_way(elements)
    yield from check_places(elements)
    yield from _kinds_of_file(elements)


def _is_of_amd(found: Found, file: TopologyFile) -> bool:
    """RCCL knows the class of AMD's accelerators besides. SOURCE: ROCm/rccl, src/graph/topo.cc:
    kvDictPciClass."""
    is_amd = found.rule == "topo-class" and found.words["value"].startswith("0x120000")
    return is_amd and file.dialect is RCCL_DIALECT


def _system(file: TopologyFile) -> Iterator[Found]:
    system = file.system
    if system is None:
        if not file.is_refused and not file.is_graph:
            yield mistake("topo-no-system", NOWHERE)
        return
    right = str(file.dialect.version)
    for one in file.systems:
        version = one.get("version")
        if version is None or number(version) != file.dialect.version:
            says = "it has no version" if version is None else f"version {version} is not {right}"
            yield mistake("topo-version", one.place("version"), says=says, right=right)
    for other in file.systems[1:]:
        yield mistake("topo-second-system", other.at)
    if not file.is_refused and not any(one.name == "pci" for one in system.walk()):
        yield mistake("topo-no-devices", system.at)


def _room(file: TopologyFile, elements: list[Element]) -> Iterator[Found]:
    # NCCL adds a <nic> and a <net> to an adapter without networks.
    adapters = [one for one in elements if one.name == "pci" and kind_of(one) == "NIC"]
    n_bare = sum(next(one.inside("nic"), None) is None for one in adapters)
    n_all = len(elements) + 2 * n_bare + 2
    if n_bare and not file.is_refused and n_all > file.dialect.most_elements + 1:
        yield mistake("topo-no-room", elements[0].at, n=str(len(elements)), all=str(n_all))


def _slots(element: Element) -> Iterator[Found]:
    wanted = (key for key in _ADDED.get(element.name, ()) if element.get(key) is None)
    attribute = next(wanted, None)
    if element.n_slots >= MOST_ATTRIBUTES and attribute is not None:
        yield mistake("topo-no-slot", element.at, element=element.name, attribute=attribute)


def _missing(element: Element) -> Iterator[Found]:
    for attribute, says in _NEEDED.get(element.name, {}).items():
        if element.get(attribute) is None:
            words = {"element": element.name, "attribute": attribute, "says": says}
            yield mistake("topo-attribute-missing", element.at, **words)


def _numbers(element: Element) -> Iterator[Found]:
    for attribute in _NUMBERS.get(element.name, ()):
        value = element.get(attribute)
        if value is None or (attribute == "link_width" and value == ""):
            continue
        read, remaining = strtoll(value)
        if remaining or read is None or not value:
            words = {"element": element.name, "attribute": attribute, "value": value}
            words["read"] = str(read) if read is not None else "the largest long integer"
            yield mistake("topo-not-a-number", element.place(attribute), **words)


def _cpu(cpu: Element) -> Iterator[Found]:
    tables = nccl_topology()
    architecture, vendor = cpu.get("arch"), cpu.get("vendor")
    for attribute, value, known in (
        ("arch", architecture, tables.architectures),
        ("vendor", vendor, tables.vendors),
    ):
        says_nothing = attribute == "vendor" and not (architecture or "x86_64").startswith("x86_64")
        if value is None or says_nothing or value.startswith(known):
            continue
        words = {"attribute": attribute, "value": value, "right": " or ".join(known[:3])}
        yield mistake("topo-processor", cpu.place(attribute), **words)
    affinity = cpu.get("affinity")
    if affinity is None:
        return
    words = {"value": affinity, "numa": cpu.get("numaid") or "N"}
    form = misread_form(affinity)
    if form is not None:
        yield mistake("topo-affinity-form", cpu.place("affinity"), **words, says=form)
    elif mask_of(affinity) == 0:
        yield mistake("topo-affinity-empty", cpu.place("affinity"), **words)


def _pci(pci: Element) -> Iterator[Found]:
    tables = nccl_topology()
    name, class_ = device(pci), pci.get("class")
    is_made_up = (pci.get("busid") or "").startswith(MADE_UP)
    yield from _bus_id(pci)
    if class_ is None and is_made_up:
        says = "no device states it: NCCL gives up"
        yield mistake("topo-attribute-missing", pci.at, element="pci", attribute="class", says=says)
    elif class_ is not None and tables.kind(class_) is None:
        yield mistake("topo-class", pci.place("class"), value=class_, device=name)
    speed, width = pci.get("link_speed"), pci.get("link_width")
    if speed is None and is_made_up:
        speed = ""  # /sys has none to ask
    lanes = number(width)
    gb_s = f"{tables.pci_gb_s(speed or '', lanes):g}"
    if speed is not None and tables.speed(speed) is None:
        words = {"value": speed, "device": name, "gb_s": gb_s, "right": _right_speed(tables, speed)}
        yield mistake("topo-link-speed", pci.place("link_speed"), **words)
    if width is not None and lanes == 0:
        yield mistake("topo-link-width", pci.place("link_width"), value=width, device=name)
    elif width is not None and lanes < _FLAWLESS_WIDTH and kind_of(pci) in ("GPU", "NIC"):
        yield mistake(
            "topo-narrow-link", pci.place("link_width"), value=width, device=name, gb_s=gb_s
        )


def _right_speed(tables: NcclTopology, text: str) -> str:
    """The words of NCCL for the speed that is probably meant."""
    digits = re.match(r"\s*(\d+(?:\.\d+)?)", text)
    words = [start for start, _ in tables.speeds]
    if digits is not None:
        meant = [one for one in words if float(one.split()[0]) == float(digits[1])]
        words = meant or words
    return " or ".join(f"'{one}'" for one in (words if len(words) < 3 else words[1:5]))


def _bus_id(pci: Element) -> Iterator[Found]:
    value = pci.get("busid")
    if value is None or BUS_ID.fullmatch(value):
        return
    if BUS_ID.fullmatch(value.lower()):
        yield mistake("topo-bus-id-case", pci.place("busid"), value=value, right=value.lower())
    else:
        yield mistake("topo-bus-id-form", pci.place("busid"), value=value)


def _gpu(gpu: Element) -> Iterator[Found]:
    tables = nccl_topology()
    name, sm = device(gpu), gpu.get("sm")
    yield from _gdr(gpu)
    links = list(gpu.inside("nvlink", "xgmi"))
    for link in links:
        if link.get("target") == bus_id(gpu):
            yield mistake("topo-nvlink-self", link.at, device=name)
    device_id = gpu.parent.get("device") if gpu.parent is not None else None
    model = tables.gpu(device_id or "")
    if model is not None and sm is not None and number(sm) != model.sm:
        words = {"device": name, "model": model.model, "right": str(model.sm), "value": sm}
        yield mistake("topo-sm", gpu.place("sm"), **words)
    links = list(gpu.inside("nvlink"))
    n = sum(number(link.get("count")) for link in links)
    right = _usual_nvlinks(tables, device_id, number(sm))
    if links and right is not None and n != right:
        yield mistake(
            "topo-nvlink-count", gpu.at, device=name, sm=sm or "", n=str(n), right=str(right)
        )


def _usual_nvlinks(tables: NcclTopology, device_id: str | None, sm: int) -> int | None:
    """The number of NVLinks of a GPU: by its model, or by its compute capability where the file
    names no model; None where models are not known, or differ."""
    model = tables.gpu(device_id or "")
    if device_id is not None:
        return model.nvlinks if model is not None else None
    return {one.sm: one.nvlinks for one in tables.gpus if one.nvlinks is not None}.get(sm)


def _net(net: Element) -> Iterator[Found]:
    yield from _gdr(net)
    speed = net.get("speed")
    if speed is not None and number(speed) <= 0:
        yield mistake(
            "topo-net-speed", net.place("speed"), value=speed, device=net.get("name") or device(net)
        )


def _gdr(element: Element) -> Iterator[Found]:
    value = element.get("gdr")
    if value is not None and number(value) == 0:
        words = {"value": value, "device": element.get("name") or device(element)}
        yield mistake("topo-gdr-off", element.place("gdr"), **words)


_CHECKS: dict[str, Callable[[Element], Iterator[Found]]] = {
    "cpu": _cpu,
    "pci": _pci,
    "gpu": _gpu,
    "net": _net,
}


def _twice(elements: list[Element], name: str, key: str, rule: str) -> Iterator[Found]:
    seen: dict[str, Element] = {}
    for element in elements:
        value = element.get(key) if element.name == name else None
        if value is None:
            continue
        first = seen.setdefault(value, element)
        if first is not element:
            yield mistake(rule, element.place(key), value=value, line=str(first.at.line))


def _overlaps(cpus: list[Element]) -> Iterator[Found]:
    masks = [(one, mask_of(one.get("affinity") or "")) for one in cpus]
    for i, (cpu, mask) in enumerate(masks):
        for other, earlier in masks[:i]:
            if mask & earlier:
                words = {"cpus": cpu_list(mask & earlier), "numa": cpu.get("numaid") or ""}
                words |= {"other": other.get("numaid") or ""}
                yield mistake("topo-affinity-overlap", cpu.place("affinity"), **words)
                break


def _one_way(elements: list[Element]) -> Iterator[Found]:
    """NVLinks between two GPUs of the file, more of them in one direction than in the other."""
    gpus = {bus_id(one): one for one in elements if one.name == "gpu"}
    counts = {
        (source, link.get("target") or ""): number(link.get("count"))
        for source, gpu in gpus.items()
        for link in gpu.inside("nvlink", "xgmi")
    }
    for (source, target), n in counts.items():
        back = counts.get((target, source), 0)
        if source != target and target in gpus and back < n:
            words = {"device": f"GPU {source}", "target": f"GPU {target}", "n": str(n)}
            yield mistake("topo-nvlink-one-way", gpus[source].at, **words, back=str(back))


def _kinds_of_file(elements: list[Element]) -> Iterator[Found]:
    signs = [
        (one, key)
        for one in elements
        for key in ("host_hash", "rank", "keep")
        if one.get(key) is not None
    ]
    if signs:
        what = ", ".join(dict.fromkeys(f"{key} of <{one.name}>" for one, key in signs))
        yield mistake("topo-dump", signs[0][0].place(signs[0][1]), what=what)
    made_up = [one for one in elements if (one.get("busid") or "").startswith(MADE_UP)]
    if made_up:
        yield mistake("topo-made-up-bridges", made_up[0].place("busid"), n=str(len(made_up)))
