"""The components of one check as plain values: how slow each was, and which were accused."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

NODE, ADAPTER, CABLE, PAIR = "node", "HCA", "cable", "pair"
KINDS = (NODE, ADAPTER, CABLE, PAIR)
"""Of the components of a history, in the order of its pages."""


class NamedComponent(NamedTuple):
    """A component by its kind, one of `KINDS`, and its name: 'n003', 'leaf-01[3] <-> spine-02[1]',
    'n003 - n007'. Accused ones may have other kinds: switch, path, or several that tie.

    A tuple: a history of 10,000 checks hashes millions, ten times as fast as a dataclass."""

    kind: str
    name: str

    @property
    def text(self) -> str:
        """'node n003'."""
        return f"{self.kind} {self.name}"


class ComponentSeries(NamedTuple):
    """A component and a metric of it: one column of a history."""

    component: NamedComponent
    metric: str


@dataclass(frozen=True, slots=True)
class RunAccusation:
    """A component that a check accused; `severity`: bad or warning."""

    component: NamedComponent
    severity: str


@dataclass(frozen=True, slots=True)
class RunComponents:
    """`verdict` is the severity of the whole check, "" of a run that is no check; `why_not` says
    why a check has no components. `slowness`: by series how much slower than others of its kind
    the component was, as a natural logarithm (0.1: 10 % slower)."""

    verdict: str = ""
    why_not: str = ""
    slowness: Mapping[ComponentSeries, float] = field(default_factory=dict)
    accused: tuple[RunAccusation, ...] = ()


NO_CHECK = RunComponents()
