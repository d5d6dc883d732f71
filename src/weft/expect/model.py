"""An expectation: a predicted value, how far it may be off, and what limits it."""

from collections.abc import Sequence
from dataclasses import dataclass

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
    """One part of a time: its name, its length in ns, and the class of the figure behind it."""

    name: str
    time_ns: float
    class_: SourceClass

    @property
    def low_ns(self) -> float:
        """The least it is taken to be."""
        return self.time_ns * SPREAD[self.class_][0]

    @property
    def high_ns(self) -> float:
        """The most it is taken to be."""
        return self.time_ns * SPREAD[self.class_][1]


@dataclass(frozen=True, slots=True)
class Expectation:
    """What `metric` should be, in `unit`, between `low` and `high`.

    `bound` names what limits it, `formula` how it was computed, `source` where the figures come
    from (the weakest class among them first).
    """

    metric: str
    value: float
    unit: str
    low: float
    high: float
    bound: str
    formula: str
    source: str


def largest(terms: Sequence[Term]) -> Term:
    """The term that limits a sum or a maximum; the first of equals."""
    return max(terms, key=lambda term: term.time_ns)


def weakest_source(platform: str, terms: Sequence[Term]) -> str:
    """'platform fat-tree: assumed, fitted, sourced', weakest class first."""
    order = list(reversed(SourceClass))
    classes = sorted({term.class_ for term in terms if term.time_ns > 0}, key=order.index)
    return f"platform {platform}: {', '.join(classes)}"
