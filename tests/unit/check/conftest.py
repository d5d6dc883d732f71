"""A fat-tree in a few lines, its d-mod-k paths, and pair measurements over it.

Independent of the engine on purpose: the diagnosis is held against a model anyone can check.
"""

import random
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

import pytest
from tests.unit.check.documents import fabric_document

from weft.bench.model import Pair, Sample
from weft.check.schedule.rounds.matchings import reflections
from weft.check.suspects.follow_up import FollowUpPlan
from weft.check.trials import ALONE, SURVEY, TOGETHER

BANDWIDTH_MB_S = 24_000.0
LATENCY_US = {2: 1.2, 4: 1.9}


class Tree:
    """Two levels: `leaves` x `per_leaf` nodes under `spines` spines, one cable to each. Messages
    go around the cables of `down`, (leaf, spine) from 1, by the next spine. Nobody knows how, but
    where the tree is `routed`."""

    def __init__(
        self,
        leaves: int,
        per_leaf: int,
        spines: int,
        down: Collection[tuple[int, int]] = (),
        *,
        routed: bool = False,
    ) -> None:
        self.down, self.routed = frozenset(down), routed
        self.per_leaf, self.spines, self.leaves = per_leaf, spines, leaves
        self.nodes = tuple(f"n{i:03d}" for i in range(1, leaves * per_leaf + 1))
        links: list[tuple[str, str]] = []
        for i, node in enumerate(self.nodes):
            links.append((f"{node}/hca0[1]", f"leaf-{i // per_leaf + 1:02d}[{i % per_leaf + 1}]"))
        for leaf in range(leaves):
            for spine in range(spines):
                up = f"leaf-{leaf + 1:02d}[{per_leaf + spine + 1}]"
                links.append((up, f"spine-{spine + 1:02d}[{leaf + 1}]"))
        self.links = links
        self._peer = dict(links) | {b: a for a, b in links}
        switches = [f"leaf-{i + 1:02d}" for i in range(leaves)]
        switches += [f"spine-{i + 1:02d}" for i in range(spines)]
        self.document = fabric_document(self.nodes, switches, links)

    def cable_of(self, port: str) -> tuple[str, str]:
        return (port, self._peer[port])

    def paths(self, pairs: list[tuple[str, str]]) -> list[tuple[str, ...]]:
        number = {node: i for i, node in enumerate(self.nodes)}
        number |= {f"{node}/hca0": i for node, i in number.items()}
        return [self._path(number[a], number[b]) for a, b in pairs]

    @property
    def engines(self) -> tuple[str, ...]:
        return ("next spine",) if self.routed else ()

    def rerouted(
        self, pairs: list[tuple[str, str]], down: Sequence[str], engine: str
    ) -> list[tuple[str, ...]] | None:
        """As `paths`, without the cables at these ports, too; None where a pair has no path."""
        assert engine in self.engines
        dead = set(self.down)
        for port in down:
            leaf, spine = sorted((port, self._peer[port]))
            dead.add((int(leaf[5:7]), int(spine[6:8])))
        if any(
            all(dead & {(a, spine), (b, spine)} for spine in range(1, self.spines + 1))
            for a, b in combinations(range(1, self.leaves + 1), 2)
        ):
            return None
        return Tree(self.leaves, self.per_leaf, self.spines, dead).paths(pairs)

    def _path(self, a: int, b: int) -> tuple[str, ...]:
        leaf_a, leaf_b = a // self.per_leaf + 1, b // self.per_leaf + 1
        first = f"{self.nodes[a]}/hca0[1]"
        last = f"leaf-{leaf_b:02d}[{b % self.per_leaf + 1}]"
        if leaf_a == leaf_b:
            return (first, last)
        spine = b % self.spines + 1
        while self.down & {(leaf_a, spine), (leaf_b, spine)}:
            spine = spine % self.spines + 1
        return (
            first,
            f"leaf-{leaf_a:02d}[{self.per_leaf + spine}]",
            f"spine-{spine:02d}[{leaf_b}]",
            last,
        )


