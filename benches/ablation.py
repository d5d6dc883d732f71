"""Which rules of the diagnosis change the score? The same cases are judged without each of them.

    ablation.py --keep FOLDER [--board NAME]... [--only NAME]...

Each case is a line of FOLDER/BOARD.jsonl: the same command goes on where it was interrupted. Prints
the table of docs/internals/diagnosis.md as Markdown.
"""

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from itertools import chain, count, islice
from pathlib import Path
from random import Random
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benches.ablation_rules import RULES, Rule, left_out, noted
from benches.check_answer import answer_of, effects
from benches.check_case import Case, Planted, draw_case, figures, healthy_case
from benches.check_ground import ROUTINGS, Ground, NoisyBackend, Recorded
from benches.check_plan import launches_of
from benches.check_score import score
from benches.check_table import markdown_table

from weft.bench.model import Launch, Sample
from weft.bench.twin.backend import TwinBackend
from weft.bench.twin.fault import vertex_of
from weft.core.errors import WeftError
from weft.topology.fabric import TABLES_AS_READ, Fabric

Line = dict[str, Any]
FAILURES = (WeftError, ArithmeticError, LookupError, ValueError, AssertionError)


@dataclass(frozen=True, slots=True)
class Stratum:
    """Cases of one kind. `want`: a planted fault's kind begins so; `only`: no other kind is drawn.
    `tables`: "engine" (a known engine filled them), "read" (a subnet manager, which moves the
    messages of a dead cable only) or "none". `busy`: share of readings that other work halves."""

    twin: str
    routing: str
    n_faulty: int
    n_healthy: int
    want: str = ""
    only: str | None = None
    schedule: str | None = None
    tables: str = "engine"
    busy: float = 0.0

    @property
    def name(self) -> str:
        """All fields that tell it from another."""
        words = [self.twin, self.routing, self.want, self.only, self.schedule, self.tables]
        return ", ".join(filter(None, [*words, f"busy {self.busy:g}"]))


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
    spec["name"]: spec
    for spec in (
        tree(16, 4, 4, 1, 100),
        tree(24, 6, 3, 1, 100),
        tree(48, 6, 6, 1, 100),
        tree(64, 8, 4, 2, 100),
        tree(72, 12, 6, 1, 200),
    )
}
SETTINGS = [(twin, routing) for twin in ("azure-ndv4", "frontera") for routing in ROUTINGS]
"""Of the scoreboard, in the order in which `check.py` numbers its cases."""

SCOREBOARD = (
    Stratum("frontera", "static", 45, 0, want="uplink"),
    Stratum("frontera", "static", 12, 15),
    Stratum("frontera", "adaptive", 45, 0, want="uplink"),
    Stratum("frontera", "adaptive", 12, 15),
    Stratum("azure-ndv4", "static", 14, 4, want="uplink"),
    Stratum("azure-ndv4", "adaptive", 14, 4, want="uplink"),
)
SECOND = (
    *(Stratum(twin, "static", 25, 25) for twin in ("small-frontera", "small-ndv4")),
    *(Stratum(twin, "adaptive", 40, 25, "uplink") for twin in ("small-frontera", "small-ndv4")),
    Stratum("small-ndv4", "adaptive", 20, 20, "uplink", schedule="reflections:12", busy=0.2),
    Stratum("tree-72", "adaptive", 15, 10),
    *(
        Stratum(twin, "static", 12, 6, only="uplink-down", tables=tables, busy=busy)
        for twin in TREES
        for tables in ("engine", "read", "none")
        for busy in ((0.0, 0.2) if twin == "tree-48" else (0.0,))
    ),
)
BOARDS = {"scoreboard": (SCOREBOARD, 1), "second": (SECOND, 9917)}


