"""Shares of the possible that real machines reach (schema weft.practice/1), with sources."""

from functools import cache
from typing import Literal

from pydantic import Field, model_validator

from weft.catalog.document import Document, Slug, SourceClass, Text
from weft.catalog.toml_file import shipped_document
from weft.core.errors import unknown_name


class PracticeFigure(Document):
    """A figure that is a range: between `low` and `high`, usually about `value`."""

    low: float = Field(ge=0, allow_inf_nan=False)
    value: float = Field(ge=0, allow_inf_nan=False)
    high: float = Field(gt=0, allow_inf_nan=False)
    unit: Text
    class_: SourceClass = Field(alias="class")
    source: Text
    conditions: str = ""

    @model_validator(mode="after")
    def _in_order(self) -> "PracticeFigure":
        if not self.low <= self.value <= self.high:
            raise ValueError("low <= value <= high")
        return self

    @property
    def spread(self) -> tuple[float, float]:
        """Factors between which it lies, for a term that is this long."""
        return (self.low / self.value, self.high / self.value)

    @property
    def inverse_spread(self) -> tuple[float, float]:
        """The same for a term that this figure divides."""
        return (self.value / self.high, self.value / self.low)


class PracticeFigures(Document):
    """All of them."""

    schema_: Literal["weft.practice/1"] = Field(alias="schema")
    figures: dict[Slug, PracticeFigure]


@cache
def practice_figures() -> dict[str, PracticeFigure]:
    """Every figure by name."""
    document = shipped_document(PracticeFigures, "practice.toml", "table of practice")
    return dict(document.figures)


def practice(name: str) -> PracticeFigure:
    """The figure of that name. Raises InputError."""
    figures = practice_figures()
    if name not in figures:
        raise unknown_name(f"no figure of practice '{name}'", name, figures)
    return figures[name]
