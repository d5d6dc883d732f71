"""Cases of the ablation: the scoreboard's own, and others of other twins, seeds and tables."""

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from benches.check_case import (
    KINDS,
    Case,
    Noise,
    Planted,
    between_switches,
    draw_case,
    figures,
    healthy_case,
)
from benches.check_ground import Ground, _with_packets
from benches.check_plan import TIMEOUT_S, Launches

from weft.bench.twin.backend import TwinBackend
from weft.catalog.load import platform
from weft.check.launches import check_launches
from weft.check.schedule.rounds.matchings import reflections
from weft.topology.fabric import TABLES_AS_READ, Fabric

UPLINKS = tuple(kind for kind in KINDS if kind.startswith("uplink"))
SCOREBOARD_SEED, OTHER_SEED = 1, 9917
SETTINGS = ("azure-ndv4 static", "azure-ndv4 adaptive", "frontera static", "frontera adaptive")
SCOREBOARD_CASES = 500


@dataclass(frozen=True, slots=True)
class Stratum:
    """Cases of one kind. `want`: at least one planted fault is of these kinds. `tables`: "engine"
    (a known engine filled them), "read" (a subnet manager, which moves the messages of a dead cable
    only), "anew" (one that moves all), "aged" (healthy, messages to one host moved) or "none".
    `busy`: share of readings that other work halves. `time`: what
    the survey's rounds suffer, or all that is measured alone."""

    twin: str
    routing: str
    n_faulty: int
    n_healthy: int
    want: tuple[str, ...] = ()
    only: str | None = None
    schedule: str | None = None
    tables: str = "engine"
    busy: float = 0.0
    time: str = ""

    @property
    def name(self) -> str:
        """Everything that tells it from another."""
        words = [self.twin, self.routing, self.schedule, self.only or "+".join(self.want)]
        words += [self.tables if self.tables != "engine" else "", self.time]
        words += [f"busy {self.busy:g}" if self.busy else ""]
        return ", ".join(word for word in words if word)


def tree(nodes: int, per_leaf: int, spines: int, cables: int, uplink_gbps: int) -> dict[str, Any]:
    """A two-level tree of hosts at 100 Gb/s that OpenSM's default engine routes."""
    return {
        "schema": "weft.fabric/1",
        "generate": "fat_tree",
        "name": f"tree-{nodes}",
        "nodes": nodes,
        "hcas_per_node": 1,
        "host_bits_per_s": 100 * 10**9,
        "host_delay_ps": 415_000,
        "switch_bits_per_s": uplink_gbps * 10**9,
        "switch_delay_ps": 50_000,
        "levels": 2,
        "nodes_per_leaf": per_leaf,
        "spines": spines,
        "cables_per_spine": cables,
        "routing": {"engine": "minhop"},
    }


TREES = {
    "tree-16": tree(16, 4, 4, 1, 100),
    "tree-24": tree(24, 6, 3, 1, 100),
    "tree-48": tree(48, 6, 6, 1, 100),
    "tree-64": tree(64, 8, 4, 2, 100),
    "tree-72": tree(72, 12, 6, 1, 200),
    "tree-80": tree(80, 8, 8, 1, 100),
}
STATIC_TREES = ("tree-16", "tree-24", "tree-48", "tree-64", "tree-72")
_OF_TREES = {
    "platform": "frontera",
    "large": "2M",
    "schedule": "full",
    "packet_bytes": 4096,
    "lanes": "1/2",
}

