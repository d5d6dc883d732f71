"""An expectation: a predicted value, how far it may be off, and what limits it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from weft.catalog.document import SourceClass

SPREAD: dict[SourceClass, tuple[float, float]] = {
    SourceClass.SOURCED: (0.98, 1.02),
    SourceClass.PUBLISHED: (0.95, 1.05),
    SourceClass.FITTED: (0.9, 1.1),
    SourceClass.ASSUMED: (0.5, 2.0),
    SourceClass.UNVERIFIED: (0.5, 2.0),
}
"""Factors between which a term is taken to lie, by the class of the figure it rests on. Assumed
ones may be off by two either way; fitted ones by what a fit misses out of sample."""


@dataclass(frozen=True, slots=True)
class Term:
    """One part of a time: its name, its length in ns, and the class of the figure behind it.

    `spread` are the factors between which it lies where a range was published; without one they
    follow from the class. `source` says where the figure stands.
    """

    name: str
    time_ns: float
    class_: SourceClass
    spread: tuple[float, float] | None = None
    source: str = ""

    @property
    def factors(self) -> tuple[float, float]:
        """Between which factors of `time_ns` it lies."""
        return self.spread or SPREAD[self.class_]

    @property
    def low_ns(self) -> float:
        """The least it is taken to be."""
        return self.time_ns * self.factors[0]

    @property
    def high_ns(self) -> float:
        """The most it is taken to be."""
        return self.time_ns * self.factors[1]

    def times(self, factor: float) -> "Term":
        """The same part, `factor` times as long."""
        return replace(self, time_ns=self.time_ns * factor)


Memory = Literal["host", "gpu"]
Library = Literal["mpi", "verbs", "nccl"]
Transport = Literal["", "rdma", "network", "sockets"]


@dataclass(frozen=True, slots=True)
class Conditions:
    """The benchmark and its scale: all inputs of an expectation except the platform.

    `benchmark` is a name of the catalogue. `size_bytes` counts as the library's own benchmarks do:
    OSU's for "mpi" (a vector for allreduce, the block for each destination for alltoall and
    allgather), nccl-tests' for "nccl" (the whole buffer), the message for "verbs". `tasks_per_node`
    are ranks, one a GPU for "nccl". `library_version` chooses constants ("" for the newest known);
    `algorithm` and `protocol` force what the library would choose. `n_hcas` is how many HCAs of a
    node take part (None: as many as the library would use). `transport` is "" for what the library
    would take, "rdma" where nodes talk through HCAs though NVLink joins them, "network" where ranks
    of one node do too, "sockets" where TCP carries what RDMA should. `gpudirect`: the HCA reaches
    GPU memory by itself. `n_switches` are on the path between two ranks, where that is known (None:
    one between two nodes, or three). `both_directions`: a test of message rate sends both ways at
    once, and adds them.
    """

    benchmark: str
    size_bytes: int
    n_nodes: int = 2
    tasks_per_node: int = 1
    memory: Memory = "host"
    library: Library = "mpi"
    library_version: str = ""
    algorithm: str = ""
    protocol: str = ""
    window: int = 64
    n_hcas: int | None = None
    transport: Transport = ""
    gpudirect: bool = True
    n_switches: int | None = None
    both_directions: bool = False

    @property
    def n_ranks(self) -> int:
        """Ranks in all; GPUs in all for "nccl"."""
        return self.n_nodes * self.tasks_per_node

    @property
    def inside_node(self) -> bool:
        """Whether all ranks share one node."""
        return self.n_nodes == 1


@dataclass(frozen=True, slots=True)
class Expectation:
    """What `metric` should be, in `unit`, between `low` and `high`.

    `bound` names what limits it, `formula` how it was computed, `source` where the figures come
    from (the weakest class among them first). `limit` is what nothing on this platform can beat (a
    least time, a greatest rate), `limit_name` what sets it; None where no such limit is known.
    `terms` are the parts of the time behind `value`, which they add up to. `algorithm` is what the
    library is taken to choose, `others` the further algorithms with their values, best first.
    """

    metric: str
    value: float
    unit: str
    low: float
    high: float
    bound: str
    formula: str
    source: str
    limit: float | None = None
    limit_name: str = ""
    terms: tuple[Term, ...] = ()
    algorithm: str = ""
    others: tuple[tuple[str, float], ...] = ()

    @property
    def lower_is_better(self) -> bool:
        """Whether it is a time."""
        return self.unit in ("us", "ns", "s")


def largest(terms: Sequence[Term]) -> Term:
    """The term that limits a sum or a maximum; the first of equals."""
    return max(terms, key=lambda term: term.time_ns)


def span(terms: Sequence[Term]) -> tuple[float, float, float]:
    """(time, least, most) of terms that follow one another, in ns."""
    time_ns = sum(term.time_ns for term in terms)
    return time_ns, sum(term.low_ns for term in terms), sum(term.high_ns for term in terms)


def joined(name: str, terms: Sequence[Term]) -> Term:
    """Terms as one, of the class and source of the one known least."""
    total, low, high = span(terms)
    if total <= 0:
        return Term(name, 0.0, terms[0].class_)
    last = max(terms, key=lambda term: list(SourceClass).index(term.class_))
    return Term(name, total, last.class_, (low / total, high / total), last.source)


def weakest_source(platform: str, terms: Sequence[Term]) -> str:
    """'platform fat-tree: assumed, fitted, sourced', weakest class first."""
    order = list(reversed(SourceClass))
    classes = sorted({term.class_ for term in terms if term.time_ns > 0}, key=order.index)
    return f"platform {platform}: {', '.join(classes)}"