@dataclass(frozen=True)
class Slow:
    """What is slow: speed times `factor` wherever a flow crosses `ports` or sends from or to
    `node`; only the metrics named."""

    factor: float
    ports: frozenset[str] = frozenset()
    node: str | None = None
    metrics: tuple[str, ...] = ("latency", "bandwidth")


@dataclass
class Fabric:
    """Measures every pair of a tree with normal noise, some things slow, messages colliding, and
    a share of all readings disturbed: half as fast, once."""

    tree: Tree
    slow: Sequence[Slow] = ()
    noise: float = 0.03
    seed: int = 1
    collide: bool = False
    disturbed: float = 0.0
    draws: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self.draws = random.Random(self.seed)

    def all_pairs(self) -> list[Sample]:
        return self.measure([pairs.tolist() for pairs in reflections(len(self.tree.nodes))])

    def alone(self, pairs: Sequence[tuple[str, str]]) -> list[Sample]:
        index = self.tree.nodes.index
        return self.measure([[(index(a), index(b))] for _ in range(3) for a, b in pairs])

    def follow_up(self, plan: FollowUpPlan) -> list[Sample]:
        """What a plan asks for, measured."""
        index = self.tree.nodes.index
        samples = []
        for trial, rounds in ((ALONE, plan.alone), (TOGETHER, plan.together)):
            numbered = [[(index(a), index(b)) for a, b in pairs] for pairs in rounds]
            samples += self.measure(numbered, trial)
        return samples

    def measure(
        self, rounds: Sequence[Sequence[tuple[int, int]]], trial: str = SURVEY
    ) -> list[Sample]:
        names = self.tree.nodes
        return [
            replace(sample, trial=trial)
            for number, pairs in enumerate(rounds)
            for a, b in pairs
            for sample in self._pair(Pair(names[a], names[b], number, len(pairs)), pairs)
        ]

    def _pair(self, pair: Pair, pairs: Sequence[tuple[int, int]]) -> list[Sample]:
        there = self.tree.paths([(pair.a, pair.b)])[0]
        back = self.tree.paths([(pair.b, pair.a)])[0]
        latency = LATENCY_US[len(there)] / self._speed("latency", {pair.a, pair.b}, {*there, *back})
        ab = BANDWIDTH_MB_S * self._speed("bandwidth", {pair.a, pair.b}, {*there})
        ba = BANDWIDTH_MB_S * self._speed("bandwidth", {pair.a, pair.b}, {*back})
        if self.collide:
            ab /= self._sharing(there, pairs)
            ba /= self._sharing(back, [(b, a) for a, b in pairs])
        small = {"latency_us": latency}
        large = {"bandwidth_ab_mb_s": ab, "bandwidth_ba_mb_s": ba, "bandwidth_mb_s": min(ab, ba)}
        return [
            Sample("t1", 1, "pairs", size, metrics, 10, 0.0, pair=pair)
            for size, metrics in ((8, small), (2**20, large))
        ]

    def _speed(self, metric: str, ends: set[str], ports: set[str]) -> float:
        speed = 1 + self.draws.gauss(0, self.noise)
        if self.disturbed and self.draws.random() < self.disturbed:
            speed /= 2
        for slow in self.slow:
            if metric in slow.metrics and (slow.node in ends or slow.ports & ports):
                speed *= slow.factor
        return speed

    def _sharing(self, path: tuple[str, ...], pairs: Sequence[tuple[int, int]]) -> int:
        names = self.tree.nodes
        others = self.tree.paths([(names[a], names[b]) for a, b in pairs])
        return max(sum(port in other for other in others) for port in path)


@pytest.fixture
def make_tree() -> Callable[..., Tree]:
    return Tree


@pytest.fixture
def make_slow() -> Callable[..., Slow]:
    return Slow


@pytest.fixture
def make_fabric() -> Callable[..., Fabric]:
    return Fabric