SCOREBOARD = (
    Stratum("frontera", "static", 45, 0, want=UPLINKS),
    Stratum("frontera", "static", 12, 15),
    Stratum("frontera", "adaptive", 45, 0, want=UPLINKS),
    Stratum("frontera", "adaptive", 12, 15),
    Stratum("azure-ndv4", "static", 14, 4, want=UPLINKS),
    Stratum("azure-ndv4", "adaptive", 14, 4, want=UPLINKS),
)
OTHER = (
    Stratum("small-frontera", "static", 40, 0, only="uplink-down"),
    Stratum("small-frontera", "static", 25, 25),
    Stratum("small-ndv4", "static", 25, 0, want=UPLINKS),
    Stratum("small-ndv4", "static", 10, 10),
    Stratum("small-frontera", "static", 10, 10, schedule="reflections:12", want=UPLINKS),
    Stratum("small-frontera", "adaptive", 40, 25, want=UPLINKS),
    Stratum("small-ndv4", "adaptive", 40, 25, want=UPLINKS),
    Stratum("small-frontera", "adaptive", 20, 20, schedule="reflections:12", want=UPLINKS),
    Stratum("small-ndv4", "adaptive", 20, 20, schedule="reflections:12", want=UPLINKS),
    Stratum("small-ndv4", "adaptive", 10, 0, schedule="reflections:12"),
    Stratum("tree-72", "adaptive", 20, 20, only="uplink-slow"),
    Stratum("tree-72", "adaptive", 15, 10),
    *(Stratum(of, "static", 16, 8, only="uplink-down") for of in STATIC_TREES),
    *(Stratum(of, "static", 12, 6, only="uplink-down", tables="read") for of in STATIC_TREES),
    *(Stratum(of, "static", 8, 0, only="uplink-down", tables="anew") for of in STATIC_TREES),
    *(Stratum(of, "static", 0, 8, tables="aged") for of in STATIC_TREES),
    *(Stratum(of, "static", 12, 6, only="uplink-down", tables="none") for of in STATIC_TREES),
    Stratum("tree-48", "static", 10, 10, want=UPLINKS, busy=0.1),
    Stratum("tree-48", "static", 5, 15, busy=0.3),
    Stratum("tree-48", "static", 10, 15, want=UPLINKS, tables="read", busy=0.2),
    Stratum("tree-48", "static", 10, 15, want=UPLINKS, tables="none", busy=0.2),
    Stratum("small-frontera", "adaptive", 10, 15, want=UPLINKS, busy=0.1),
    Stratum("small-ndv4", "adaptive", 10, 15, schedule="reflections:12", want=UPLINKS, busy=0.2),
    Stratum("tree-48", "static", 10, 10, time="stretch"),
    Stratum("tree-48", "static", 10, 10, time="drift"),
    Stratum("small-ndv4", "adaptive", 10, 10, time="stretch"),
    Stratum("small-ndv4", "adaptive", 10, 10, time="drift"),
)
RARE = (
    Stratum("tree-80", "adaptive", 15, 8, only="uplink-down", schedule="imported"),
    Stratum("tree-80", "adaptive", 15, 8, only="uplink-slow", schedule="imported"),
    Stratum("tree-80", "adaptive", 12, 12, want=UPLINKS, schedule="imported", busy=0.2),
    Stratum("tree-72", "adaptive", 12, 6, schedule="imported"),
    Stratum("tree-80", "adaptive", 15, 8, only="uplink-down"),
    Stratum("tree-80", "adaptive", 15, 8, only="uplink-slow"),
    Stratum("small-ndv4", "adaptive", 15, 8, schedule="random:16", want=UPLINKS),
    Stratum("tree-72", "adaptive", 12, 6, only="uplink-down"),
    Stratum("tree-80", "adaptive", 12, 12, want=UPLINKS, busy=0.2),
    Stratum("tree-80", "adaptive", 12, 0),
    Stratum("small-frontera", "static", 8, 8, time="alone"),
    Stratum("small-frontera", "adaptive", 8, 8, time="alone"),
)
TABLES = tuple(
    Stratum(of, "static", n_faulty, n_healthy, only=only, tables=tables)
    for tables, n_faulty, n_healthy, only in (
        ("read", 12, 4, "uplink-down"),
        ("none", 12, 4, "uplink-down"),
        ("engine", 12, 4, "uplink-down"),
        ("anew", 6, 0, "uplink-down"),
        ("aged", 0, 6, None),
    )
    for of in STATIC_TREES
)
BOARDS = {
    "tables": (TABLES, 5150),
    "rare": (RARE, 4411),
    "scoreboard": (SCOREBOARD, SCOREBOARD_SEED),
    "other": (OTHER, OTHER_SEED),
}


