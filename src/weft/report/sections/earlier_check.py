"""Compared with an earlier check: new, known and mended components."""

from pathlib import Path

from weft.check.pipeline import judge_earlier
from weft.check.verdict.earlier_check import MovedNorms, compare, summary
from weft.check.verdict.verdict import Verdict
from weft.core.errors import InputError
from weft.report.model import Section, cut_table
from weft.study.run.metadata import AGAINST
from weft.study.run.store import StudyRun


def section(run: StudyRun, verdict: Verdict) -> Section | None:
    """The changes since the run that `--against` named; None without one."""
    named = run.meta.get(AGAINST)
    if not isinstance(named, str):
        return None
    heading = f"Against {Path(named).name}"
    try:
        before = judge_earlier(Path(named))
    except InputError as error:
        return Section(heading, (f"The earlier check cannot be used: {error.what.rstrip('.')}.",))
    now, against = compare(verdict, before, Path(named).name)
    changed = zip(now.findings, against.changes, strict=True)
    rows = [(change.value, summary(finding)) for finding, change in changed if change is not None]
    rows += [(change.value, summary(finding)) for change, finding in against.past]
    moved = [one.sentence for one in now.findings if isinstance(one.facts, MovedNorms)]
    notes = [f"{note}." for note in now.caveats if note not in verdict.caveats]
    if not rows:
        return Section(heading, (*moved, "No fault in either check.", *notes))
    columns = ("since then", "what")
    table = cut_table("Faults of either check", columns, rows)
    return Section(heading, (*moved, *notes), tables=(table,))
