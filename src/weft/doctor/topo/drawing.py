"""A topology file as a tree of lines."""

from weft.catalog.libraries.nccl_topology import nccl_topology
from weft.doctor.topo.affinity import cpu_list, mask_of
from weft.doctor.topo.element import Element
from weft.doctor.topo.elements import MADE_UP, device, kind_of, number

_SHOWN = ("cpu", "pci", "gpu", "nic", "net", "gin", "rma", "nvlink", "xgmi", "c2c", "pcilink")
_LEAST_WIDTH = 20


def tree_lines(system: Element, width: int | None = None) -> list[str]:
    """One line an element, in the order of the file; longer ones than `width` columns are cut."""
    lines = []
    todo: list[tuple[Element, str, str]] = [(system, "", "")]
    while todo:
        element, lead, below = todo.pop()
        lines.append(_cut(lead + _words(element), width))
        shown = [child for child in element.children if child.name in _SHOWN]
        for i, child in reversed(list(enumerate(shown))):
            is_last = i == len(shown) - 1
            fork, stem = ("└─ ", "   ") if is_last else ("├─ ", "│  ")
            todo.append((child, below + fork, below + stem))
    return lines


def _cut(line: str, width: int | None) -> str:
    """INVARIANT: a name of the file cannot break the tree: its ends of lines are shown."""
    line = line.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
    if width is None or len(line) <= max(width, _LEAST_WIDTH):
        return line
    return line[: max(width, _LEAST_WIDTH) - 1] + "…"


def _words(element: Element) -> str:
    if element.name == "cpu":
        return _cpu(element)
    if element.name == "pci":
        return _pci(element)
    if element.name == "system":
        name = element.get("name")
        return f"system {name}" if name else "system"
    if element.name in ("nvlink", "xgmi", "pcilink"):
        count = element.get("count")
        links = f"{count} x " if count is not None else ""
        return f"{links}{element.name} to {element.get('target')}"
    shown = ("name", "dev", "sm", "rank", "gdr", "speed", "port", "bw", "count")
    said = [f"{key} {value}" for key in shown if (value := element.get(key)) is not None]
    return "  ".join((element.name, " ".join(said))).rstrip()


def _cpu(cpu: Element) -> str:
    model = "/".join(cpu.get(key) or "?" for key in ("familyid", "modelid"))
    said = [one for one in (cpu.get("arch"), cpu.get("vendor")) if one]
    kind = " ".join([*said, model] if cpu.get("familyid") or cpu.get("modelid") else said)
    affinity = cpu.get("affinity")
    cpus = f"CPUs {cpu_list(mask_of(affinity)) or 'none'}" if affinity is not None else ""
    return "  ".join(part for part in (f"cpu {cpu.get('numaid')}", kind, cpus) if part)


def _pci(pci: Element) -> str:
    tables = nccl_topology()
    made_up = " (made up)" if (pci.get("busid") or "").startswith(MADE_UP) else ""
    speed, width = pci.get("link_speed"), pci.get("link_width")
    if speed is None or width is None:
        link = "link as /sys says"
    else:
        link = f"{speed or '?'} x{width or '?'}  {tables.pci_gb_s(speed, number(width)):g} GB/s"
    known = tables.gpu(pci.get("device") or "") if kind_of(pci) == "GPU" else None
    model = f"  {known.model}" if known is not None else ""
    return f"{device(pci)}{made_up}  {link}{model}"
