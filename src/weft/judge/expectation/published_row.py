"""What was published of this machine under the very conditions of a row: another band than that of
a model, and a narrower one.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Literal

from pydantic import Field, model_validator

from weft.catalog.document import Document, Slug, Text
from weft.catalog.machine.platform import Platform, PublishedTable
from weft.catalog.toml_file import shipped_document
from weft.expect.model import Conditions, Library, Memory
from weft.judge.rules import Rules


class _Layout(Document):
    """Conditions of a published value; "" for a version or an algorithm that is not stated."""

    platform: Slug
    n_nodes: int = Field(ge=1)
    tasks_per_node: int = Field(ge=1)
    library: Library = "mpi"
    memory: Memory = "host"
    transport: Literal["", "network"] = ""
    nccl_version: str = ""

    def fits(self, conditions: Conditions) -> bool:
        """Whether a row was measured so. A version that is not stated fits any."""
        of_row = conditions.library_version
        same_version = not (self.nccl_version and of_row) or _series(of_row) == _series(
            self.nccl_version
        )
        return same_version and (
            (self.n_nodes, self.tasks_per_node, self.memory, self.transport)
            == (
                conditions.n_nodes,
                conditions.tasks_per_node,
                conditions.memory,
                conditions.transport,
            )
            and (self.library == "nccl") == (conditions.library == "nccl")
        )


class PublishedRow(_Layout):
    """One published value: `figure` of the catalogue, or `value` with its `source`."""

    figure: str = ""
    value: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    source: str = ""
    benchmark: Slug
    metric: Text
    size_bytes: int = Field(ge=0)

    @model_validator(mode="after")
    def _one_value(self) -> "PublishedRow":
        if bool(self.figure) == bool(self.value and self.source):
            raise ValueError("either a figure, or a value with its source")
        return self


class TableLayout(_Layout):
    """The conditions of tables of a platform, by their names."""

    names: tuple[Slug, ...] = Field(min_length=1)


class PublishedRows(Document):
    """The conditions of published values."""

    schema_: Literal["weft.published_rows/1"] = Field(alias="schema")
    rows: tuple[PublishedRow, ...]
    tables: tuple[TableLayout, ...]


@dataclass(frozen=True, slots=True)
class PublishedBand:
    """The least and the greatest value published under some conditions. `factor` is how far another
    run of the same machine may be off, either way."""

    metric: str
    least: float
    most: float
    factor: float
    name: str
    source: str

    @property
    def value(self) -> float:
        """The middle of what was published."""
        return math.sqrt(self.least * self.most)


@cache
def published_rows() -> PublishedRows:
    """The shipped conditions."""
    return shipped_document(PublishedRows, "published_row.toml", "conditions of published rows")


def published_band(
    platform: Platform, conditions: Conditions, metrics: frozenset[str], rules: Rules
) -> PublishedBand | None:
    """What was published under the same conditions, in one of some metrics; None without any."""
    if conditions.algorithm or conditions.protocol or conditions.n_hcas:
        return None
    found = [
        one
        for one in (*_tables(platform, conditions), *_figures(platform, conditions))
        if one[0] in metrics
    ]
    if not found:
        return None
    # A bandwidth of few printed digits says less than the time of the same row.
    large = conditions.size_bytes >= rules.published_large_from
    metric = min((one[0] for one in found), key=lambda name: (name == "latency_us") == large)
    same = [one for one in found if one[0] == metric]
    values = [value for _, value, _, _ in same]
    return PublishedBand(
        metric=metric,
        least=min(values),
        most=max(values),
        factor=_factor(conditions, rules),
        name=" and ".join(dict.fromkeys(name for _, _, name, _ in same)),
        source="; ".join(dict.fromkeys(source for _, _, _, source in same)),
    )


def _factor(conditions: Conditions, rules: Rules) -> float:
    size = conditions.size_bytes
    if conditions.library == "nccl" and size >= rules.same_condition_from:
        return rules.same_condition
    return rules.published_large if size >= rules.published_large_from else rules.published_small


_Published = tuple[str, float, str, str]
"""(metric, value, name, source)."""


def _tables(platform: Platform, conditions: Conditions) -> Iterator[_Published]:
    for table in platform.published:
        if table.benchmark != conditions.benchmark or not _fits(table, platform.name, conditions):
            continue
        for size, value in table.rows:
            if size == conditions.size_bytes and value > 0:
                source = f"{table.class_.value}: {table.source}"
                yield table.metric, value, f"'{table.name}'", source


def _fits(table: PublishedTable, platform: str, conditions: Conditions) -> bool:
    for layout in published_rows().tables:
        if layout.platform == platform and table.name in layout.names:
            return layout.fits(conditions)
    is_pair = conditions.n_ranks == 2 and not conditions.inside_node
    return is_pair and conditions.memory == "host" and conditions.library != "nccl"


def _figures(platform: Platform, conditions: Conditions) -> Iterator[_Published]:
    for row in published_rows().rows:
        same = (row.platform, row.benchmark, row.size_bytes) == (
            platform.name,
            conditions.benchmark,
            conditions.size_bytes,
        )
        if not same or not row.fits(conditions):
            continue
        figure = next((one for one in platform.figures if one.id == row.figure), None)
        if figure is not None:
            source = f"published: {figure.source}, {figure.place}"
            yield row.metric, figure.value, f"'{figure.id}'", source
        elif row.value:
            yield row.metric, row.value, "row", f"published: {row.source}"


def _series(version: str) -> str:
    """A version without its patch: 2.26 of 2.26.5."""
    return ".".join(version.split(".")[:2])
