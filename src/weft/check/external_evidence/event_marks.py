"""Link events as statements about cables and nodes: damage during a check, else a note."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from weft.check.external_evidence.fabric_marks import Mark, Marks, PortNames
from weft.check.external_evidence.link_events import LinkEvent, log_of, read_events
from weft.check.readings.components import Thing, vertex_of
from weft.core.errors import InputError
from weft.core.finding import Severity
from weft.core.nodeset import short_name
from weft.core.words import counted
from weft.topology.subnet.subnet import Subnet, SubnetCable

EVENTS = "link-events"
"""The rule of these statements."""

BEFORE, DURING, AFTER, UNDATED = "before", "during", "after", "undated"
_WHEN = {
    BEFORE: "before the check",
    DURING: "during the check",
    AFTER: "after the check",
    UNDATED: "at an unknown time (the log has the time since boot only: use dmesg -T)",
}


@dataclass(frozen=True, slots=True)
class CheckSpan:
    """When a check measured: seconds since the Unix epoch."""

    first: float
    last: float

    def when(self, at: float | None) -> str:
        """Where a time is; a log may state whole seconds only."""
        if at is None:
            return UNDATED
        if at + 1 <= self.first:
            return BEFORE
        return DURING if at <= self.last else AFTER


class EventPlaces:
    """From the host or the switch port of an event to a thing of the check. `names` and `subnet`
    are of the fabric's files; None where there are none."""

    def __init__(
        self,
        nodes: Iterable[str],
        document: Mapping[str, Any] | None,
        subnet: Subnet | None = None,
        names: PortNames | None = None,
    ) -> None:
        self._nodes = {short_name(node): node for node in nodes}
        self._document = {"nodes": (), "links": ()} if document is None else document
        self._subnet = subnet
        self._names = names

    @cached_property
    def _cables(self) -> Mapping[str, Thing]:
        """By host its adapter's cable, where it has one adapter."""
        hcas: dict[str, list[str]] = defaultdict(list)
        for node in self._document["nodes"]:
            hcas[short_name(str(node["name"]))] += map(str, node["hcas"])
        owner = {of[0]: node for node, of in hcas.items() if len(of) == 1}
        cables: dict[str, Thing] = {}
        for link in self._document["links"]:
            ends = tuple(sorted((str(link["a"]), str(link["b"]))))
            for end in ends:
                if vertex_of(end) in owner:
                    cables[owner[vertex_of(end)]] = ("cable", ends)
        return cables

    @cached_property
    def _by_port(self) -> Mapping[tuple[int, int], SubnetCable]:
        """Cables by the GUID of a node and its port's number."""
        if self._subnet is None:
            return {}
        return {
            (self._subnet.nodes[end.node].guid, end.port): cable
            for cable in self._subnet.cables
            for end in cable.ends
        }

    def thing(self, event: LinkEvent) -> tuple[Thing | None, bool]:
        """The thing of an event, None of one that the check lacks; and whether it is certain: a
        host may have other adapters than the measured one, and these log alike."""
        for port in event.ports:
            cable = self._by_port.get(port)
            thing = None if cable is None or self._names is None else self._names.cable(cable)
            if thing is not None:
                return thing, True
        node = self._nodes.get(short_name(event.host))
        if event.ports or node is None:
            return None, False
        cable_of_host = self._cables.get(short_name(event.host))
        interface = " ".join(event.adapter.split()[2:])
        if cable_of_host is None or (interface and not interface.startswith("ib")):
            return ("node", (node,)), False
        return cable_of_host, True


def logs_among(files: Sequence[str]) -> dict[str, str]:
    """The logs among files, with their form."""
    forms = {file: log_of(Path(file)) for file in files}
    return {file: log for file, log in forms.items() if log is not None}


def marks_of_logs(logs: Mapping[str, str], span: CheckSpan, places: EventPlaces) -> Marks:
    """The statements of logs. Raises InputError for a log whose events are all of hosts or ports
    that the check lacks."""
    found: dict[tuple[Any, ...], list[LinkEvent]] = defaultdict(list)
    doubts = []
    for file, log in logs.items():
        events = [_with_host(event, file) for event in read_events(Path(file), log, span.first)]
        strange = [event for event in events if places.thing(event)[0] is None]
        if events and len(strange) == len(events):
            raise _foreign(file, strange)
        if strange:
            doubts.append(
                f"{len(strange):,} of {counted(len(events), 'link event')} in {file} are of places"
                f" that this check lacks (such as {_place(strange[0])}): weft leaves them out"
            )
        for event in events:
            thing, sure = places.thing(event)
            if thing is not None:
                found[thing, sure, event.kind.name, span.when(event.at)].append(event)
    marks = tuple(
        _mark(thing, sure, when, events) for (thing, sure, _, when), events in found.items()
    )
    return Marks(marks, doubts=tuple(doubts))


def _with_host(event: LinkEvent, file: str) -> LinkEvent:
    """A log that names no host is that of the host that its file is named after."""
    if event.host or event.ports:
        return event
    return replace(event, host=Path(file).name.partition(".")[0])


def _place(event: LinkEvent) -> str:
    if event.ports:
        guid, port = event.ports[0]
        return f"GUID {guid:#018x} port {port}"
    return f"host {event.host}"


def _foreign(file: str, events: Sequence[LinkEvent]) -> InputError:
    of_hosts = not events[0].ports
    return InputError(
        f"no link event in this log is of this check: {_place(events[0])} is unknown",
        where=file,
        expected="lines that name hosts of the check, or a file named after its host"
        if of_hosts
        else "a log of the fabric that --fabric describes",
        hint="journalctl -k -o short-iso names the host; so does the prefix of pdsh and clush"
        if of_hosts
        else "give --fabric with ibnetdiscover: it has the GUIDs",
    )


def _mark(thing: Thing, sure: bool, when: str, events: Sequence[LinkEvent]) -> Mark:
    kind = events[0].kind
    severity = Severity.NOTE
    if when == DURING:
        severity = Severity.BAD if sure and kind.damage else Severity.WARNING
    dated = [event.at for event in events if event.at is not None]
    first = f", first at {datetime.fromtimestamp(min(dated)):%Y-%m-%d %H:%M:%S}" if dated else ""
    times = "" if len(events) == 1 else f", {len(events):,} times"
    where = _place(events[0]) if events[0].ports else f"{events[0].host} ({events[0].adapter})"
    doubt = "" if sure else "; it may be another adapter than the measured one"
    return Mark(
        thing,
        EVENTS,
        severity,
        f"{where}: {kind.happened} {_WHEN[when]}{times}{first}{doubt}",
        kind.fix,
        damage=severity is Severity.BAD,
        growing=severity is Severity.BAD,
    )
