"""The kinds of faults of the scoreboard: how each is planted in a twin, and the right answer."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from itertools import islice
from random import Random
from typing import Any

from benches.check_figures import figures

from weft.bench.twin.fault import Fault, parse_fault, vertex_of

Document = Mapping[str, Any]
Thing = tuple[str, tuple[str, ...]]
"""A physical thing: ("cable", its two ports, sorted), ("hca", one), ("node", one)..."""

Ends = tuple[str, str]

MOST_HOPS = 16
"""Switches on a path of a fabric of the scoreboard, at most."""


class When(StrEnum):
    """The readings that a fault shows in: all that cross it, those of its direction, or those of
    some moments."""

    ALWAYS = "always"
    ONE_WAY = "one way"
    AT_TIMES = "at times"


@dataclass(frozen=True, slots=True)
class Planted:
    """One fault of a case.

    `things`: the component, by every name that is right for it; `parts`: its cables, if all of them
    are as right; `around`: a thing that holds it. `node` is where it is, None for a place between
    switches. `faults` are planted by the twin, `entry` is a wrong entry of a forwarding table,
    `delay_ns` is on each cable of the node, and `swapped` are ends of two cables, all planted in
    the fabric. `when`: `first` is the port that sends into the slow direction; `share` is that of
    the moments. `is_load`: other traffic, which is no fault of any component.
    """

    kind: str
    text: str
    things: frozenset[Thing]
    node: str | None = None
    faults: tuple[Fault, ...] = ()
    parts: frozenset[Thing] = frozenset()
    around: frozenset[Thing] = frozenset()
    delay_ns: int = 0
    swapped: Ends | None = None
    entry: tuple[str, str, int] | None = None
    when: When = When.ALWAYS
    first: str = ""
    share: float = 1.0
    is_load: bool = False

    @property
    def is_sporadic(self) -> bool:
        """Whether it shows in some of the readings that cross it."""
        chance = any(fault.kind in ("lost", "noise") for fault in self.faults)
        return chance or self.when is When.AT_TIMES

    @property
    def is_dead(self) -> bool:
        """Whether messages go around it."""
        return any(fault.kind == "down" for fault in self.faults)

    @property
    def depth(self) -> float:
        """The share of its speed that a slow component loses; 1 for every other kind of fault."""
        loss = {"rate": lambda rate: 1 - rate, "slow": lambda times: 1 - 1 / times}
        lost = [loss[f.kind](*f.values) for f in self.faults if f.kind in loss]
        return float(max(lost, default=1.0))

    @property
    def all_things(self) -> frozenset[Thing]:
        """Everything that is truly slow."""
        return self.things | self.parts


class Site:
    """A fabric where faults are planted; what is asked of it first is kept."""

    def __init__(self, document: Document, lanes: str) -> None:
        self.document, self.lanes = document, lanes
        self.nodes: list[Document] = list(document["nodes"])

    @cached_property
    def inner(self) -> list[Ends]:
        """Every cable that joins two switches."""
        return between_switches(self.document)

    @cached_property
    def inner_of(self) -> dict[str, list[Ends]]:
        """The same by switch, the end at it first."""
        found: dict[str, list[Ends]] = {}
        for a, b in self.inner:
            found.setdefault(vertex_of(a), []).append((a, b))
            found.setdefault(vertex_of(b), []).append((b, a))
        return found

    @cached_property
    def part_of(self) -> dict[str, str]:
        """By switch, one that stands for all that it can reach over switches: its plane."""
        return parts_of(self.inner)

    @cached_property
    def own_ends(self) -> dict[str, Ends]:
        """The cable of each adapter, the adapter's end first."""
        hcas = {hca for node in self.nodes for hca in node["hcas"]}
        ends = [(link["a"], link["b"]) for link in self.document["links"]]
        both = [*ends, *((b, a) for a, b in ends)]
        return {vertex_of(a): (a, b) for a, b in both if vertex_of(a) in hcas}

    @cached_property
    def at_switch(self) -> dict[str, list[Ends]]:
        """Every cable of a switch, the end at it first."""
        found = {name: list(ends) for name, ends in self.inner_of.items()}
        for hca_end, switch_end in self.own_ends.values():
            found.setdefault(vertex_of(switch_end), []).append((switch_end, hca_end))
        return found

    def things_of_adapter(self, hca: str) -> frozenset[Thing]:
        """An adapter with its cable; with its node, which has no other."""
        (node,) = (node for node in self.nodes if hca in node["hcas"])
        things = {cable(*self.own_ends[hca]), ("hca", (hca,))}
        return frozenset(
            things | ({("node", (node["name"],))} if len(node["hcas"]) == 1 else set())
        )

    def nodes_of(self, hcas: list[str]) -> frozenset[Thing]:
        """The nodes that have no other adapters."""
        some = set(hcas)
        return frozenset(
            ("node", (node["name"],)) for node in self.nodes if some >= {*node["hcas"]}
        )

    def other_entries(self, switch: str, hca: str) -> Iterator[tuple[int, Ends]]:
        """Ports of a switch that lead to an adapter as well, and are not the port of its table."""
        hcas = [hca for node in self.nodes for hca in node["hcas"]]
        tables, to = self.document["lfts"], hcas.index(hca)
        peer = {a: b for of in self.at_switch.values() for a, b in of}

        def arrives(at: str) -> bool:
            for _ in range(MOST_HOPS):
                if at in (hca, switch) or at not in tables:
                    break
                at = vertex_of(peer.get(f"{at}[{tables[at][to]}]", "[1]"))
            return at == hca

        for ends in self.inner_of.get(switch, ()):
            number = int(ends[0].rpartition("[")[2][:-1])
            if number != tables[switch][to] and arrives(vertex_of(ends[1])):
                yield number, ends


