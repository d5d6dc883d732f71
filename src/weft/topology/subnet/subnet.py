"""A real subnet opened for reading: what a cluster's own tools say, joined, and its paths."""

import json
import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from weft.core.documents.text_file import refuse_endless
from weft.core.errors import InputError
from weft.topology.engine import engine_at_work, engine_module, refusals

if TYPE_CHECKING:
    from weft.topology.engine import (
        BisectionShares,
        ChannelCircle,
        PathSurvey,
        PortLoads,
        ShiftLoads,
        SubnetHandle,
    )

PortKey = tuple[int, int]
Kind = Literal["switch", "ca", "router"]

BYTES_PART = 0.5
"""For the bar, of the time that a document takes: its bytes are read in the first quarter (measured
with 28 MB), and nothing tells how far its parsing is."""


@dataclass(frozen=True, slots=True)
class SubnetNode:
    """A switch, channel adapter or router. `level`: hops of a switch to the nearest adapter."""

    index: int
    guid: int
    kind: Kind
    description: str
    lid: int
    n_ports: int
    level: int | None
    system_guid: int | None
    vendor: int | None
    device: int | None
    port_lids: Mapping[int, int]
    uncabled: tuple[Mapping[str, Any], ...]

    @property
    def is_switch(self) -> bool:
        """Whether it is a switch."""
        return self.kind == "switch"


@dataclass(frozen=True, slots=True)
class CableEnd:
    """One end of a cable: the port, and what the tools say of it. Rates are data rates in Gb/s."""

    node: int
    port: int
    rate: str | None
    gbps: float | None
    supported: str | None
    supported_gbps: float | None
    logical: str | None
    physical: str | None
    facts: Mapping[str, str] = field(default_factory=dict)

    @property
    def key(self) -> tuple[int, int]:
        """Node and port."""
        return (self.node, self.port)


@dataclass(frozen=True, slots=True)
class SubnetCable:
    """A cable between two ports."""

    a: CableEnd
    b: CableEnd

    @property
    def ends(self) -> tuple[CableEnd, CableEnd]:
        """Both ends."""
        return (self.a, self.b)

    @property
    def rate(self) -> str | None:
        """The rate in force: '4xHDR'."""
        return self.a.rate or self.b.rate

    @property
    def gbps(self) -> float | None:
        """The data rate in force."""
        return self.a.gbps or self.b.gbps

    @property
    def words(self) -> str:
        """'4xHDR, active, link-up': the rate, and the states of its ends."""
        states = (word for end in self.ends for word in (end.logical, end.physical) if word)
        return ", ".join([self.rate or "rate unknown", *dict.fromkeys(states)])

    def beyond(self, key: PortKey) -> CableEnd:
        """The other end than the port of that key."""
        return self.b if self.a.key == key else self.a


@dataclass(frozen=True, slots=True)
class Endport:
    """A port of a channel adapter that has a LID."""

    node: int
    port: int
    lid: int


@dataclass(frozen=True, slots=True)
class EntryChange:
    """A switch's entry for a port of an adapter: the port it led by, and leads by; 0 for none."""

    switch: int
    node: int
    port: int
    before: int
    now: int


@dataclass(frozen=True, slots=True)
class NewSwitch:
    """A switch that a fabric does not have yet."""

    guid: int
    description: str
    n_ports: int
    lid: int


@dataclass(frozen=True, slots=True)
class NewCable:
    """A cable that a fabric does not have yet: its ends by the node's GUID and the port, its rate
    as '4xHDR'."""

    a: PortKey
    b: PortKey
    rate: str | None