class OtherGround(Ground):
    """A ground that may be a tree of its own, whose tables the check may know as read or not."""

    def __init__(self, stratum: Stratum) -> None:
        spec = TREES.get(stratum.twin)
        if spec is not None:
            figures()["twins"][stratum.twin] = {
                **figures()["twins"]["frontera"],
                "nodes": spec["nodes"],
                "schedule": "full",
            }
        super().__init__(stratum.twin, stratum.routing, stratum.schedule, fabric=spec)
        self._reads_tables = stratum.tables == "read"
        document = dict(self.document)
        if stratum.tables == "none":
            del document["lfts"]
        elif self._reads_tables:
            document["assumed"] = [TABLES_AS_READ]
        self.wiring = Fabric.from_document(document)

    def twin_with(self, planted: Sequence[Planted], *, nudged: int | None = None) -> TwinBackend:
        """The twin with faults. Where tables were read, a dead cable's messages are moved."""
        faults = [one.fault for one in planted if one.fault is not None]
        dead = [fault.place for fault in faults if fault.kind == "down"]
        if not (self._reads_tables and dead):
            return super().twin_with(planted, nudged=nudged)
        fabric = without_cables(self.document, dead, Random(f"{dead}"))  # noqa: S311
        left = [fault for fault in faults if fault.kind != "down"]
        return TwinBackend(self.platform, len(self.nodes), left, fabric=fabric)


def without_cables(document: Mapping[str, Any], dead: Sequence[str], draws: Random) -> Line:
    """The fabric without the cables of these ports, its tables as OpenSM's minhop leaves them: an
    entry that leads no nearer takes, of the ports that do, one of fewest destinations."""
    fabric = deepcopy(dict(document))
    fabric["links"] = [one for one in fabric["links"] if not {one["a"], one["b"]} & set(dead)]
    ports: dict[str, dict[int, str]] = {}
    for a, b in [(one[x], one[y]) for one in fabric["links"] for x, y in (("a", "b"), ("b", "a"))]:
        ports.setdefault(vertex_of(a), {})[int(a.rpartition("[")[2][:-1])] = vertex_of(b)
    for place, hca in enumerate(hca for node in fabric["nodes"] for hca in node["hcas"]):
        hops, queue = {hca: 0}, [hca]
        for vertex in queue:
            new = [other for other in ports[vertex].values() if other not in hops]
            hops |= dict.fromkeys(new, hops[vertex] + 1)
            queue += dict.fromkeys(new)
        for switch, table in fabric["lfts"].items():
            nearer = [n for n, other in ports[switch].items() if hops[other] < hops[switch]]
            if table[place] not in nearer:
                least = min(map(table.count, nearer))
                table[place] = draws.choice([n for n in nearer if table.count(n) == least])
    return fabric


class Remembered(Recorded):
    """A backend that simulates each launch once."""

    def __init__(self, inner: TwinBackend, launch: Launch) -> None:
        super().__init__(inner, launch)
        self._known: dict[str, list[Sample]] = {}

    def measure(self, launch: Launch) -> Iterator[Sample]:
        """The samples kept, or new ones."""
        key = json.dumps([launch.trial.id, launch.trial.options["rounds"]])
        if key not in self._known:
            self._known[key] = list(super().measure(launch))
        return iter(self._known[key])


def cases_of(stratum: Stratum, ground: Ground, seed: int) -> Iterator[Case]:
    """The faulty cases of a stratum, then the healthy ones; on the scoreboard those that it has in
    this setting."""
    where = {"twin": stratum.twin, "routing": stratum.routing, "seed": seed}
    setting = (stratum.twin, stratum.routing)
    first, step = (SETTINGS.index(setting), len(SETTINGS)) if setting in SETTINGS else (0, 1)
    drawn = (
        draw_case(ground.document, number=number, only=stratum.only, **where)
        for number in count(first, step)
    )
    faulty = (
        case for case in drawn if any(one.kind.startswith(stratum.want) for one in case.planted)
    )
    healthy = (healthy_case(number=number, **where) for number in count(first, step))
    for case in chain(islice(faulty, stratum.n_faulty), islice(healthy, stratum.n_healthy)):
        noise = case.noise
        if stratum.busy:
            noise = replace(noise, outliers=stratum.busy, outlier_factor=2.0)
        yield replace(case, noise=noise)