def parts_of(cables: Iterable[Ends]) -> dict[str, str]:
    """By switch or adapter at an end of these cables, one that stands for all that it reaches over
    them."""
    ends = [(vertex_of(a), vertex_of(b)) for a, b in cables]
    found = {name: name for both in ends for name in both}
    before: dict[str, str] = {}
    while found != before:
        before = dict(found)
        for a, b in ends:
            found[a] = found[b] = min(found[a], found[b])
    return found


def between_switches(fabric: Document) -> list[Ends]:
    """Every cable that joins two switches."""
    switches = {switch["name"] for switch in fabric["switches"]}
    ends = [(link["a"], link["b"]) for link in fabric["links"]]
    return [(a, b) for a, b in ends if {vertex_of(a), vertex_of(b)} <= switches]


def cable(a: str, b: str) -> Thing:
    """A cable as a thing."""
    return ("cable", (min(a, b), max(a, b)))


def _of_faults(kind: str, texts: list[str], things: frozenset[Thing], **given: Any) -> Planted:
    faults = tuple(parse_fault(text) for text in texts)
    return Planted(kind, given.pop("text", texts[0]), things, faults=faults, **given)


def _uplink(kind: str, site: Site, draws: Random) -> Planted | None:
    if not site.inner:
        return None
    a, b = draws.choice(site.inner)
    things, given = frozenset({cable(a, b)}), dict[str, Any]()
    fault = "down"
    if kind == "uplink-slow":
        fault = f"rate={1 - drawn(kind, 'loss', draws):.4f}"
    elif kind == "cable-lossy":
        fault = f"lost={drawn(kind, 'probability', draws):.3g}"
    elif kind == "cable-flapping":
        fault = f"rate={drawn(kind, 'rate', draws):.4f}"
        given = {"when": When.AT_TIMES, "share": drawn(kind, "share", draws)}
        given["text"] = f"{a} {fault} in {given['share']:.2f} of the moments"
    return _of_faults(kind, [f"{a} {fault}"], things, **given)


def _adapter(kind: str, site: Site, draws: Random) -> Planted:
    node = draws.choice(site.nodes)
    hca = draws.choice(node["hcas"])
    fault = f"lanes={site.lanes}"
    if kind == "nic-slow":
        fault = f"rate={1 - drawn(kind, 'loss', draws):.4f}"
    text = f"{site.own_ends[hca][0]} {fault}"
    return _of_faults(kind, [text], site.things_of_adapter(hca), node=node["name"])


def _node(kind: str, site: Site, draws: Random) -> Planted:
    name = draws.choice(site.nodes)["name"]
    things = frozenset({("node", (name,))})
    if kind == "node-latency":
        delay_ns = round(drawn(kind, "delay_ns", draws))
        return Planted(kind, f"{name} +{delay_ns} ns", things, name, delay_ns=delay_ns)
    text = f"{name} slow={drawn('node-slow', 'slower', draws):.3f}"
    if kind == "node-noisy":
        often, mean_ns = (drawn(kind, key, draws) for key in ("probability", "mean_ns"))
        text = f"{name} noise={often:.3f},{mean_ns:.0f}"
    return _of_faults(kind, [text], things, node=name)


def _one_direction(kind: str, site: Site, draws: Random) -> Planted:
    """Of a cable between switches, or of an adapter's."""
    fault = f"rate={1 - drawn(kind, 'loss', draws):.4f}"
    node, hca = None, ""
    if site.inner and draws.random() < 0.5:
        a, b = draws.choice(site.inner)
        things = frozenset({cable(a, b)})
    else:
        node = draws.choice(site.nodes)
        hca = draws.choice(node["hcas"])
        (a, b), things = site.own_ends[hca], site.things_of_adapter(hca)
    first, last = draws.choice(((a, b), (b, a)))
    given: dict[str, Any] = {"when": When.ONE_WAY, "first": first}
    given["text"] = f"{first} to {last} {fault}"
    return _of_faults(kind, [f"{a} {fault}"], things, node=node and node["name"], **given)


