"""Published values of the platform of a twin run, next to the twin's."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from weft.bench.twin.backend import PLATFORM_FILE
from weft.catalog.load import kept_platform
from weft.catalog.machine.fit_report import FittedTable
from weft.catalog.machine.platform import PublishedTable
from weft.core.units import format_size
from weft.report.charts.cells import ChartMetric
from weft.study.run.store import StudyRun


@dataclass(frozen=True, slots=True)
class Published:
    """A published table, and the platform's fit to it (None: not fitted)."""

    table: PublishedTable
    fitted: FittedTable | None

    @property
    def word(self) -> str:
        """'measured' where the table is the file or the run that the platform was fitted to."""
        own = self.fitted is not None and self.fitted.source == self.table.source
        return "measured" if own and self.fitted and self.fitted.sha256 else "published"

    @property
    def series(self) -> str:
        """'published: Kaneshiro'."""
        return f"{self.word}: {self.table.source.split(',')[0]}"

    @property
    def by_size(self) -> Mapping[int, float]:
        """The value of each size; a printed 0.00 is below its last digit and no ratio's base."""
        return {size: value for size, value in self.table.rows if value > 0}

    def belongs_to(self, benchmark: str, metric: ChartMetric) -> bool:
        """Whether it is of the measured benchmark and metric (a mean is compared with a median)."""
        measured = (benchmark, metric.name.removesuffix("_p50"))
        return (self.table.benchmark, self.table.metric) == measured

    def finding(self, measured: Mapping[int, float]) -> str:
        """How far the measured values are from it, at the median and at worst."""
        errors = {
            size: measured[size] / value - 1
            for size, value in self.by_size.items()
            if size in measured and size not in self._left_out
        }
        if not errors:
            return ""
        worst = max(errors, key=lambda size: abs(errors[size]))
        typical = median(abs(error) for error in errors.values())
        return (
            f"{typical:.1%} from the {self.word} values (median of {len(errors)} sizes), "
            f"{abs(errors[worst]):.1%} at {format_size(worst)}"
        )

    @property
    def notes(self) -> Sequence[str]:
        """Source and conditions, rows that the fit used and left out."""
        table = self.table
        conditions = f" ({table.conditions})" if table.conditions else ""
        notes = [f"{self.word.capitalize()}: {table.source}{conditions}."]
        if self.fitted is not None and self.fitted.sizes_bytes:
            unseen = self.fitted.unseen
            notes.append(
                "The platform's host costs are fitted to this table; from half of its rows the "
                f"others were predicted to {unseen.median_error:.1%} (median of the worse half), "
                f"{unseen.worst_error:.1%} at worst."
            )
        if self._left_out:
            sizes = ", ".join(format_size(size) for size in sorted(self._left_out))
            notes.append(f"Not fitted and not counted, as it breaks the rise with size: {sizes}.")
        return notes

    @property
    def _left_out(self) -> frozenset[int]:
        if self.fitted is None:
            return frozenset()
        return frozenset(row.size_bytes for row in self.fitted.left_out)


def published_of(run: StudyRun) -> tuple[Published, ...]:
    """Of a twin run, the tables its platform document carries; of any other, none."""
    path = run.directory / PLATFORM_FILE
    if not os.path.lexists(path):
        return ()
    document = kept_platform(path)
    fitted = {} if document.fit is None else {one.benchmark: one for one in document.fit.tables}
    return tuple(Published(table, fitted.get(table.benchmark)) for table in document.published)
