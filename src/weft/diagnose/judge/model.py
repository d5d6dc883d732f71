"""A judged result file: rows with their expectation, causes that fit, field thresholds apart."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from weft.bench.parse.model import Row, Table
from weft.core.finding import Finding
from weft.expect.model import Conditions, Expectation


class RowState(StrEnum):
    """What a row is, against its expectation.

    LOW is slower than the interval allows, HIGH faster than it but within the limit, IMPOSSIBLE
    beyond the limit. UNJUDGED: nothing to compare with, and `JudgedRow.note` says why.
    """

    NORMAL = "normal"
    LOW = "low"
    HIGH = "high"
    IMPOSSIBLE = "impossible"
    UNJUDGED = "unjudged"


@dataclass(frozen=True, slots=True)
class JudgedRow:
    """One metric of one row. `odd` says that it stands out of its own table: it agrees with neither
    the rows before it nor those after it, or its columns contradict each other."""

    table: Table
    row: Row
    metric: str
    value: float
    state: RowState
    conditions: Conditions | None = None
    expectation: Expectation | None = None
    odd: bool = False
    note: str = ""

    @property
    def noticed(self) -> bool:
        """Whether a reader is told that something is wrong with this row."""
        return self.odd or self.state in (RowState.LOW, RowState.HIGH, RowState.IMPOSSIBLE)


@dataclass(frozen=True, slots=True)
class LikelyCause:
    """A cause from the catalogue and how well it explains the low (or impossible) rows.

    `misfit` is the median over them of |ln(measured / what the cause predicts)|: 0.05 is 5 %.
    `confirm` is the test that would prove it, `remedy` what then helps.
    """

    name: str
    sentence: str
    misfit: float
    n_rows: int
    predicts: str
    confirm: str
    remedy: str
    source: str


@dataclass(frozen=True, slots=True)
class FieldVerdict:
    """Somebody else's threshold beside the measured value: not our prediction."""

    system: str
    test: str
    threshold: float
    unit: str
    kind: str
    measured: float
    passed: bool
    source: str


@dataclass(frozen=True, slots=True)
class FileJudgement:
    """The verdict about one file. `findings` worst first; the first one is the verdict."""

    path: str
    platform: str
    platform_because: str
    findings: tuple[Finding, ...]
    rows: tuple[JudgedRow, ...]
    causes: tuple[LikelyCause, ...]
    field: tuple[FieldVerdict, ...]
    remarks: tuple[str, ...] = ()

    def to_record(self) -> dict[str, Any]:
        """The judgement as plain JSON values."""
        raise NotImplementedError