def _several(kind: str, site: Site, draws: Random) -> Planted | None:
    """A switch, or a card of one: a quarter of its cables between switches, side by side."""
    least = 2 if kind == "switch-slow" else 8
    switches = sorted(name for name, of in site.inner_of.items() if len(of) >= least)
    if not switches:
        return None
    switch = draws.choice(switches)
    cables = site.at_switch[switch]
    if kind == "line-card":
        inner = site.inner_of[switch]
        n = len(inner) // 4
        first = n * draws.randrange(4)
        cables = inner[first : first + n]
    fault = f"rate={1 - drawn(kind, 'loss', draws):.4f}"
    parts = {cable(*ends) for ends in cables}
    hcas = [hca for hca, ends in site.own_ends.items() if cable(*ends) in parts]
    whole = frozenset({("switch", (switch,))})
    return _of_faults(
        kind,
        [f"{ends[0]} {fault}" for ends in cables],
        whole if kind == "switch-slow" else frozenset(),
        around=whole,
        parts=frozenset(parts).union(*map(site.things_of_adapter, hcas), site.nodes_of(hcas)),
        text=f"{switch}, {len(cables)} cables from {cables[0][0]}: {fault}",
    )


def _aggressor(kind: str, site: Site, draws: Random) -> Planted | None:
    """Traffic of others over some cables of a switch, now and then: messages share these."""
    if not site.inner_of:
        return None
    of = site.inner_of[draws.choice(sorted(site.inner_of))]
    cables = draws.sample(of, min(len(of), draws.randint(1, 4)))
    flows, share = draws.choice((1, 2)), drawn(kind, "share", draws)
    loaded = frozenset(cable(*ends) for ends in cables)
    fault = f"rate={1 / (1 + flows):.4f}"
    where = f"{flows} flows beside each message over {', '.join(ends[0] for ends in cables)}"
    return _of_faults(
        kind,
        [f"{ends[0]} {fault}" for ends in cables],
        frozenset(),
        parts=loaded,
        text=f"{where} in {share:.2f} of the moments",
        when=When.AT_TIMES,
        share=share,
        is_load=True,
    )


def _wrong_entry(kind: str, site: Site, draws: Random) -> Planted | None:
    """A switch sends what is meant for one adapter to another port that leads there as well."""
    if not site.document.get("lfts"):
        return None
    for _ in range(20):
        switch = draws.choice(sorted(site.inner_of or {"": []}))
        hca = draws.choice(draws.choice(site.nodes)["hcas"])
        found = list(islice(site.other_entries(switch, hca), 64)) if switch else []
        if found:
            number, ends = draws.choice(found)
            things = frozenset({("switch", (switch,)), cable(*ends)})
            text = f"{switch} sends to {hca} by port {number}"
            return Planted(kind, text, things, entry=(switch, hca, number))
    return None


def _swapped(kind: str, site: Site, draws: Random) -> Planted | None:
    """The ends of two cables at different switches, exchanged."""
    if len(site.inner) < 2:
        return None
    for _ in range(20):
        (a, far_a), (b, far_b) = draws.sample(site.inner, 2)
        switches = [vertex_of(end) for end in (a, b, far_a, far_b)]
        if len(set(switches)) == 4 and site.part_of[switches[0]] == site.part_of[switches[1]]:
            things = frozenset({cable(a, far_a), cable(b, far_b)})
            around = frozenset(
                ("path", tuple(sorted(pair)))
                for pair in (switches[:2], switches[2:])
                if not _have_common_switch(site.inner, {a: b, b: a}, pair)
            )
            return Planted(kind, f"{a} and {b} exchanged", things, swapped=(a, b), around=around)
    return None


def _have_common_switch(
    inner: Sequence[Ends], place: Mapping[str, str], pair: Sequence[str]
) -> bool:
    """Whether a path over one switch joins two, with ends of cables at other places; else their
    path is longer."""
    beside: dict[str, set[str]] = {}
    for ends in inner:
        one, other = (vertex_of(place.get(end, end)) for end in ends)
        beside.setdefault(one, set()).add(other)
        beside.setdefault(other, set()).add(one)
    return bool(beside[pair[0]] & beside[pair[1]])


PLANTS: Mapping[str, Callable[[str, Site, Random], Planted | None]] = {
    "nic-slow": _adapter,
    "nic-half": _adapter,
    "uplink-slow": _uplink,
    "uplink-down": _uplink,
    "node-slow": _node,
    "node-latency": _node,
    "wrong-entry": _wrong_entry,
    "cables-swapped": _swapped,
    "cable-lossy": _uplink,
    "switch-slow": _several,
    "line-card": _several,
    "one-direction": _one_direction,
    "aggressor": _aggressor,
    "node-noisy": _node,
    "cable-flapping": _uplink,
}
KINDS = tuple(PLANTS)


def drawn(kind: str, key: str, draws: Random) -> float:
    """A figure between its least and its most; times and probabilities evenly by their order of
    magnitude."""
    least, most = figures()["kinds"][kind][key]
    if key.endswith("_ns") or key == "probability":
        return math.exp(draws.uniform(math.log(least), math.log(most)))
    return draws.uniform(least, most)
