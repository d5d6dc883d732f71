"""The files of a history for other programs: a page, metrics, a dashboard."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import weft
from weft.api.export.history_openmetrics import history_metrics
from weft.cli.output import talk
from weft.core.documents.text_file import read_text_file
from weft.core.errors import InputError
from weft.core.files import write_whole
from weft.core.words import counted
from weft.launch.secret_text import mask_forms
from weft.report.history_page import write_history_page
from weft.study.history.whole_history import WholeHistory

DASHBOARD = Path(weft.__path__[0]) / "api/export/grafana.json"


@dataclass(frozen=True, slots=True)
class WrittenFiles:
    """Where each goes; None where it was not asked for."""

    page: Path | None
    metrics: Path | None
    dashboard: Path | None

    def write(self, histories: Sequence[WholeHistory]) -> None:
        """Write what was asked for, each whole or not at all. Raises InputError for a page or
        metrics of no run."""
        if not histories and (self.page or self.metrics):
            raise InputError(
                "no run has a place in time and a figure",
                expected="runs for the page or the metrics",
                hint="'weft history DIR' without them says why each was left out",
            )
        components = sum(len(one.components.components.components) for one in histories)
        if self.page is not None:
            write_history_page(histories, self.page)
            talk(f"{self.page}: {counted(components, 'component')}")
        if self.metrics is not None:
            # A rename: the collector of node_exporter never reads half a file.
            write_whole(self.metrics, mask_forms(history_metrics(histories)), what="metrics")
            talk(f"{self.metrics}: {counted(components, 'component')}")
        if self.dashboard is not None:
            text = read_text_file(
                DASHBOARD, expected="the dashboard that weft brings", most_bytes=1 << 20
            )
            write_whole(self.dashboard, text, what="dashboard")
            talk(f"{self.dashboard}: import it in Grafana: Dashboards, New, Import")
