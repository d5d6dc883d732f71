"""A judged result file: rows with their expectation, causes that fit, field thresholds apart."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from weft.core.finding import Finding, FindingKind, Severity
from weft.core.units import format_size
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
    def shows_half(self) -> bool:
        """Whether half of the expected speed would have been low: `weft check` asks as much."""
        found = self.expectation
        if found is None or not self.state.is_verdict or found.value <= 0:
            return False
        slowest = found.high / 2 if found.lower_is_better else found.low * 2
        return slowest <= found.value if found.lower_is_better else slowest >= found.value

    @property
    def shows_half_the_link(self) -> bool:
        """Whether half of the link's rate, which adds the link's time once more, would have been
        low. True where the test prints no bandwidth or crosses no link: it is not about one."""
        found = self.expectation
        inside = self.conditions is not None and self.conditions.inside_node
        if found is None or not found.limit or inside or "bandwidth_mb_s" not in self.row.metrics:
            return True
        if found.lower_is_better:
            return found.value + found.limit > found.high
        return 1 / found.value + 1 / found.limit > 1 / found.low

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
    `confirm` is the test that would prove it, `remedy` what then helps. `score` is the misfit with
    what else counts for and against a cause, and it is the number to print; this file cannot
    separate those `tied`, which come first. `also` names causes of the same kind (other numbers of
    lost HCAs) that fit as well.
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
    also: tuple[str, ...] = ()


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

    @property
    def severity(self) -> Severity:
        """That of the verdict; BAD also for a bad row behind it. A first finding that is a note
        tells the path, and no more."""
        first = Severity.BAD if self.is_bad else self.findings[0].severity
        return Severity.UNKNOWN if first is Severity.NOTE else first

    @property
    def would_show(self) -> tuple[str, ...]:
        """The faults that a good verdict rules out."""
        if self.severity is not Severity.GOOD:
            return ()
        if self.findings[0].kind is FindingKind.PATH:
            return ("a rate below 90 % of every class of link that is named",)
        return _limits_of(self.rows)

    def to_record(self) -> dict[str, Any]:
        """The judgement as plain JSON values (schema weft.judgement/1)."""
        return {
            "schema": JUDGEMENT_SCHEMA,
            "path": self.path,
            "platform": self.platform,
            "platform_because": self.platform_because,
            "bad": self.is_bad,
            "verdict": self.severity.value,
            "would_show": list(self.would_show),
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


def _limits_of(rows: Sequence[JudgedRow]) -> tuple[str, ...]:
    """By metric, the value of its largest judged size that would have been low."""
    largest: dict[str, JudgedRow] = {}
    for row in rows:
        best = largest.get(row.metric)
        size = row.row.size_bytes or 0
        is_larger = best is None or size > (best.row.size_bytes or 0)
        if row.state.is_verdict and row.expectation is not None and is_larger:
            largest[row.metric] = row
    return tuple(_limit_of(row) for row in largest.values())


def _limit_of(row: JudgedRow) -> str:
    found = row.expectation
    assert found is not None
    slower = (
        f"more than {found.high:.4g}" if found.lower_is_better else f"less than {found.low:.4g}"
    )
    size = row.row.size_bytes
    return f"{slower} {row.unit}" + (f" at {format_size(size)}" if size is not None else "")
