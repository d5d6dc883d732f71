"""Statements of a fabric's own files about cables and adapters: link state and counters, by
thing."""

import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from weft.audit.case import AuditCase, PortKey
from weft.audit.counters.interval import interval_of
from weft.audit.facts import (
    AuditedPort,
    AuditFacts,
    AuditPort,
    CableFacts,
    CounterFacts,
    PortStateFacts,
    facts_of,
)
from weft.audit.rules import RULES, Rule
from weft.catalog.document import Document
from weft.check.readings.components import Thing, vertex_of
from weft.core.documents.document_text import MOST_JSON_BYTES
from weft.core.documents.text_file import read_file_bytes
from weft.core.errors import InputError
from weft.core.files import write_part
from weft.core.finding import FAULTS, Finding, Severity
from weft.topology.subnet.place_names import host_of
from weft.topology.subnet.subnet import Subnet, SubnetCable

MARKS_FILE = "marks.json"


ABOUT_ONE_THING = (
    "slow-cables",
    "stuck-ports",
    "bit-errors",
    "odd-fec",
    "error-rates",
    "error-totals",
)
"""Rules of the audit about single cables and ports."""

OWN_RATE = "slow-cables"
"""The rule that finds cables below their rate."""

GROWN = "error-rates"
"""The rule that finds counters that grew between two readings."""

MISSING = "missing-up-links"
"""The rule that finds switches with fewer cables up than their siblings."""

_BIT_ERRORS = "bit-errors"

_NUMBERED = re.compile(r"#\d+(?=\[\d+\]$)")


@dataclass(frozen=True, slots=True)
class Mark:
    """One statement of the files about one thing: the audit's `rule`, one line, what to do.
    `damage`: bits or packets are damaged on this very cable, or the link went down. `growing`: more
    and more of them are, by more than one or two and than what a host that reboots counts."""

    thing: Thing
    rule: str
    severity: Severity
    says: str
    fix: str
    damage: bool = False
    growing: bool = False

    @property
    def is_fault(self) -> bool:
        """Whether the statement is that something is, or may be, wrong."""
        return self.severity in FAULTS

    @property
    def is_damage(self) -> bool:
        """Whether the statement is that packets are, or were, lost on this cable."""
        return self.damage and self.is_fault


@dataclass(frozen=True, slots=True)
class Marks:
    """All statements, in the order of the audit's rules; `counted` cables have both ends' counters
    in the files, `n_strange` statements are about things that the fabric lacks. `doubts`:
    sentences about files that do not fit the fabric."""

    marks: tuple[Mark, ...] = ()
    counted: frozenset[Thing] = frozenset()
    n_strange: int = 0
    doubts: tuple[str, ...] = ()

    def of(self, things: Iterable[Thing]) -> tuple[Mark, ...]:
        """The statements about any of these things."""
        wanted = set(things)
        return tuple(mark for mark in self.marks if mark.thing in wanted)

    def joined(self, more: "Marks") -> "Marks":
        """These statements and the others, each once."""
        return Marks(
            tuple(dict.fromkeys((*self.marks, *more.marks))),
            self.counted | more.counted,
            self.n_strange + more.n_strange,
            tuple(dict.fromkeys((*self.doubts, *more.doubts))),
        )

    def without_fabric(self) -> "Marks":
        """The statements about nodes: those about cables have no meaning without their fabric."""
        of_nodes = tuple(mark for mark in self.marks if mark.thing[0] == "node")
        return Marks(of_nodes, doubts=self.doubts)


NO_MARKS = Marks()


class _MarksFile(Document):
    """The statements as a run directory keeps them."""

    schema_: Literal["weft.check_marks/1"] = Field(alias="schema")
    marks: tuple[Mark, ...]
    counted: tuple[Thing, ...]
    n_strange: int
    doubts: tuple[str, ...] = ()


