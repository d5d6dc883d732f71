"""Faults on small fabrics, one and two of each kind, listed and not drawn, without noise.

    small_fabrics.py [--shape NAME]... [--every N] [--start N] [--singles] [--keep FILE]

Each case is a `weft check`. It prints each case that accuses only healthy components, or that calls
a fabric good whose worst reading is half as fast; then counts by shape, as Markdown. Exit 1 where a
healthy component is accused alone.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import combinations, product
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np
from benches.check_answer import accused_in
from benches.check_kinds import Thing, between_switches, cable

from weft.bench.twin.backend import TwinBackend
from weft.bench.twin.fault import parse_fault, vertex_of
from weft.catalog.load import benchmark, platform
from weft.check.external_evidence.platform_choice import ExpectedPlatform
from weft.check.launches import FollowUpBackend, check_launches
from weft.check.readings.network import Network
from weft.check.schedule.cost import Cost, effort_of
from weft.check.schedule.paths import FlowPaths
from weft.check.schedule.plan import plan_check
from weft.check.schedule.ranks import ranks_of_nodes
from weft.check.schedule.schedule import Field
from weft.check.verdict.verdict import Verdict, judge_check
from weft.core.errors import ExitCode, WeftError
from weft.core.finding import Severity
from weft.topology.fabric import Fabric

FACTORS = (1.05, 1.2, 1.5, 2.0, 4.0, 10.0)
FACTORS_OF_PAIRS = (1.1, 2.0, 10.0)
SIZES_BYTES = (8, 2**20)
TIMEOUT_S = 3600.0
COMFORT = 2.0
OPTIONS = {"window": 1, "iterations": 1, "warmup": 0}
Document = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault: how it is planted, and what is right to accuse."""

    text: str
    things: frozenset[Thing]


@dataclass(frozen=True, slots=True)
class Answer:
    """Of one case: the exit code, what each bad finding accuses, sentences of the findings, and how
    many times slower than normal the slowest reading is."""

    code: int
    accused: tuple[frozenset[Thing], ...]
    notes: tuple[str, ...]
    slowest: float = 1.0


@cache
def shapes() -> Mapping[str, Document | int]:
    """Fat-trees of the platform by their number of nodes; rings and stars as documents."""
    found: dict[str, Document | int] = {f"tree-{n}": n for n in range(2, 14)}
    for leaves, each in product((2, 3, 4), (1, 2, 3)):
        for spines in (1, 2):
            found[f"{leaves}x{each}-{spines}"] = _tree(leaves, each, spines)
    for n in range(2, 14):
        found[f"star-{n}"] = _document([n], ())
    for n in (*range(3, 9), 10, 12, 14):
        found[f"ring-{n}"] = _document([1] * n, [(i, (i + 1) % n) for i in range(n)])
    return found


def _tree(leaves: int, each: int, spines: int) -> Document:
    cables = [(leaf, leaves + spine) for leaf in range(leaves) for spine in range(spines)]
    return _document([each] * leaves + [0] * spines, cables)


def _document(hosts: Sequence[int], cables: Sequence[tuple[int, int]]) -> Document:
    """Switches with so many hosts each, and cables between switches."""
    used = Counter[int]()
    links: list[dict[str, Any]] = []
    nodes: list[dict[str, Any]] = []

    def port(switch: int) -> str:
        used[switch] += 1
        return f"s{switch:02d}[{used[switch]}]"

    for switch, n in enumerate(hosts):
        for _ in range(n):
            name = f"n{len(nodes):03d}"
            nodes.append({"name": name, "hcas": [f"{name}/hca0"]})
            links.append(_link(f"{name}/hca0[1]", port(switch), 415_000))
    for a, b in cables:
        links.append(_link(port(a), port(b), 50_000))
    switches = [{"name": f"s{i:02d}", "ports": max(used[i], 1)} for i in range(len(hosts))]
    document = {
        "schema": "weft.fabric/1",
        "nodes": nodes,
        "switches": switches,
        "links": links,
        "routing": {"engine": "updn"},
    }
    return Fabric.from_document(document).document


def _link(a: str, b: str, delay_ps: int) -> dict[str, Any]:
    return {"a": a, "b": b, "bits_per_s": 200_000_000_000, "delay_ps": delay_ps}


