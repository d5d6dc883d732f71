"""A judged result file: rows with their expectation, causes that fit, field thresholds apart."""

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from weft.core.finding import Finding, Severity
from weft.expect.model import Conditions, Expectation
from weft.results.model import Row, Table, Unread

JUDGEMENT_SCHEMA = "weft.judgement/1"
METRIC_UNITS = {
    "latency_us": "us",
    "bandwidth_mb_s": "MB/s",
    "busbw_gb_s": "GB/s",
    "algbw_gb_s": "GB/s",
    "msg_rate_mps": "M/s",
    "impact": "x",
}
"""The unit each judged metric is printed in."""


class RowState(StrEnum):
    """What a row is, against its expectation.

    LOW is slower than the interval allows, HIGH faster than it but within the limit, IMPOSSIBLE
    beyond the limit. TOO_WIDE is inside an interval that holds a faulty machine's value as well.
    UNJUDGED: nothing to compare with. `JudgedRow.note` gives the reason of the last two.
    """

    NORMAL = "normal"
    LOW = "low"
    HIGH = "high"
    IMPOSSIBLE = "impossible"
    TOO_WIDE = "too wide to tell"
    UNJUDGED = "unjudged"

    @property
    def is_verdict(self) -> bool:
        """Whether it says that a row is as it should be, or is not."""
        return self not in (RowState.TOO_WIDE, RowState.UNJUDGED)


@dataclass(frozen=True, slots=True)
class JudgedRow:
    """One metric of one row. `odd`: it is an outlier of its own table, or its columns contradict
    each other. `lacks_layout`: not judged, because the number of nodes and ranks is unknown."""

    table: Table
    row: Row
    metric: str
    value: float
    state: RowState
    conditions: Conditions | None = None
    expectation: Expectation | None = None
    odd: bool = False
    contradictory: bool = False
    note: str = ""
    lacks_layout: bool = False

    @property
    def noticed(self) -> bool:
        """Whether the row is reported as wrong."""
        return self.odd or self.state in (RowState.LOW, RowState.HIGH, RowState.IMPOSSIBLE)

    @property
    def unit(self) -> str:
        """The unit of the value, whether or not anything is expected."""
        return METRIC_UNITS.get(self.metric, "")

    def to_record(self) -> dict[str, Any]:
        """The row as plain JSON values."""
        found = self.expectation
        return {
            "tool": self.table.tool,
            "test": self.table.test,
            "benchmark": self.table.benchmark,
            "line": self.row.line,
            "size_bytes": self.row.size_bytes,
            "labels": dict(self.row.labels),
            "metric": self.metric,
            "measured": self.value,
            "state": self.state.value,
            "odd": self.odd,
            "expected": found.value if found else None,
            "low": found.low if found else None,
            "high": found.high if found else None,
            "unit": self.unit,
            "limit": found.limit if found else None,
            "limit_name": found.limit_name if found else None,
            "bound": found.bound if found else None,
            "formula": found.formula if found else None,
            "source": found.source if found else None,
            "note": self.note,
        }


@dataclass(frozen=True, slots=True)
class LikelyCause:
    """A cause from the catalogue and how well it explains the low (or impossible) rows.

    `misfit` is the mean over them of |ln(measured / what the cause predicts)|: 0.05 is 5 %.
    `confirm` is the test that would prove it, `remedy` what then helps. Causes are ordered by
    `score`, the misfit with what else counts for and against them, and it is the number to print;
    this file cannot separate those `tied` from the first one.
    """

    name: str
    sentence: str
    misfit: float
    n_rows: int
    predicts: str
    confirm: str
    remedy: str
    source: str
    score: float = 0.0
    tied: bool = False


@dataclass(frozen=True, slots=True)
class FieldVerdict:
    """An external threshold next to the measured value: not our prediction.

    `is_rule` is false where it is what one documented run gave, or what its owner hopes for: that
    a value is worse says nothing about passing or failing.
    """

    system: str
    test: str
    threshold: float
    unit: str
    kind: str
    measured: float
    passed: bool
    source: str
    is_rule: bool = True

    @property
    def word(self) -> str:
        """How the value stands to the threshold."""
        if self.is_rule:
            return "met" if self.passed else "missed"
        return "as good as" if self.passed else "worse than"


@dataclass(frozen=True, slots=True)
class FileJudgement:
    """The verdict about one file. `findings` worst first; the first one is the verdict.

    `platform` is "" where it is unknown. `generic`: the normal values on each generation
    of links then. `unread` are the lines that no reader understood.
    """

    path: str
    platform: str
    platform_because: str
    findings: tuple[Finding, ...]
    rows: tuple[JudgedRow, ...]
    causes: tuple[LikelyCause, ...]
    field: tuple[FieldVerdict, ...]
    remarks: tuple[str, ...] = ()
    generic: tuple[str, ...] = ()
    unread: tuple[Unread, ...] = ()
    n_unread: int = 0
    next_command: str = ""

    @property
    def is_bad(self) -> bool:
        """Whether the verdict is bad, or a row is low or impossible: exit 1."""
        bad_row = any(row.state in (RowState.LOW, RowState.IMPOSSIBLE) for row in self.rows)
        return bad_row or any(one.severity is Severity.BAD for one in self.findings[:1])

    def to_record(self) -> dict[str, Any]:
        """The judgement as plain JSON values (schema weft.judgement/1)."""
        return {
            "schema": JUDGEMENT_SCHEMA,
            "path": self.path,
            "platform": self.platform,
            "platform_because": self.platform_because,
            "bad": self.is_bad,
            "findings": [finding.to_record() for finding in self.findings],
            "causes": [asdict(cause) for cause in self.causes],
            "field": [asdict(verdict) for verdict in self.field],
            "generic": list(self.generic),
            "remarks": list(self.remarks),
            "unread": [[u.line, u.text, u.reason] for u in self.unread],
            "n_unread": self.n_unread,
            "next_command": self.next_command,
            "rows": [row.to_record() for row in self.rows],
        }
