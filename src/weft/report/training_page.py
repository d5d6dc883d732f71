"""`weft train read LOG --report PAGE`: training logs as one HTML page, a part a run."""

from collections.abc import Sequence
from pathlib import Path

from weft.report.model import RunPage
from weft.report.page import write_page
from weft.report.sections import step_times
from weft.train.log.judged_log import JudgedLog
from weft.train.log.judged_run import JudgedRun

MOST_RUNS = 40


def write_training_page(logs: Sequence[JudgedLog], out: Path) -> Path:
    """Write the page and return its path. Raises MissingError on a disk that refuses."""
    runs = [(one, number, run) for one in logs for number, run in enumerate(one.runs, start=1)]
    pages = [
        _page(log, number, run, f"run{i}")
        for i, (log, number, run) in enumerate(runs[:MOST_RUNS], start=1)
    ]
    write_page(out, pages, verb="train read", option="--report FILE")
    return out


def _page(log: JudgedLog, number: int, judged: JudgedRun, name: str) -> RunPage:
    run = judged.run
    many = f", run {number} of {len(log.runs)}" if len(log.runs) > 1 else ""
    sections = (step_times.section(judged, name), step_times.figures(judged))
    return RunPage(
        id=name,
        title=f"{Path(log.log.path).name}{many}",
        subtitle=f"{log.log.path}: {run.title}, lines {run.first_line} to {run.last_line}.",
        findings=judged.findings,
        caveats=(),
        sections=tuple(section for section in sections if section is not None),
    )
