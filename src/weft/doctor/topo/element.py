"""The elements of a topology file, as NCCL keeps them."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from weft.doctor.job import TextPlace

CHILDREN = {
    "": frozenset({"system"}),
    "system": frozenset({"cpu"}),
    "cpu": frozenset({"pci", "nic"}),
    "pci": frozenset({"pci", "gpu", "nic", "pcilink"}),
    "gpu": frozenset({"nvlink", "c2c"}),
    "nic": frozenset({"net", "gin", "rma"}),
}
"""Element -> the elements that NCCL looks for inside; "" is the file. SOURCE: NVIDIA/nccl v2.30.7,
src/graph/xml.cc; `gin` and `rma` are of later versions."""


@dataclass(frozen=True, slots=True)
class Attribute:
    """One attribute: its value as written, for NCCL knows no entities, and where that stands."""

    value: str
    at: TextPlace


@dataclass(slots=True, eq=False)
class Element:
    """One element that NCCL keeps. `n_slots` are the places its attributes take, empty ones too."""

    name: str
    attributes: dict[str, Attribute]
    at: TextPlace
    n_slots: int = 0
    parent: "Element | None" = None
    children: "list[Element]" = field(default_factory=list)

    def get(self, key: str) -> str | None:
        """The value of an attribute, None where there is none."""
        found = self.attributes.get(key)
        return None if found is None else found.value

    def place(self, key: str) -> TextPlace:
        """The place of an attribute's value; that of the element where there is none."""
        found = self.attributes.get(key)
        return self.at if found is None else found.at

    def inside(self, *names: str) -> "Iterator[Element]":
        """Children of these names, in order."""
        return (child for child in self.children if child.name in names)

    def within(self, name: str) -> "Element | None":
        """The nearest element of a name that this one is or stands in, None where there is none."""
        one: Element | None = self
        while one is not None and one.name != name:
            one = one.parent
        return one

    def walk(self) -> "Iterator[Element]":
        """The element and all below it, parents first, in the order of the file."""
        # INVARIANT: at most MOST_ELEMENTS of them, but a chain of those is too deep to recurse.
        todo = [self]
        while todo:
            one = todo.pop()
            yield one
            todo.extend(reversed(one.children))