class OtherGround(Ground):
    """A ground whose fabric is a tree of its own, and of which the check is told what its tables
    are, or nothing."""

    def __init__(self, stratum: Stratum) -> None:
        self._stratum = stratum
        if stratum.twin not in TREES:
            super().__init__(stratum.twin, stratum.routing, stratum.schedule)
            return
        spec = TREES[stratum.twin]
        figures()["twins"].setdefault(stratum.twin, {**_OF_TREES, "nodes": spec["nodes"]})
        self.twin, self.routing = stratum.twin, stratum.routing
        self._figures = figures()["twins"][stratum.twin]
        self.schedule = stratum.schedule or self._figures["schedule"]
        self.platform = _with_packets(platform("frontera"), self._figures["packet_bytes"])
        self._spec = spec
        self._healthy = TwinBackend(self.platform, spec["nodes"], fabric=spec)
        told = dict(self._healthy.fabric_document)
        if stratum.tables == "none":
            del told["lfts"]
        elif stratum.tables != "engine":
            told["assumed"] = [TABLES_AS_READ]
        self.wiring = Fabric.from_document(told)
        self._kept = {}
        self.n_rails = 1
        if stratum.schedule == "imported":
            self.schedule = "full"
            self._kept["launches"] = self._full_rounds()

    def _full_rounds(self) -> Launches:
        """All pairs in full rounds, as other programs measure them: no round fills single ways."""
        rounds = [pairs.tolist() for pairs in reflections(len(self.nodes))]
        return check_launches(
            self.nodes,
            tasks_per_node=1,
            sizes_bytes=self.sizes_bytes,
            rounds=rounds,
            options=self.options,
            timeout_s=TIMEOUT_S,
        )

    def twin_with(
        self, planted: Sequence[Planted], *, nudged: int | None = None, seed: str = ""
    ) -> TwinBackend:
        """The twin with faults. Where tables were read, a dead cable's messages are moved."""
        if self._stratum.twin not in TREES:
            return super().twin_with(planted, nudged=nudged)
        faults = [one.fault for one in planted if one.fault is not None]
        dead = [one for one in planted if one.fault is not None and one.fault.kind == "down"]
        longer = {one.node: 1000 * one.delay_ns for one in planted if one.delay_ns}
        if nudged is not None:
            longer[self.nodes[nudged]] = longer.get(self.nodes[nudged], 0) + 1000
        fabric: Mapping[str, Any] = self._longer(longer) if longer else self._spec
        if longer:
            fabric = {**fabric, "routing": self._spec["routing"]}
        moved = {"read": _moved, "anew": _anew, "aged": _aged}.get(self._stratum.tables)
        if moved is not None:
            draws = Random(f"{seed}/{[one.text for one in planted]}")  # noqa: S311
            document = deepcopy(dict(self._healthy.fabric_document))
            ends = [sorted(next(iter(one.things))[1]) for one in dead]
            fabric = moved(document, [(a, b) for a, b in ends], draws)
            faults = [fault for fault in faults if fault.kind != "down"]
        return TwinBackend(self.platform, self._spec["nodes"], faults, fabric=dict(fabric))


Tables = dict[str, list[int]]


def _number(port: str) -> int:
    return int(port.rpartition("[")[2][:-1])


def _switch(port: str) -> str:
    return port.rpartition("[")[0]


def _ups(document: Mapping[str, Any]) -> dict[str, dict[int, str]]:
    """By switch: the numbers of its ports towards switches, and these switches."""
    ups: dict[str, dict[int, str]] = {}
    for a, b in between_switches(document):
        ups.setdefault(_switch(a), {})[_number(a)] = _switch(b)
        ups.setdefault(_switch(b), {})[_number(b)] = _switch(a)
    return ups


