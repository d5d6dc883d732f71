"""Parts of a fabric that can be replaced or inspected, by name."""

from dataclasses import dataclass
from enum import StrEnum

from weft.check.readings.readings import host_of, rank_in


class Part(StrEnum):
    """The kind of a component; of one physical thing the widest part comes first."""

    RAIL = "rail"
    NODE = "node"
    NODE_SENDING = "node sending"
    NODE_RECEIVING = "node receiving"
    HCA = "hca"
    RANK = "rank"
    CABLE = "cable"
    DIRECTION = "direction"
    SWITCH = "switch"
    SWITCH_PAIR = "switch pair"


PARTS = tuple(Part)

Thing = tuple[str, tuple[str, ...]]
"""A physical thing: 'cable', 'node', 'hca', 'rank', 'rail' or 'switch', and its names; or the
'path' between the HCAs of two switches."""


@dataclass(frozen=True, slots=True, order=True)
class Component:
    """A part that can be replaced or inspected. `ends` are the two ports of a cable, from where
    to where in a direction, the two switches of a pair, and one name otherwise."""

    part: Part
    ends: tuple[str, ...]

    @property
    def name(self) -> str:
        """As a person would write it on a ticket."""
        first = self.ends[0]
        match self.part:
            case Part.CABLE:
                text = f"cable {first} - {self.ends[1]}"
            case Part.DIRECTION:
                direction = f"{vertex_of(first)} to {vertex_of(self.ends[1])}"
                text = f"cable {first} - {self.ends[1]} (direction {direction})"
            case Part.NODE_SENDING:
                text = f"node {first} when sending"
            case Part.NODE_RECEIVING:
                text = f"node {first} when receiving"
            case Part.HCA:
                text = f"HCA {first}"
            case Part.SWITCH_PAIR:
                text = f"the path between switches {first} and {self.ends[1]}"
            case Part.RANK:
                text = f"rank {rank_in(first)} on {host_of(first)}"
            case _:
                text = f"{self.part.value} {first}"
        return text

    @property
    def thing(self) -> Thing:
        """The physical thing: a direction is its cable, a sending node is the node."""
        if self.part in (Part.CABLE, Part.DIRECTION):
            return ("cable", tuple(sorted(self.ends)))
        if self.part is Part.SWITCH_PAIR:
            return ("path", self.ends)
        if self.part in (Part.SWITCH, Part.HCA, Part.RANK, Part.RAIL):
            return (self.part.value, self.ends)
        return ("node", self.ends)


def vertex_of(port: str) -> str:
    """'leaf-01' of 'leaf-01[17]'."""
    return port.rpartition("[")[0]
