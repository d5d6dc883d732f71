"""What the measured pairs touched: pairs of all pairs, cables of all cables."""

from collections.abc import Sequence, Set
from dataclasses import dataclass
from typing import Any

from weft.bench.model import Sample
from weft.diagnose.crossing import (
    Cable,
    Crossings,
    Flow,
    Wiring,
    cables_of_document,
    host_of,
    vertex_of,
)
from weft.diagnose.readings import endpoints


@dataclass(frozen=True, slots=True)
class Coverage:
    """`endpoints` is what a pair consists of, "nodes", or "ranks" where a host holds several.
    `n_cables` is None without a fabric; `cables_never_crossed` holds both ends of each;
    `n_cables_faster` were crossed and are faster than the link of any node."""

    n_nodes: int
    n_pairs: int
    n_pairs_possible: int
    n_rounds: int
    n_cables: int | None
    cables_never_crossed: tuple[Cable, ...]
    endpoints: str = "nodes"
    n_cables_faster: int = 0

    @property
    def text(self) -> str:
        """One line."""
        line = (
            f"{self.n_pairs} of {self.n_pairs_possible} pairs of {self.n_nodes} {self.endpoints}"
            f" in {counted(self.n_rounds, 'round')}"
        )
        if self.n_cables is None:
            return f"{line}; which cables they crossed is not known without a fabric"
        crossed = self.n_cables - len(self.cables_never_crossed)
        line += f"; {crossed} of {self.n_cables} cables crossed"
        if self.cables_never_crossed:
            first = " - ".join(self.cables_never_crossed[0])
            more = len(self.cables_never_crossed) - 1
            line += f"; never crossed: {first}" + (f" and {more} more" if more else "")
        return line

    def to_record(self) -> dict[str, Any]:
        """The coverage as plain JSON values."""
        return {
            "nodes": self.n_nodes,
            "pairs": self.n_pairs,
            "pairs_possible": self.n_pairs_possible,
            "rounds": self.n_rounds,
            "cables": self.n_cables,
            "cables_faster_than_a_node": self.n_cables_faster,
            "cables_never_crossed": [list(cable) for cable in self.cables_never_crossed],
        }


def coverage_of(samples: Sequence[Sample], fabric: Wiring | None) -> Coverage:
    """Coverage of the samples' pairs."""
    pairs = {tuple(sorted((s.pair.a, s.pair.b))) for s in samples if s.pair is not None}
    rounds = {s.pair.round for s in samples if s.pair is not None}
    names = endpoints(samples)
    hosts = {host_of(name) for name in names}
    # Ranks on several hosts stand for rails, each of which meets its own kind only.
    n_rails = len(names) // len(hosts) if len(hosts) > 1 else 1
    n_nodes = len(names) // n_rails
    n_cables: int | None = None
    n_faster = 0
    never: tuple[Cable, ...] = ()
    if fabric is not None:
        crossings = Crossings((Flow(a, b, both_ways=True) for a, b in sorted(pairs)), fabric)
        cables = set(cables_of_document(fabric.document).values())
        crossed = crossings.cables()
        n_cables, never = len(cables), tuple(sorted(cables - crossed))
        n_faster = _n_faster(fabric, crossed)
    return Coverage(
        n_nodes=n_nodes,
        n_pairs=len(pairs),
        n_pairs_possible=n_rails * n_nodes * (n_nodes - 1) // 2,
        n_rounds=len(rounds),
        n_cables=n_cables,
        cables_never_crossed=never,
        endpoints="ranks" if len(hosts) == 1 else "nodes",
        n_cables_faster=n_faster,
    )


def _n_faster(fabric: Wiring, crossed: Set[Cable]) -> int:
    """Crossed cables that one message of a node cannot fill."""
    switches = {str(switch["name"]) for switch in fabric.document["switches"]}
    rates = {
        (str(link["a"]), str(link["b"])): int(link["bits_per_s"])
        for link in fabric.document["links"]
    }
    between = {cable for cable in rates if {vertex_of(end) for end in cable} <= switches}
    fastest_node = max(rate for cable, rate in rates.items() if cable not in between)
    return sum(rates[cable] > fastest_node for cable in between & crossed)


def counted(n: int, noun: str) -> str:
    """'1 pair', '3 pairs'."""
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"