def _moved(document: dict[str, Any], dead: list[tuple[str, str]], draws: Random) -> dict[str, Any]:
    """The tables of a subnet manager that moves what led over dead cables, and nothing else: to the
    port of fewest destinations, as OpenSM's minhop does."""
    for a, b in dead:
        document["links"] = [link for link in document["links"] if {link["a"], link["b"]} != {a, b}]
    ups, tables, leaf_of = _ups(document), document["lfts"], _leaf_of(document)
    for cable in dead:
        leaf_end, spine_end = sorted(cable)
        leaf, spine = _switch(leaf_end), _switch(spine_end)
        here = [place for place, port in enumerate(tables[spine]) if port == _number(spine_end)]
        beside = [number for number, other in ups[spine].items() if other == leaf]
        for place in here:
            if beside:
                tables[spine][place] = draws.choice(beside)
        for switch, table in tables.items():
            if switch not in ups or switch == spine or switch.startswith("spine"):
                continue
            for place, port in enumerate(table):
                through = switch == leaf and port == _number(leaf_end)
                towards = switch != leaf and not beside and ups[switch].get(port) == spine
                if through or (towards and place in here):
                    choices = [
                        number
                        for number, other in ups[switch].items()
                        if leaf_of[place] in ups[other].values() and (through or other != spine)
                    ]
                    least = min(table.count(number) for number in choices)
                    table[place] = draws.choice([n for n in choices if table.count(n) == least])
    return document


def _anew(document: dict[str, Any], dead: list[tuple[str, str]], draws: Random) -> dict[str, Any]:
    """As `_moved`; and every other message takes a spine at random, too."""
    document = _moved(document, dead, draws)
    ups, tables = _ups(document), document["lfts"]
    leaf_of = _leaf_of(document)
    for switch, table in tables.items():
        if switch.startswith("spine"):
            continue
        for place, port in enumerate(table):
            if port in ups[switch]:
                goes = [n for n, s in ups[switch].items() if leaf_of[place] in ups[s].values()]
                table[place] = draws.choice(goes)
    return document


def _aged(document: dict[str, Any], _: list[tuple[str, str]], draws: Random) -> dict[str, Any]:
    """Nothing is dead; messages to one host, or of one leaf over one cable, take another spine."""
    ups, tables = _ups(document), document["lfts"]
    leaves = [switch for switch in tables if not switch.startswith("spine")]
    place = draws.randrange(len(tables[leaves[0]]))
    leaf, number = draws.choice(leaves), 0
    number = draws.choice(list(ups[leaf]))
    by_host = draws.random() < 0.5
    for switch in leaves:
        table = tables[switch]
        for at, port in enumerate(table):
            mine = at == place if by_host else (switch == leaf and port == number)
            if mine and port in ups[switch]:
                table[at] = draws.choice([n for n, s in ups[switch].items() if n != port])
    return document


def _leaf_of(document: Mapping[str, Any]) -> list[str]:
    """By HCA in document order: its leaf."""
    at = {}
    for link in document["links"]:
        for one, other in ((link["a"], link["b"]), (link["b"], link["a"])):
            at[_switch(one)] = _switch(other)
    return [at[hca] for node in document["nodes"] for hca in node["hcas"]]


def cases_of(stratum: Stratum, ground: Ground, seed: int) -> Iterator[Case]:
    """The faulty cases of a stratum, then the healthy ones."""
    where = {"twin": stratum.twin, "routing": stratum.routing, "seed": seed}
    numbers = _numbers(stratum, seed)
    faulty = (
        draw_case(ground.document, number=number, only=stratum.only, **where) for number in numbers
    )
    wanted = (
        case
        for case in faulty
        if not stratum.want or {one.kind for one in case.planted} & set(stratum.want)
    )
    if stratum.twin in TREES and stratum.tables in ("read", "anew"):
        wanted = (case for case in wanted if not any(one.delay_ns for one in case.planted))
    healthy = (healthy_case(number=number, **where) for number in numbers)
    for cases, n in ((wanted, stratum.n_faulty), (healthy, stratum.n_healthy)):
        for _ in range(n):
            case = next(cases)
            noise = case.noise
            if stratum.busy:
                noise = Noise(noise.sigma, stratum.busy, 2.0)
            yield replace(case, noise=noise)


def _numbers(stratum: Stratum, seed: int) -> list[int]:
    """Numbers of cases; of the scoreboard those that it has in this setting."""
    if seed != SCOREBOARD_SEED:
        return list(range(SCOREBOARD_CASES))
    first = SETTINGS.index(f"{stratum.twin} {stratum.routing}")
    return list(range(first, SCOREBOARD_CASES, len(SETTINGS)))