class PortNames:
    """How a fabric document names the cables of the subnet that it was made of."""

    def __init__(
        self, subnet: Subnet, document: Mapping[str, Any], own: Set[int] | None = None
    ) -> None:
        self._subnet = subnet
        self._own = own
        self._document = document
        self._switches = {str(switch["name"]) for switch in document["switches"]}
        self._found: dict[tuple[PortKey, PortKey], Thing | None] = {}

    @cached_property
    def _links(self) -> Mapping[frozenset[str], Sequence[tuple[str, str]]]:
        """Cables of the document by the names of their ends."""
        links: dict[frozenset[str], list[tuple[str, str]]] = defaultdict(list)
        for link in self._document["links"]:
            ends = (str(link["a"]), str(link["b"]))
            links[frozenset(_NUMBERED.sub("", end) for end in ends)].append(ends)
        return links

    @cached_property
    def _n_cabled(self) -> Mapping[int, int]:
        """How many ports of a node of the subnet have a cable."""
        return Counter(end.node for cable in self._subnet.cables for end in cable.ends)

    def cable(self, cable: SubnetCable) -> Thing | None:
        """The cable by both its ports' names; None where the document has none or several such."""
        key = (cable.a.key, cable.b.key)
        if key not in self._found:
            self._found[key] = self._cable(cable)
        return self._found[key]

    def switch(self, description: str) -> Thing | None:
        """A switch by its name; None where the document has none such."""
        return ("switch", (description,)) if description in self._switches else None

    def _cable(self, cable: SubnetCable) -> Thing | None:
        guids = {self._subnet.nodes[end.node].guid for end in cable.ends}
        if self._own is not None and not guids <= self._own:
            # Another fabric may have nodes of the same names.
            return None
        here, there = (self._candidates(*end.key) for end in cable.ends)
        for a in here:
            for b in there:
                found = self._links.get(frozenset((a, b)), ())
                if len(found) == 1:
                    return ("cable", tuple(sorted(found[0])))
        return None

    def _candidates(self, node: int, port: int) -> list[str]:
        """Names of a port: in a subnet's document, and in a document that weft generated."""
        name = self._subnet.nodes[node].description
        if self._subnet.nodes[node].is_switch:
            return [f"{name}[{port}]"]
        host = host_of(name)
        device = name[len(host) :].strip(" /") or "hca"
        # Where the description is the factory's, the document names the node by its GUID.
        by_guid = f"0x{self._subnet.nodes[node].guid:016x}/hca"
        adapters = [f"{host}/{device}", f"{name}/hca", name, name.replace(" ", "/"), by_guid]
        if self._n_cabled[node] > 1:
            adapters = [f"{adapter}/{port}" for adapter in adapters]
        return [f"{adapter}[1]" for adapter in dict.fromkeys(adapters)]


def marked(
    subnet: Subnet, document: Mapping[str, Any], own: Set[int] | None = None
) -> tuple[Marks, Mapping[str, Any]]:
    """The statements of a subnet's files about the cables of its document, and the document with
    each cable at its intended rate. `own`: the GUIDs of the fabric, whatever others the files have;
    None: all. Raises InputError on damaged counters."""
    case = AuditCase(subnet, interval=interval_of(subnet, None, None))
    names = PortNames(subnet, document, own)
    marks = marks_of(case, names)
    return marks, as_meant(document, case, names, marks)


def marks_of(case: AuditCase, names: PortNames) -> Marks:
    """The findings of the audit's rules about single cables, by thing. Computes no path."""
    places = _Places(case, names)
    marks: list[Mark] = []
    n_strange = 0
    for rule, finding in _findings(case):
        fix, damage = facts_of(finding).fix, _is_damage(case, rule, finding)
        for place, says in places.statements(finding):
            port = place.port
            thing = names.switch(port.node) if rule.name == MISSING else places.thing(port)
            if thing is None:
                n_strange += 1
                continue
            growing = damage and _is_growing(case, finding, place)
            marks.append(Mark(thing, rule.name, finding.severity, says, fix, damage, growing))
    return Marks(tuple(dict.fromkeys(marks)), places.counted(), n_strange)


def _findings(case: AuditCase) -> Iterator[tuple[Rule, Finding]]:
    """The findings about single cables, and about missing ones."""
    for rule in RULES:
        if rule.name in (*ABOUT_ONE_THING, MISSING):
            for finding in rule.judge(case).findings:
                if rule.name != MISSING or finding.severity is Severity.BAD:
                    yield rule, finding


def _is_damage(case: AuditCase, rule: Rule, finding: Finding) -> bool:
    counted = case.thresholds.counters.get(_counter(facts_of(finding)))
    return rule.name == _BIT_ERRORS or (counted is not None and counted.of_this_cable)


def _counter(facts: AuditFacts) -> str:
    return (facts.counter or "") if isinstance(facts, CounterFacts) else ""


def _is_growing(case: AuditCase, finding: Finding, place: AuditedPort) -> bool:
    counted = case.thresholds.counters.get(_counter(facts_of(finding)))
    enough = (place.grew_by or 0) >= case.thresholds.least_growth.value
    return enough and counted is not None and not counted.of_reboots


