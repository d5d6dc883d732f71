"""A platform of its hardware alone: link, slot, GPUs and rails, built from path classes.

Figures that were not given are those of a generic platform of the catalogue, marked assumed there.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from weft.catalog.document import SourceClass
from weft.catalog.machine.platform import Platform
from weft.catalog.paths.gpu_product import GpuProduct, gpu_products
from weft.catalog.paths.path_class import PathClass, PathFamily, path_classes
from weft.core.errors import InputError, did_you_mean

PREFIX = "generic-"
BASE = "generic-edr"
_RATE = re.compile(r"(?P<value>\d+(?:\.\d+)?) ?(?:gb/s|gbps|gbit/s|g)$", re.IGNORECASE)
_SLOT = re.compile(r"(?:gen)?(?P<generation>[1-6])(?:\.0)? ?x(?P<width>4|8|16)$", re.IGNORECASE)
_TCP_MTU = 1500
_GPUS_A_NODE = 8


@dataclass(frozen=True, slots=True)
class Hardware:
    """The statements of a user about a machine; "" and None where there is none. `link` is a path
    class or a rate, `pcie` a slot as 3x8, `gpu` a product, `rails` adapters of a node, `mtu` bytes.
    """

    link: str = ""
    pcie: str = ""
    gpu: str = ""
    rails: int | None = None
    mtu: int | None = None

    @property
    def is_given(self) -> bool:
        """Whether anything is said."""
        return bool(self.link or self.pcie or self.gpu or self.rails or self.mtu)

    @property
    def options(self) -> str:
        """The command-line options that say the same."""
        given = {
            "--link": self.link,
            "--pcie": self.pcie,
            "--gpu": self.gpu,
            "--rails": self.rails,
            "--mtu": self.mtu,
        }
        return " ".join(f"{name} {value}" for name, value in given.items() if value)


def link_names() -> list[str]:
    """Every class of links between hosts."""
    families = path_classes().of_transport("rdma", "sockets")
    return [one.name for family in families for one in family.classes]


def link_of(text: str) -> tuple[PathFamily | None, PathClass]:
    """The class of a link's name, or one of the rate itself. Raises InputError."""
    word = text.strip().lower().replace(" ", "")
    rate = _RATE.match(text.strip())
    if rate is not None:
        gbps = float(rate["value"])
        if not 0 < gbps <= 10_000:
            raise InputError(f"'{text}' is no rate of a link", expected="up to 10000 Gb/s")
        return None, PathClass(name=f"{gbps:g}gbps", title=f"{gbps:g} Gb/s", gbps=gbps, source=text)
    for family in path_classes().of_transport("rdma", "sockets"):
        for one in family.classes:
            if one.name == word:
                return family, one
    known = link_names()
    raise InputError(
        f"no link '{text}'",
        expected=f"a rate as '200 Gb/s', or one of {', '.join(known)}",
        hint=did_you_mean(word, known),
    )


def slot_of(text: str) -> PathClass:
    """The class of a PCIe slot as '3x8' or 'Gen4 x16'. Raises InputError."""
    match = _SLOT.match(text.strip())
    name = f"pcie-{match['generation']}x{match['width']}" if match else ""
    slots = {one.name: one for one in path_classes().of_transport("bus")[0].classes}
    if name not in slots:
        known = ", ".join(slot.removeprefix("pcie-") for slot in slots)
        raise InputError(f"no PCIe slot '{text}'", expected=f"one of {known}")
    return slots[name]


def gpu_of(text: str) -> GpuProduct:
    """The product of a name. Raises InputError."""
    word = text.strip().lower()
    known = {product.name: product for product in gpu_products()}
    if word not in known:
        raise InputError(
            f"no GPU '{text}'",
            expected=f"one of {', '.join(known)}",
            hint=did_you_mean(word, list(known)),
        )
    return known[word]