class Subnet:
    """A subnet as `read` from files or built `of_fabric`; questions go to the engine."""

    def __init__(self, handle: "SubnetHandle") -> None:
        self._handle = handle

    @classmethod
    def read(cls, paths: Sequence[str]) -> "Subnet":
        """Read files, each by its content; '-' is standard input. Raises InputError."""
        for path in paths:
            _require_readable(path)
        try:
            with _interruptible(), _at_work_on(paths) as engine:
                return cls(engine.read_subnet(list(paths)))
        except OSError as error:
            raise InputError(str(error), expected="files that can be read") from error

    @classmethod
    def of_fabric(cls, document: Mapping[str, Any]) -> "Subnet":
        """The cabling of a fabric document or generator, without its tables: those that a document
        has are had by `read`. Raises InputError."""
        with refusals():
            return cls(engine_module().read_subnet([], json.dumps(document)))

    @cached_property
    def description(self) -> Mapping[str, Any]:
        """Everything that was read, as plain values."""
        described: Mapping[str, Any] = json.loads(self._handle.description())
        return described

    @cached_property
    def nodes(self) -> tuple[SubnetNode, ...]:
        """All nodes by GUID."""
        return tuple(_node(index, record) for index, record in enumerate(self.description["nodes"]))

    @cached_property
    def cables(self) -> tuple[SubnetCable, ...]:
        """Every cable once."""
        ends = ([CableEnd(**end) for end in pair] for pair in self.description["cables"])
        return tuple(SubnetCable(*pair) for pair in ends)

    @cached_property
    def endports(self) -> tuple[Endport, ...]:
        """Ports of adapters that have a LID, in the order of the engine's numbers."""
        return tuple(Endport(*record) for record in self.description["endports"])

    @cached_property
    def port_guids(self) -> tuple[tuple[int, int, int, int], ...]:
        """Node, port, LID and GUID of every port of an adapter whose GUID was read."""
        return tuple(
            (node, port, lid, guid) for node, port, lid, guid in self.description["port_guids"]
        )

    @property
    def has_tables(self) -> bool:
        """Whether forwarding tables were read."""
        return bool(self.description["n_tables"])

    @cached_property
    def cable_at(self) -> Mapping[tuple[int, int], SubnetCable]:
        """The cable at a port, by node and port number."""
        return {end.key: cable for cable in self.cables for end in cable.ends}

    def route(self, engine: str, roots: Sequence[int] = ()) -> "Subnet":
        """The same subnet with the tables that OpenSM's engine computes.

        `roots` are GUIDs of root switches; without them the engine finds them. Raises InputError.
        """
        with refusals():
            routed, _ = engine_module().route_subnet(self._handle, engine, None, list(roots))
        return Subnet(routed)

    def rerouted(
        self, dead: Sequence[str], engine: str | None = None
    ) -> "tuple[Subnet, str | None]":
        """The same subnet with the tables of a subnet manager that goes on when the cables at the
        ports `dead` (as in the fabric document) died, and the engine that filled them: OpenSM's
        minhop where `engine` gives up. Without an engine, entries over these cables move. Raises
        InputError."""
        with refusals():
            after, used = engine_module().route_subnet(self._handle, engine, list(dead))
        return Subnet(after), used

    def altered(
        self,
        *,
        gone: Sequence[int] = (),
        unplugged: Sequence[PortKey] = (),
        switches: Sequence["NewSwitch"] = (),
        cables: Sequence["NewCable"] = (),
    ) -> "Subnet":
        """The subnet without the nodes `gone` and the cables at the ports `unplugged`, then with
        new switches and cables; the tables are those of before. Nodes have other indices: they are
        the same by GUID. Raises InputError for a GUID that is there, a port that is not free."""
        columns = [(it.guid, it.description, it.n_ports, it.lid) for it in switches]
        plugged = [(it.a, it.b, it.rate) for it in cables]
        with refusals():
            return Subnet(self._handle.altered(list(gone), list(unplugged), columns, plugged))

    def has_tables_of(self, other: "Subnet") -> bool:
        """Whether all switches have the entries that another account of the subnet has."""
        _, n_changed, _ = self.changed_entries(other, 0)
        return not n_changed

    def changed_entries(
        self, before: "Subnet", most: int
    ) -> tuple[int, int, tuple[EntryChange, ...]]:
        """How many table entries an account from `before` has too, how many differ, and the first
        `most` of these. Switches and adapters are the same by GUID."""
        n_compared, n_changed, first = self._handle.changed_entries(before._handle, most)
        return n_compared, n_changed, tuple(EntryChange(*one) for one in first)

    def survey(self) -> "PathSurvey":
        """Lengths of all paths between end ports, paths that do not arrive, valleys."""
        return self._handle.survey()

    def loads(self, pairs: Sequence[tuple[int, int]] | None = None) -> "PortLoads":
        """Paths over every port between switches, of `pairs` of end ports or of all pairs.

        End ports are numbered as in `endports`. Raises InputError beyond the last.
        """
        with refusals():
            return self._handle.loads(pairs)

    def shifts(self, most: int) -> "ShiftLoads":
        """The fullest port of up to `most` shifts of the end ports."""
        return self._handle.shifts(most)

    def bisection(self, matchings: int, seed: int) -> "BisectionShares | None":
        """Effective bisection bandwidth; None with fewer than two end ports. Raises InputError
        where a number is negative or too large."""
        with refusals():
            return self._handle.bisection(matchings, seed)

    def credit_loop(self, service_level: int) -> "ChannelCircle | None":
        """A credit loop of all paths on a service level; None where there is none."""
        return self._handle.credit_loop(service_level)

    def trace(
        self, node: int, port: int, lid: int, *, adaptive: bool = False
    ) -> tuple[list[tuple[PortKey, PortKey]], str | None, bool]:
        """The cables (egress, ingress) from a port to a LID; none and the reason if it does not
        arrive; and whether that is unknown, for lack of a table. `adaptive`: every cable that
        adaptive routing may take. Raises InputError."""
        with refusals():
            return self._handle.trace(node, port, lid, adaptive)

    def export(self, format_: str) -> tuple[str, list[str]]:
        """The text for 'ibsim', 'slurm' or 'graphml', and what it leaves out or changes."""
        with refusals():
            return self._handle.export(format_)

    def fabric_document(
        self, name: str, bits_per_s: int, delay_ps: int
    ) -> tuple[dict[str, Any], list[str]]:
        """The fabric document, and what it leaves out or changes.

        `bits_per_s` is the rate of cables without one, `delay_ps` the delay of all cables.
        Raises InputError where no adapter has a cable.
        """
        with refusals():
            text, changed = self._handle.export("fabric", name, bits_per_s, delay_ps)
        return json.loads(text), changed

    def name(self, node: int, port: int | None = None) -> str:
        """'leaf003' or 'leaf003[5]': how people read a node or one of its ports."""
        description = self.nodes[node].description
        return description if port is None else f"{description}[{port}]"


