"""Field thresholds (schema weft.field-thresholds/1): limits that other people's checks require.

A document holds one source's tests; a test is described once and has a row for each system it is
applied to. `thresholds_of` turns it into one `FieldThreshold` a row.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from pydantic import Field, model_validator

from weft.catalog.document import Document, Slug, Text

Direction = Literal["at least", "at most"]
Kind = Literal["fail", "warn", "expect"]
ThresholdBasis = Literal["rule", "sample", "fault"]

WEFT_UNITS: dict[tuple[str, str], tuple[float, str]] = {
    ("bandwidth_mb_s", "Gb/s"): (125.0, "MB/s"),
    ("bandwidth_mb_s", "MB/s"): (1.0, "MB/s"),
    ("busbw_gb_s", "GB/s"): (1.0, "GB/s"),
    ("latency_us", "us"): (1.0, "us"),
}
"""(our metric, unit as printed) -> (factor, our unit). Gb/s x 1e9 / 8 / 1e6 = MB/s."""
_EXTREMES = re.compile("_(min|max)$")
"""Of several values a metric may be the least or the greatest: `latency_us_max`."""


def _weft_unit(metric: str, printed: str) -> tuple[float, str] | None:
    return WEFT_UNITS.get((_EXTREMES.sub("", metric), printed))


@dataclass(frozen=True, slots=True)
class FieldThreshold:
    """One value somebody else compares a result with, verbatim and in our words.

    `value`, `unit` are those of our `metric` where `benchmark` names a row it can be compared with,
    as printed otherwise. `platforms` are names of the catalogue it applies to (none: a system we
    have no document of). `size_bytes` are the first and last size it speaks of, None for any.
    `n_nodes` is exact where given; `min_nodes` the least. `special` names the setting it needs
    that is not usual. `rests_on`: a "rule" of the source, a documented "sample" of one run,
    or a documented "fault" (what a mis-configured run gives: nothing to compare with).
    """

    system: str
    platforms: tuple[str, ...]
    tool_test: str
    benchmark: str
    memory: str
    n_nodes: int | None
    min_nodes: int
    size_bytes: tuple[int, int] | None
    metric: str
    value: float
    unit: str
    direction: Direction
    kind: Kind
    rests_on: ThresholdBasis
    special: str
    text: str
    source: str
    printed_value: float
    printed_unit: str
    erratum: str = ""

    @property
    def comparable(self) -> bool:
        """Whether a result row can be held against it."""
        return self.benchmark != "" and self.rests_on != "fault"

    def passed(self, value: float) -> bool:
        """Whether a value of `metric` in `unit` meets it."""
        return value >= self.value if self.direction == "at least" else value <= self.value


class SystemRow(Document):
    """The demand of a test on one system."""

    system: Text
    value: float = Field(allow_inf_nan=False)
    platforms: tuple[Slug, ...] = ()
    source: Text


class FieldTest(Document):
    """One test as its source describes it, and the systems it is applied to."""

    text: Text
    unit: Text
    kind: Kind
    tool_test: str = ""
    benchmark: str = ""
    metric: str = ""
    memory: Literal["", "host", "gpu"] = ""
    n_nodes: int | None = Field(default=None, ge=1)
    min_nodes: int = Field(default=1, ge=1)
    size_bytes: tuple[int, int] | None = None
    direction: Direction
    rests_on: ThresholdBasis = "rule"
    special: str = ""
    erratum: str = ""
    rows: tuple[SystemRow, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _comparable_in_our_units(self) -> "FieldTest":
        if not self.benchmark:
            return self
        if _weft_unit(self.metric, self.unit) is None:
            known = ", ".join(f"{metric} from {unit}" for metric, unit in WEFT_UNITS)
            raise ValueError(f"a comparable test gives one of: {known}")
        return self

    @model_validator(mode="after")
    def _sizes_in_order(self) -> "FieldTest":
        if self.size_bytes is not None and self.size_bytes[0] > self.size_bytes[1]:
            raise ValueError("size_bytes is the first size, then the last")
        return self


class FieldTests(Document):
    """The tests of one source."""

    schema_: Literal["weft.field-thresholds/1"] = Field(alias="schema")
    title: Text
    notes: tuple[str, ...] = ()
    tests: tuple[FieldTest, ...] = Field(min_length=1)


def thresholds_of(document: FieldTests) -> Iterator[FieldThreshold]:
    """One threshold for each system of each test, in the order of the document."""
    for test in document.tests:
        factor, unit = _weft_unit(test.metric, test.unit) or (1.0, test.unit)
        same = {name: getattr(test, name) for name in _SAME}
        for row in test.rows:
            yield FieldThreshold(
                **same,
                system=row.system,
                platforms=row.platforms,
                value=row.value * factor,
                unit=unit,
                source=row.source,
                printed_value=row.value,
                printed_unit=test.unit,
            )


_SAME = (FieldTest.model_fields.keys() & FieldThreshold.__slots__) - {"unit"}
"""Fields that a threshold takes from its test unchanged."""
