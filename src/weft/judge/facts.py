"""Values of the judge's findings. A field's name is its key in JSON."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from weft.core.finding import FindingFacts
from weft.judge.model import RowState


@dataclass(frozen=True, slots=True)
class VerdictFacts(FindingFacts):
    """Rows by state, and the lines of those that the verdict is about."""

    rows: int
    rows_judged: int
    lines: list[int]
    by_state: Mapping[RowState, int]

    def to_record(self) -> dict[str, Any]:
        """Each state has its own key."""
        counts = {state.value: n for state, n in self.by_state.items()}
        return {
            "rows": self.rows,
            "rows_judged": self.rows_judged,
            "lines": self.lines,
            **counts,
        }


@dataclass(frozen=True, slots=True)
class AnomalousRowFacts(FindingFacts):
    """A row that contradicts itself or its curve."""

    line: int
    size_bytes: int | None
    metric: str


@dataclass(frozen=True, slots=True)
class SeparateRunsFacts(FindingFacts):
    """Runs that printed into one table."""

    line: int
    runs: str


@dataclass(frozen=True, slots=True)
class LinkRateFacts(FindingFacts):
    """The rate of a link that a figure exceeds without error."""

    rate_gb_s: float
