"""What an OTF2 archive defines: its clock, the ranks of MPI, their hosts, communicators, regions.

Numbers of kinds are those of the format. SOURCE: OTF2 3, OTF2_Definitions.h and
OTF2_GeneralDefinitions.h.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

MPI_PARADIGM = 4
COMM_LOCATIONS, COMM_GROUP, COMM_SELF = 4, 5, 6
CPU_THREAD = 1
UNDEFINED = 2**32 - 1
EZTRACE = "EZTrace finalize"
"""A region in each archive of EZTrace, which names itself nowhere else."""


class ArchiveError(Exception):
    """The archive says nothing that could be replayed; the text says why."""


@dataclass(frozen=True, slots=True)
class Members:
    """Who talks in a communicator, as ranks of the world: `peers` are who a rank's messages go to,
    in the order of their places; `all` besides those of its own side of an intercommunicator."""

    all: tuple[int, ...]
    peers: tuple[int, ...]
    is_inter: bool


@dataclass
class Definitions:
    """Definitions by their numbers, as the library hands them out."""

    ticks_a_second: int = 0
    strings: dict[int, str] = field(default_factory=dict)
    nodes: dict[int, tuple[int, int, int]] = field(default_factory=dict)
    processes: dict[int, int] = field(default_factory=dict)
    threads: dict[int, int] = field(default_factory=dict)
    n_events: int = 0
    regions: dict[int, tuple[int, int]] = field(default_factory=dict)
    contexts: dict[int, int] = field(default_factory=dict)
    groups: dict[int, tuple[int, tuple[int, ...]]] = field(default_factory=dict)
    locations: tuple[int, ...] = ()
    comms: dict[int, tuple[int, ...]] = field(default_factory=dict)

    @property
    def handlers(self) -> Mapping[str, Callable[..., None]]:
        """What takes each kind of definition from the library, by its name there."""
        return {
            "ClockProperties": self._clock,
            "String": lambda _, ref, text: self.strings.update({ref: text}),
            "SystemTreeNode": lambda _, ref, *node: self.nodes.update({ref: node[:3]}),
            "LocationGroup": lambda _, ref, __, ___, node, *____: self.processes.update(
                {ref: node}
            ),
            "Location": self._location,
            "Region": lambda _, ref, name, *more: self.regions.update({ref: (name, more[3].value)}),
            "CallingContext": lambda _, ref, region, *__: self.contexts.update({ref: region}),
            "Group": self._group,
            "Comm": lambda _, ref, __, group, *___: self.comms.update({ref: (group,)}),
            "InterComm": lambda _, ref, __, a, b, *___: self.comms.update({ref: (a, b)}),
        }

    def _clock(self, _: Any, ticks_a_second: int, *__: int) -> None:
        self.ticks_a_second = ticks_a_second

    def _location(self, _: Any, ref: int, __: int, kind: Any, n_events: int, process: int) -> None:
        if kind.value == CPU_THREAD:
            self.threads[ref] = process
        self.n_events += n_events

    def _group(self, _: Any, ref: int, __: int, kind: Any, paradigm: Any, *more: Any) -> None:
        members = tuple(more[-1])
        if paradigm.value != MPI_PARADIGM:
            return
        if kind.value == COMM_LOCATIONS:
            self.locations = members
        # EZTrace gives the world's group the number of the list of locations.
        if kind.value in (COMM_LOCATIONS, COMM_GROUP, COMM_SELF):
            self.groups[ref] = kind.value, members

    @cached_property
    def rank_of(self) -> Mapping[int, int]:
        """The world's rank of each location that is one."""
        return {location: rank for rank, location in enumerate(self.locations)}

    @cached_property
    def names(self) -> Mapping[int, tuple[str, bool]]:
        """The name of each region, and whether it is a function of MPI."""
        found = {}
        for ref, (string, paradigm) in self.regions.items():
            name = self.strings.get(string, "")
            is_mpi = paradigm == MPI_PARADIGM or name[:4].upper() == "MPI_"
            found[ref] = name, is_mpi
        return found

    @property
    def is_of_eztrace(self) -> bool:
        """Whether EZTrace wrote it, whose collectives count bytes otherwise than Score-P's."""
        return any(name == EZTRACE for name, _ in self.names.values())

    def host(self, rank: int) -> str:
        """The name of a rank's node, else of the lowest part of the machine."""
        at = self.processes.get(self.threads.get(self.locations[rank], UNDEFINED), UNDEFINED)
        lowest = self.strings.get(self.nodes[at][0], "") if at in self.nodes else ""
        for _ in range(len(self.nodes)):
            if at not in self.nodes:
                break
            name, kind, parent = self.nodes[at]
            if self.strings.get(kind) == "node":
                return self.strings.get(name, "")
            at = parent
        return lowest

    def members(self, comm: int, rank: int) -> Members | None:
        """Those of a communicator, seen from a rank; None of one that is not defined, or that the
        rank is not in."""
        sides = [self._ranks(group, rank) for group in self.comms.get(comm, ())]
        if len(sides) == 1 and rank in sides[0]:
            return Members(sides[0], sides[0], is_inter=False)
        if len(sides) == 2 and (rank in sides[0]) != (rank in sides[1]):
            both = tuple(sorted({*sides[0], *sides[1]}))
            return Members(both, sides[rank in sides[0]], is_inter=True)
        return None

    def _ranks(self, group: int, rank: int) -> tuple[int, ...]:
        kind, members = self.groups.get(group, (0, ()))
        n = len(self.locations)
        if kind == COMM_LOCATIONS:
            return tuple(range(n))
        if kind == COMM_SELF:
            return (rank,)
        return members if all(member < n for member in members) else ()

    def refuse(self) -> None:
        """Raises ArchiveError where there are no ranks or no clock."""
        if not self.locations:
            raise ArchiveError("no ranks of MPI: no group of locations that communicate")
        if not self.ticks_a_second:
            raise ArchiveError("no properties of its clock")
