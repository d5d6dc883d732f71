"""Values of the audit's findings: ports, cables, counters, and what is wrong with them.

A field's name is its key in JSON; a field that is None has no key.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from weft.core.finding import Finding, FindingFacts


@dataclass(frozen=True, slots=True)
class AuditPort:
    """One port; `port` is None for a node as a whole. Without a GUID only the name is known."""

    node: str
    guid: str = ""
    port: int | None = None
    system: str = ""
    board: str = ""
    chip: str = ""

    def to_record(self) -> dict[str, Any]:
        """All its names; the one name where there is no other."""
        names = {field.name: getattr(self, field.name) for field in fields(self)}
        return names if self.guid else {"node": self.node}


@dataclass(frozen=True, slots=True)
class UnknownEnd:
    """The end of a missing cable whose port is not clear; `unit` is the switch or chassis."""

    unit: str | None

    def to_record(self) -> dict[str, Any]:
        """The unit alone."""
        return {"unit": self.unit}


@dataclass(frozen=True, slots=True)
class AuditCable:
    """Both ends of a cable that is there or missing; `rate` as its ports report it."""

    a: AuditPort
    b: AuditPort | UnknownEnd | None = None
    rate: str | None = None


@dataclass(frozen=True, slots=True)
class AuditedPort:
    """A port, the other end of its cable, and the one value that a rule read there."""

    port: AuditPort
    peer: AuditPort | UnknownEnd | None = None
    grew_by: int | None = None
    share: float | None = None
    value: int | None = None
    rates: Mapping[str, float] | None = None

    def to_record(self) -> dict[str, Any]:
        """The port's own keys, then the others."""
        record = record_of(self)
        return {**record.pop("port"), **record}


@dataclass(frozen=True, slots=True)
class MissingAdapters:
    """A node, and the adapters of its kind that are not in the subnet."""

    node: str
    missing: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class AuditFacts(FindingFacts):
    """The part of every finding of the audit: its rule, and its fix."""

    rule: str = ""
    fix: str = ""

    def to_record(self) -> dict[str, Any]:
        """The rule first, the fix last."""
        record = record_of(self)
        rule, fix = record.pop("rule"), record.pop("fix")
        return {"rule": rule, **record, **({"fix": fix} if fix else {})}

    def places(self) -> tuple[AuditedPort, ...]:
        """Cables by their first end; where there are none the ports, switches or nodes."""
        cables: tuple[AuditCable, ...] = getattr(self, "cables", None) or ()
        ports: tuple[AuditedPort, ...] = getattr(self, "ports", ())
        alone = [*getattr(self, "switches", ()), *getattr(self, "nodes", ())]
        return (
            tuple(AuditedPort(cable.a, cable.b) for cable in cables)
            or ports
            or tuple(AuditedPort(port) for port in map(_port_of, alone) if port is not None)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CableFacts(AuditFacts):
    """Cables, and the rate or number of them that was expected."""

    cables: tuple[AuditCable, ...]
    expected: str | int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchFacts(AuditFacts):
    """Switches, with their cables or their taper."""

    switches: tuple[AuditPort, ...]
    cables: tuple[AuditCable, ...] | None = None
    taper: float | None = None
    expected: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeFacts(AuditFacts):
    """Nodes that are not there, or lack adapters."""

    nodes: tuple[AuditPort | MissingAdapters, ...]
    expected: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PortStateFacts(AuditFacts):
    """Ports that stay in a state, and the cables in them."""

    state: str
    cables: tuple[AuditCable, ...] | None = None
    ports: tuple[AuditedPort, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterFacts(AuditFacts):
    """Ports by a counter; bit error rates have no counter."""

    counter: str | None = None
    ports: tuple[AuditedPort, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GrowthFacts(CounterFacts):
    """A counter that grew in `seconds`, None where nothing says how long."""

    seconds: float | None

    def to_record(self) -> dict[str, Any]:
        """`seconds` has its key even where it is None."""
        record = super(GrowthFacts, self).to_record()
        fix = {"fix": record.pop("fix")} if "fix" in record else {}
        return {**record, "seconds": self.seconds, **fix}


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterNames(AuditFacts):
    """Counters of ports that could not be judged."""

    counters: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteFacts(AuditFacts):
    """LIDs that no route reaches, and the switches where routes end."""

    lids: tuple[int, ...]
    switches: tuple[AuditPort, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryFacts(AuditFacts):
    """Table entries that changed, of those compared; the ports that the first of them led by before
    and lead by now."""

    n_changed: int
    n_compared: int
    ports: tuple[AuditedPort, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ValleyFacts(AuditFacts):
    """Paths that come down and go up again, and the switches where they turn."""

    n_paths: int
    switches: tuple[AuditPort, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CreditLoopFacts(AuditFacts):
    """Service levels with a credit loop, and the cables of one loop."""

    service_levels: tuple[int, ...]
    cables: tuple[AuditCable, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutingEngineFacts(AuditFacts):
    """The routing engine that was configured, and the one in use."""

    asked: str
    used: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GuidFacts(AuditFacts):
    """A GUID that several nodes have."""

    guid: str
    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LidFacts(AuditFacts):
    """LIDs that two ports have."""

    lids: tuple[int, ...]
    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RateFacts(AuditFacts):
    """The rate (Gb/s) that the platform's links have."""

    expected: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LineFacts(AuditFacts):
    """Lines of files that contradict each other or were not understood."""

    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovedFacts(AuditFacts):
    """Log lines of nodes that left the subnet."""

    removed: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LogErrorFacts(AuditFacts):
    """Errors of a subnet manager's log."""

    errors: tuple[str, ...]


def facts_of(finding: Finding) -> AuditFacts:
    """The values of one of the audit's own findings."""
    assert isinstance(finding.facts, AuditFacts)
    return finding.facts


def record_of(value: Any) -> dict[str, Any]:
    """A dataclass as plain JSON values, without the fields that are None."""
    items = ((field.name, getattr(value, field.name)) for field in fields(value))
    return {name: _plain(item) for name, item in items if item is not None}


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return dict(value)
    if hasattr(value, "to_record"):
        return value.to_record()
    return record_of(value) if is_dataclass(value) else value


def _port_of(place: AuditPort | MissingAdapters | str) -> AuditPort | None:
    if isinstance(place, MissingAdapters):
        return AuditPort(place.node)
    return place if isinstance(place, AuditPort) else None
