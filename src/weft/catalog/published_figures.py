"""Published figures and facts, by source (schemas weft.figures/1 and weft.facts/1).

A list of figures is one source's; each figure says which platforms of the catalogue it belongs to
(none: it speaks of a machine or a model we have no document of). `weft.catalog.load.platform` hangs
a platform's figures into `Platform.figures`. Facts are what manuals, specifications and papers say
about links, switches and methods, in numbers or in words.
"""

from collections.abc import Iterator
from typing import Literal

from pydantic import Field, model_validator

from weft.catalog.document import Document, Slug, Text
from weft.catalog.machine.platform import FigureKind, PublishedFigure


class FigureRow(Document):
    """One figure of a group."""

    id: Slug
    value: float = Field(allow_inf_nan=False)
    unit: Text
    kind: FigureKind
    what: Text
    conditions: str = ""
    notes: str = ""
    erratum: str = ""


class FigureGroup(Document):
    """Figures from one place of the source, about one system."""

    place: Text
    system: Text
    platforms: tuple[Slug, ...] = ()
    benchmark: str = ""
    figures: tuple[FigureRow, ...] = Field(min_length=1)


class FigureList(Document):
    """The figures of one source."""

    schema_: Literal["weft.figures/1"] = Field(alias="schema")
    source: Text
    groups: tuple[FigureGroup, ...] = Field(min_length=1)


class Fact(Document):
    """A number (`value`, `unit`) or a statement (`text`), and where it stands."""

    id: Slug
    what: Text
    value: float | None = Field(default=None, allow_inf_nan=False)
    unit: str = ""
    text: str = ""
    source: Text
    kind: FigureKind = "setting"
    platforms: tuple[Slug, ...] = ()
    erratum: str = ""
    topic: str = ""

    @model_validator(mode="after")
    def _number_or_words(self) -> "Fact":
        if (self.value is None) == (self.text == ""):
            raise ValueError("a fact has either a value or a text")
        if self.value is not None and not self.unit:
            raise ValueError("a value has a unit")
        return self


class FactTopic(Document):
    """Facts about one thing."""

    topic: Text
    facts: tuple[Fact, ...] = Field(min_length=1)


class FactList(Document):
    """Facts of several topics."""

    schema_: Literal["weft.facts/1"] = Field(alias="schema")
    topics: tuple[FactTopic, ...] = Field(min_length=1)


def figures_of(document: FigureList) -> Iterator[tuple[tuple[str, ...], PublishedFigure]]:
    """Each figure with the platforms it belongs to, in the order of the document."""
    for group in document.groups:
        common = {"system": group.system, "benchmark": group.benchmark, "place": group.place}
        for row in group.figures:
            fields = row.model_dump() | common
            yield group.platforms, PublishedFigure(**fields, source=document.source)


def facts_of(document: FactList) -> Iterator[Fact]:
    """Each fact with its topic, in the order of the document."""
    for topic in document.topics:
        for fact in topic.facts:
            yield fact.model_copy(update={"topic": topic.topic})


def as_figure(fact: Fact) -> PublishedFigure | None:
    """A fact in numbers as a figure of a platform; None for a fact in words."""
    if fact.value is None:
        return None
    same = fact.model_dump(include={"id", "value", "unit", "kind", "what", "source", "erratum"})
    return PublishedFigure(**same, place=fact.topic)