def judged(ground: Ground, case: Case, rules: Iterable[Rule]) -> Line:
    """The answer as it is, and by name those that other rules give, where they differ."""
    launches = launches_of(ground)
    measured = Remembered(ground.twin_with(case.planted), launches[0])
    healthy = ground.healthy(launches[0]).samples
    seen = effects(ground, case, healthy, measured.samples) if case.planted else []

    def answered() -> Line:
        try:
            answer = answer_of(ground, launches, NoisyBackend(measured, case.noise, case.seed))
        except FAILURES as error:
            return {"named": [], "wrong": [], "failure": f"{type(error).__name__}: {error}"}
        scored = score(case.planted, seen, answer.accused)
        named = [one.named for one in scored.outcomes if one.seen.identifiable]
        return {"named": named, "wrong": list(scored.wrong), "failure": None}

    with noted() as asked:
        base = answered()
    line: Line = {"healthy": not case.planted, "base": base, "asked": [], "changed": {}}
    for rule in rules:
        if rule.routing in ("", case.routing) and rule.is_asked(asked):
            line["asked"].append(rule.name)
            with left_out(rule):
                without = answered()
            if without != base:
                line["changed"][rule.name] = without
    return line


def run(board: str, path: Path, rules: Sequence[Rule]) -> None:
    """Judge the cases of a board that the file has no line of."""
    known = {line["case"] for line in lines_of(path)}
    strata, seed = BOARDS[board]
    for stratum in strata:
        ground = OtherGround(stratum)
        for case in cases_of(stratum, ground, seed):
            name = f"{stratum.name} / {case.seed}"
            if name in known:
                continue
            line = {"case": name, **judged(ground, case, rules)}
            with path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
            print(name, line["base"], *line["changed"], file=sys.stderr, flush=True)


def lines_of(path: Path) -> list[Line]:
    """The lines of a file; none of one cut short."""
    text = path.read_text("utf-8") if path.exists() else ""
    return [json.loads(line) for line in text.splitlines() if line.endswith("}")]


def score_of(lines: Iterable[Line], rule: str) -> tuple[int, int, int, int]:
    """Faults named, faulty runs that accuse others, healthy ones that accuse, runs that failed."""
    answers = [(line["healthy"], line["changed"].get(rule, line["base"])) for line in lines]
    return (
        sum(sum(answer["named"]) for _, answer in answers),
        sum(bool(answer["wrong"]) for healthy, answer in answers if not healthy),
        sum(bool(answer["wrong"]) for healthy, answer in answers if healthy),
        sum(answer["failure"] is not None for _, answer in answers),
    )


def table(boards: Mapping[str, Sequence[Line]], rules: Iterable[Rule]) -> str:
    """The scores as they are, then a row a rule: what changes without it on each board."""
    heads = []
    for board, lines in boards.items():
        named, accused, healthy, failed = score_of(lines, "")
        of = sum(len(line["base"]["named"]) for line in lines)
        heads.append(
            f"{board}: {len(lines)} runs, {named} of {of} faults named, {accused} faulty runs"
            f" accuse others, {healthy} healthy runs accuse, {failed} failed."
        )
    rows = []
    for rule in rules:
        cells = [_cell(lines, rule.name) for lines in boards.values()]
        rows.append((rule.name, rule.instead, *cells))
    return "\n\n".join([*heads, markdown_table(("left out", "instead", *boards), rows)])


def _cell(lines: Sequence[Line], rule: str) -> str:
    n_asked = sum(rule in line["asked"] for line in lines)
    if not n_asked:
        return "-"
    changes = [a - b for a, b in zip(score_of(lines, rule), score_of(lines, ""), strict=True)]
    shown = changes if changes[3] else changes[:3]
    return f"{', '.join(f'{change:+d}' for change in shown)} ({n_asked})"


def main() -> int:
    """Run what is not kept, print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--keep", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--board", action="append", choices=list(BOARDS))
    parser.add_argument("--only", action="append", metavar="NAME", help="leave out this rule only")
    chosen = parser.parse_args()
    chosen.keep.mkdir(parents=True, exist_ok=True)
    rules = [rule for rule in RULES if not chosen.only or rule.name in chosen.only]
    paths = {board: chosen.keep / f"{board}.jsonl" for board in chosen.board or BOARDS}
    for board, path in paths.items():
        run(board, path, rules)
    print(table({board: lines_of(path) for board, path in paths.items()}, rules))
    return 0


if __name__ == "__main__":
    sys.exit(main())