class Shape:
    """One fabric: its faults, its plan, its answers."""

    def __init__(self, of: Document | int) -> None:
        self._platform = platform("fat-tree")
        self._n_nodes, self._spec = (of, None) if isinstance(of, int) else (2, dict(of))
        healthy = self._twin(())
        self.document = healthy.fabric_document
        self.wiring = Fabric.from_document(self.document)
        network = Network(self.wiring)
        ranks = ranks_of_nodes(healthy.nodes, 1, network)
        paths = FlowPaths(network, ranks.hca, adaptive=False)
        cost = Cost(ranks, paths, effort_of(benchmark("pairs").options, SIZES_BYTES[1]))
        self._plan = plan_check(Field(ranks, paths, None, 1), cost, None, 60.0)
        self._launches = check_launches(
            healthy.nodes,
            tasks_per_node=1,
            sizes_bytes=SIZES_BYTES,
            rounds=self._plan.schedule.option,
            options=OPTIONS,
            timeout_s=TIMEOUT_S,
        )

    def _twin(self, faults: Sequence[Fault]) -> TwinBackend:
        planted = [parse_fault(fault.text) for fault in faults]
        return TwinBackend(self._platform, self._n_nodes, planted, fabric=self._spec)

    def faults(self, factors: Sequence[float]) -> list[Fault]:
        """Each component with each fault it can have."""
        found = []
        for node in self.document["nodes"]:
            (hca,) = node["hcas"]
            ends = next(
                (link["a"], link["b"])
                for link in self.document["links"]
                if hca in map(vertex_of, (link["a"], link["b"]))
            )
            things = frozenset({("node", (node["name"],)), ("hca", (hca,)), cable(*ends)})
            found += [Fault(f"{node['name']} slow={f:g}", things) for f in factors]
            found += [Fault(f"{ends[0]} rate={1 / f:g}", things) for f in factors]
        for ends in between_switches(self.document):
            things = frozenset({cable(*ends)})
            found += [Fault(f"{ends[0]} rate={1 / f:g}", things) for f in factors]
            found.append(Fault(f"{ends[0]} down", things))
        return found

    def cases(self, *, singles: bool) -> Iterator[tuple[Fault, ...]]:
        """No fault; each; each two in different places."""
        yield ()
        for one in self.faults(FACTORS):
            yield (one,)
        if not singles:
            for a, b in combinations(self.faults(FACTORS_OF_PAIRS), 2):
                if not a.things & b.things:
                    yield a, b

    def verdict(self, faults: Sequence[Fault]) -> Verdict:
        """What weft check says. Raises WeftError where the twin cannot be measured."""
        most = self._plan.most_follow_up_rounds
        backend = FollowUpBackend(self._twin(faults), self.wiring, adaptive=False, most_rounds=most)
        samples = [sample for launch in self._launches for sample in backend.measure(launch)]
        machine = ExpectedPlatform(self._platform, "the twin is made of it", has_own_rates=True)
        return judge_check(samples, self.wiring, machine=machine)

    def answer(self, faults: Sequence[Fault]) -> Answer:
        """The verdict in short. Raises WeftError where the twin cannot be measured."""
        verdict = self.verdict(faults)
        bad = [finding for finding in verdict.findings if finding.severity is Severity.BAD]
        return Answer(
            int(verdict.exit_code),
            tuple(map(accused_in, bad)),
            tuple(f"{one.severity}: {one.sentence}" for one in verdict.findings),
            float(np.exp(verdict.survey.normed.slower.max(initial=0.0))),
        )


@lru_cache(maxsize=1)
def _shape(name: str) -> Shape:
    return Shape(shapes()[name])


def outcome(name: str, faults: Sequence[Fault]) -> tuple[str, Answer]:
    """One word for a case: 'wrong' where a finding holds nothing planted, 'named', 'in part',
    'pairs' (slow ones, no component), 'warned', 'unknown', 'good' or 'unmeasured'."""
    try:
        answer = _shape(name).answer(faults)
    except WeftError as error:
        return "unmeasured", Answer(4, (), (error.describe(),))
    return _word(answer, faults), answer


def _word(answer: Answer, faults: Sequence[Fault]) -> str:
    planted = frozenset[Thing]().union(*(fault.things for fault in faults))
    of_parts = [things for things in answer.accused if not _are_pairs(things)]
    n_named = sum(any(things & one.things for things in answer.accused) for one in faults)
    is_wrong = any(not things & planted for things in of_parts)
    words = {
        "wrong": is_wrong or (bool(answer.accused) and not faults),
        "named": n_named > 0 and n_named == len(faults),
        "in part": n_named > 0,
        "pairs": bool(answer.accused),
        "unknown": answer.code == ExitCode.NO_VERDICT,
        "warned": any(note.startswith("warning") for note in answer.notes),
    }
    return next((word for word, is_it in words.items() if is_it), "good")


def _are_pairs(things: frozenset[Thing]) -> bool:
    """Or a class of pairs."""
    return all(part in ("pair", "fabric") for part, _ in things)


def main() -> int:
    """Run, print, count."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--shape", action="append", choices=list(shapes()))
    parser.add_argument("--every", type=int, default=1, metavar="N")
    parser.add_argument("--start", type=int, default=0, metavar="N")
    parser.add_argument("--singles", action="store_true")
    parser.add_argument("--keep", type=Path, metavar="FILE")
    chosen = parser.parse_args()
    tally: dict[str, Counter[str]] = {}
    for name in chosen.shape or shapes():
        for number, faults in enumerate(_shape(name).cases(singles=chosen.singles)):
            if number % chosen.every != chosen.start % chosen.every:
                continue
            word, answer = outcome(name, faults)
            tally.setdefault(name, Counter())[word] += 1
            texts = [fault.text for fault in faults]
            if chosen.keep is not None:
                record = {"shape": name, "faults": texts, "word": word}
                record["notes"], record["slowest"] = answer.notes, answer.slowest
                with chosen.keep.open("a") as file:
                    file.write(json.dumps(record) + "\n")
            if word == "wrong" or (word == "good" and answer.slowest > COMFORT):
                print(f"{name} {texts}: {answer.slowest:.3g} {answer.notes}", flush=True)
        print(name, dict(tally.get(name, {})), file=sys.stderr, flush=True)
    words = ("wrong", "named", "in part", "pairs", "warned", "unknown", "good", "unmeasured")
    print(f"| shape | {' | '.join(words)} |")
    print("|---|" + "---|" * len(words))
    for name, counts in tally.items():
        print(f"| {name} | {' | '.join(str(counts[word]) for word in words)} |")
    return int(any(counts["wrong"] for counts in tally.values()))


if __name__ == "__main__":
    sys.exit(main())