def generic_platform(hardware: Hardware, platform: Callable[[str], Platform]) -> Platform:
    """The platform of some hardware. `platform` opens one of the catalogue. Raises InputError."""
    family, link = link_of(hardware.link) if hardware.link else (None, None)
    base = platform(BASE if link is None else _nearest(link, family))
    document = base.model_dump(by_alias=True, mode="json", exclude_none=True)
    document |= {
        "name": PREFIX + (link.name if link else hardware.gpu or "host"),
        "title": f"A machine of which is known: {hardware.options}",
        "notes": ["Built from the options given; all other figures are assumed."],
        "figures": [],
        "published": [],
    }
    if link is None:
        _assume_link(document)
    else:
        _set_link(document, family, link)
    if hardware.mtu is not None:
        document["packets"]["mtu"] = _figure(hardware.mtu, "B", f"--mtu {hardware.mtu}")
    slot = slot_of(hardware.pcie) if hardware.pcie else _slot_for(link)
    if slot is not None:
        given = f"--pcie {hardware.pcie}; {slot.source}"
        document["node"]["hca_pcie"] = (
            _figure(slot.gb_s, "GB/s", given, SourceClass.SOURCED)
            if hardware.pcie
            else _figure(slot.gb_s, "GB/s", "assumed: the link's usual slot")
        )
    if hardware.rails is not None:
        given = f"--rails {hardware.rails}"
        rails = _figure(hardware.rails, "HCAs", given, SourceClass.SOURCED)
        document["node"]["hcas"] = rails
    if hardware.gpu:
        _set_gpus(document, gpu_of(hardware.gpu))
    return Platform.model_validate(document)


def generic_of_name(name: str, platform: Callable[[str], Platform]) -> Platform | None:
    """The platform `generic-CLASS` of a path class or GPU that has no document of its own."""
    word = name.removeprefix(PREFIX)
    if word in link_names():
        return generic_platform(Hardware(link=word), platform)
    if any(product.name == word for product in gpu_products()):
        return generic_platform(Hardware(gpu=word), platform)
    return None


def generic_names() -> list[str]:
    """The names that `generic_of_name` knows."""
    return [PREFIX + name for name in (*link_names(), *(gpu.name for gpu in gpu_products()))]


_DOCUMENTS = {"qdr": 32.0, "edr": 100.0, "hdr": 200.0, "ndr": 400.0}
"""Generic platforms of the catalogue, by the rate of their links."""


def _nearest(link: PathClass, family: PathFamily | None) -> str:
    """The generic platform whose switches and host are nearest to a link."""
    if family is not None and family.name == "slingshot":
        return "generic-slingshot11"
    name = min(_DOCUMENTS, key=lambda one: abs(_DOCUMENTS[one] - link.gbps))
    return PREFIX + name


def _set_link(document: dict[str, Any], family: PathFamily | None, link: PathClass) -> None:
    rate = _figure(link.gbps, "Gb/s", link.source, SourceClass.SOURCED)
    for end in ("host", "switch"):
        document["links"][end] = {**document["links"][end], "rate": rate}
        document["links"][end].pop("most", None)
    if family is not None and family.name in ("roce", "iwarp", "tcp"):
        document["packets"]["headers"] = "ethernet"
    if family is not None and family.transport == "sockets":
        document["packets"]["mtu"] = _figure(_TCP_MTU, "B", "assumed: Ethernet's usual MTU")


def _assume_link(document: dict[str, Any]) -> None:
    """A stand-in for a link that was not named, so fast that it limits nothing."""
    for end in ("host", "switch"):
        rate = document["links"][end]["rate"]
        assumed = _figure(rate["value"], "Gb/s", "assumed: the link was not named (--link)")
        document["links"][end] = {**document["links"][end], "rate": assumed}


def _slot_for(link: PathClass | None) -> PathClass | None:
    """The narrowest slot of sixteen lanes that a link does not exceed."""
    if link is None:
        return None
    slots = [one for one in path_classes().of_transport("bus")[0].classes if one.name[-2:] == "16"]
    fitting = [slot for slot in slots if slot.gbps >= link.gbps]
    return min(fitting or slots[-1:], key=lambda slot: slot.gbps)


def _set_gpus(document: dict[str, Any], product: GpuProduct) -> None:
    source = f"--gpu {product.name}; {product.source}"
    _, slot = path_classes().class_of(product.pcie)
    gpus: dict[str, Any] = {
        "model": product.title,
        "architecture": product.architecture,
        "cpu": "amd" if product.architecture.startswith("cdna") else "intel",
        "per_node": _figure(_GPUS_A_NODE, "GPUs", "assumed: eight GPUs a node"),
        "pcie": _figure(slot.gb_s * 0.78, "GB/s", "assumed: 78 % of the slot's rate"),
        "switched": product.switched,
        "nvls": product.reduces,
    }
    if product.link:
        rate = product.links * product.seen_gb_s
        gpus["nvlink"] = _figure(rate, "GB/s", source, SourceClass.SOURCED)
    document["gpus"] = gpus
    document["node"]["gpus"] = gpus["per_node"]


def _figure(
    value: float, unit: str, source: str, class_: SourceClass = SourceClass.ASSUMED
) -> dict[str, Any]:
    return {"value": value, "unit": unit, "class": class_.value, "source": source}