def paths_of_ports(loads: "PortLoads") -> list[tuple[PortKey, int]]:
    """Each port between switches with its paths."""
    ends = zip(loads["node"].tolist(), loads["port"].tolist(), strict=True)
    return list(zip(ends, loads["n_paths"].tolist(), strict=True))


def _node(index: int, record: Mapping[str, Any]) -> SubnetNode:
    values = dict(record)
    values.pop("lmc")
    values["port_lids"] = {int(port): lid for port, lid in values["port_lids"].items()}
    values["uncabled"] = tuple(values["uncabled"])
    return SubnetNode(index=index, **values)


def _require_readable(path: str) -> None:
    if path == "-":
        return
    if not Path(path).exists():
        raise InputError(f"there is no file '{path}'", expected="files that a tool wrote, or -")
    if Path(path).is_dir():
        raise InputError(
            f"'{path}' is a directory", expected="files", hint=f"name them: {path.rstrip('/')}/*"
        )
    refuse_endless(path, expected="files that a tool wrote, or <(zcat FILE)")


def is_parsed_at_once(paths: Sequence[str]) -> bool:
    """Whether the files are documents, which are parsed once all of their bytes are read; the other
    formats are read line by line."""
    return any(path.endswith(".json") for path in paths)


def _at_work_on(paths: Sequence[str]) -> AbstractContextManager[Any]:
    part = BYTES_PART if is_parsed_at_once(paths) else 1.0
    return engine_at_work("reading files", part)


@contextmanager
def _interruptible() -> Iterator[None]:
    """Let Ctrl-C end the program while the engine waits for a pipe: there is nothing to save."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
