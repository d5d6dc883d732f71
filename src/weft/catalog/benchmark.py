"""The benchmark document (schema weft.benchmark/1): what is measured and how it is read."""

from typing import Any, Literal

from pydantic import Field, field_validator

from weft.catalog.document import Document, Slug, Text
from weft.core.units import parse_size_range


class Benchmark(Document):
    """A benchmark of the suite.

    `sizes` is the grammar of `weft.core.units.parse_size_range`, empty for a benchmark without
    sizes. `options` are its defaults, `twin` caps them on a twin, where few iterations tell all.
    `headline` is the metric a table shows, `better` its good direction, `osu` the
    equivalent test of the OSU micro-benchmarks (empty where there is none). `kernel` says whether
    weft's own kernel measures it; the others are read from other tools' files.
    """

    schema_: Literal["weft.benchmark/1"] = Field(alias="schema")
    name: Slug
    title: Text
    kind: Literal["pt2pt", "collective", "pairs"]
    sizes: str
    options: dict[str, Any] = Field(default_factory=dict)
    twin: dict[str, int] = Field(default_factory=dict)
    headline: Text
    better: Literal["lower", "higher"]
    osu: str
    kernel: bool = True

    @field_validator("sizes")
    @classmethod
    def _sizes_are_sizes(cls, sizes: str) -> str:
        if sizes:
            parse_size_range(sizes)
        return sizes

    @property
    def sizes_bytes(self) -> tuple[int, ...]:
        """The default sizes; (0,) for a benchmark without sizes."""
        return parse_size_range(self.sizes) if self.sizes else (0,)