class _Places:
    """From facts of the audit's findings to things of the document."""

    def __init__(self, case: AuditCase, names: PortNames) -> None:
        self._case = case
        self._names = names
        self._node_of = {node.guid: node.index for node in case.subnet.nodes}

    def statements(self, finding: Finding) -> Iterator[tuple[AuditedPort, str]]:
        """Each place a finding is about, with its sentence or its line of the evidence."""
        facts = facts_of(finding)
        places = facts.places()
        if len(places) == 1:
            yield places[0], finding.sentence
        elif len(places) <= len(finding.evidence):
            what = facts.state if isinstance(facts, PortStateFacts) else _counter(facts)
            before = f"{what}: " if what else ""
            expected = facts.expected if isinstance(facts, CableFacts) else None
            after = "" if expected is None else f" instead of {expected}"
            for place, line in zip(places, finding.evidence, strict=False):
                yield place, f"{before}{line}{after}"

    def thing(self, port: AuditPort) -> Thing | None:
        """The cable of a port; None where the document has none such."""
        node = self._node_of.get(int(port.guid or "-1", 0))
        if node is None or port.port is None:
            return None
        cable = self._case.subnet.cable_at.get((node, port.port))
        return None if cable is None else self._names.cable(cable)

    def counted(self) -> frozenset[Thing]:
        """Cables with counters of both their ports."""
        readings = self._case.readings.items()
        known = {key for key, of in readings if any(reading["counters"] for reading in of)}
        things = (
            self._names.cable(cable)
            for cable in self._case.subnet.cables
            if known.issuperset(end.key for end in cable.ends)
        )
        return frozenset(thing for thing in things if thing is not None)


def as_meant(
    document: Mapping[str, Any], case: AuditCase, names: PortNames, marks: Marks
) -> dict[str, Any]:
    """The document with the rate of its siblings for each cable that the files find too slow: pairs
    over it are then compared with that rate, not with their own."""
    slow = {
        mark.thing
        for mark in marks.marks
        if mark.rule == OWN_RATE and mark.severity is Severity.BAD
    }
    if not slow:
        return dict(document)
    usual = _usual_rates(case, names, slow)
    links, changes = [], []
    for link in document["links"]:
        thing = ("cable", tuple(sorted((str(link["a"]), str(link["b"])))))
        bits_per_s = usual.get(thing, 0)
        if bits_per_s <= int(link["bits_per_s"]):
            links.append(link)
            continue
        links.append({**link, "bits_per_s": bits_per_s})
        gbps, was = bits_per_s / 1e9, int(link["bits_per_s"]) / 1e9
        changes.append(f"{link['a']} - {link['b']} at {gbps:g} Gb/s as its siblings, not {was:g}")
    assumed = [*document.get("assumed", ()), *changes]
    return {**document, "links": links, "assumed": assumed}


def _usual_rates(case: AuditCase, names: PortNames, slow: set[Thing]) -> dict[Thing, int]:
    """By slow cable the rate (bit/s) that most cables between its kinds of ends run at."""
    kinds: dict[tuple[str, ...], list[float]] = defaultdict(list)
    own: dict[Thing, tuple[str, ...]] = {}
    for cable in case.subnet.cables:
        kind = tuple(sorted(_kind(case, end.node) for end in cable.ends))
        rates = [end.gbps for end in cable.ends if end.gbps]
        thing = names.cable(cable)
        if thing in slow:
            own[thing] = kind
        elif rates:
            kinds[kind].append(min(rates))
    return {
        thing: round(max(set(rates), key=rates.count) * 1e9)
        for thing, kind in own.items()
        if (rates := kinds[kind])
    }


def _kind(case: AuditCase, node: int) -> str:
    found = case.subnet.nodes[node]
    return f"switch {case.wiring.level(node)}" if found.is_switch else f"adapter {found.device}"


def related(thing: Thing, owners: Mapping[str, str]) -> tuple[Thing, ...]:
    """A cable, and the adapter and node that it is the cable of. `owners`: the node of each HCA."""
    if thing[0] != "cable":
        return (thing,)
    hcas = [vertex for vertex in map(vertex_of, thing[1]) if vertex in owners]
    of_hcas: list[Thing] = [("hca", (hca,)) for hca in hcas]
    of_nodes: list[Thing] = [("node", (owners[hca],)) for hca in hcas]
    return (thing, *of_hcas, *of_nodes)


def keep(marks: Marks, run_dir: Path) -> None:
    """Write the statements into a run directory, for whoever judges the run again."""
    counted = tuple(sorted(marks.counted))
    file = _MarksFile(
        schema="weft.check_marks/1",
        marks=marks.marks,
        counted=counted,
        n_strange=marks.n_strange,
        doubts=marks.doubts,
    )
    text = file.model_dump_json(indent=1, by_alias=True) + "\n"
    write_part(run_dir / MARKS_FILE, text, what="record of the fabric's files")


def of_run(run_dir: Path) -> Marks:
    """The statements kept in a run directory; none where there are none. Raises InputError for a
    damaged file and for one of another version."""
    path = run_dir / MARKS_FILE
    if not os.path.lexists(path):
        return NO_MARKS
    content = read_file_bytes(path, expected="statements of a check", most_bytes=MOST_JSON_BYTES)
    try:
        file = _MarksFile.model_validate_json(content)
    except ValueError as error:
        raise InputError(
            "these are no statements of a check",
            where=str(path),
            expected="weft.check_marks/1, as 'weft check' writes it",
            hint=f"move {MARKS_FILE} away to judge the run without the fabric's files",
        ) from error
    return Marks(file.marks, frozenset(file.counted), file.n_strange, file.doubts)
