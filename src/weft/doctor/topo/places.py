"""Places of devices in the tree of a topology file, and bridges slower than devices below them."""

from collections.abc import Iterable, Iterator

from weft.catalog.libraries.nccl_topology import nccl_topology
from weft.doctor.case import Found, mistake
from weft.doctor.topo.affinity import misread_form
from weft.doctor.topo.element import Element
from weft.doctor.topo.elements import device, kind_of, number


def check_places(elements: Iterable[Element]) -> Iterator[Found]:
    """Devices drawn as bridges or below devices, slow bridges, masks of different lengths."""
    bridges = [one for one in elements if one.name == "pci"]
    for pci in bridges:
        yield from _device_as_bridge(pci)
        yield from _below_device(pci)
        yield from _slow_bridge(pci)
    yield from _mask_lengths([one for one in elements if one.name == "cpu"])


def _says_bridge(pci: Element) -> bool:
    class_ = pci.get("class")
    return class_ is not None and nccl_topology().kind(class_) == "PCI"


def _device_as_bridge(pci: Element) -> Iterator[Found]:
    if not _says_bridge(pci):
        return
    bridge = f"bridge {pci.get('busid') or 'without a busid'}"
    words = {"device": bridge, "value": pci.get("class") or ""}
    inside = next(pci.inside("gpu", "nic"), None)
    if inside is not None:
        yield mistake("topo-device-in-bridge", inside.at, **words, element=inside.name)
        return
    model = nccl_topology().gpu(pci.get("device") or "")
    if model is not None:
        yield mistake("topo-gpu-as-bridge", pci.place("class"), **words, model=model.model)
    elif next(pci.inside("pci"), None) is None:
        yield mistake("topo-empty-bridge", pci.place("class"), **words)


def _below_device(pci: Element) -> Iterator[Found]:
    """NCCL walks down through bridges alone."""
    outer = pci.parent
    if outer is None or outer.name != "pci" or kind_of(outer) not in ("GPU", "NIC"):
        return
    yield mistake("topo-below-device", pci.at, device=device(pci), outer=device(outer))


def _link(pci: Element) -> tuple[int, int] | None:
    """100 Mb/s a lane, and lanes; None where the file leaves one to /sys or NCCL cannot read it."""
    speed = nccl_topology().speed(pci.get("link_speed") or "")
    lanes = number(pci.get("link_width"))
    return (speed, lanes) if speed is not None and lanes > 0 else None


def _slow_bridge(pci: Element) -> Iterator[Found]:
    """A bridge whose own link is slower than the fastest link right below it."""
    own = _link(pci) if kind_of(pci) == "PCI" else None
    below = [(link, one) for one in pci.inside("pci") if (link := _link(one)) is not None]
    if own is None or not below:
        return
    fastest, child = max(below, key=lambda it: (it[0][0] * it[0][1], it[0]))
    if own[0] * own[1] >= fastest[0] * fastest[1]:
        return
    # Fewer lanes at the same speed are how boards are built; a slower speed seldom is.
    rule = "topo-slow-bridge" if own[0] < fastest[0] else "topo-narrow-bridge"
    key = "link_speed" if own[0] < fastest[0] else "link_width"
    words = {"device": device(pci), "value": pci.get("link_speed") or "", "lanes": str(own[1])}
    words |= {"gb_s": f"{own[0] * own[1] / 80:g}", "below": child.get("link_speed") or ""}
    words |= {"below_lanes": str(fastest[1]), "below_gb_s": f"{fastest[0] * fastest[1] / 80:g}"}
    yield mistake(rule, pci.place(key), **words)


def _mask_lengths(cpus: list[Element]) -> Iterator[Found]:
    """The kernel writes the masks of one machine with equally many digits."""
    masks = [(one, one.get("affinity") or "") for one in cpus]
    masks = [(one, mask) for one, mask in masks if mask and misread_form(mask) is None]
    most = max((_n_digits(mask) for _, mask in masks), default=0)
    for cpu, mask in masks:
        # One group alone is how people write masks by hand.
        if "," in mask and _n_digits(mask) % 8 > 0 and _n_digits(mask) < most:
            words = {"value": mask, "numa": cpu.get("numaid") or "N"}
            says = f"this one has {_n_digits(mask)} digits, another of the file {most}"
            yield mistake("topo-affinity-form", cpu.place("affinity"), **words, says=says)


def _n_digits(mask: str) -> int:
    return len(mask.replace(",", ""))
