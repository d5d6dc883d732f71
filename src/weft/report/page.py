"""`weft report`: finished run directories in, one HTML file out."""

import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from weft.bench.result_scale import is_imported
from weft.check.verdict.good_nodes import OK
from weft.check.verdict.verdict import Verdict
from weft.core.documents.document_text import toml_table
from weft.core.errors import InputError
from weft.core.files import HeldFolder, write_part, write_whole
from weft.core.finding import Finding, severity_rank
from weft.core.work.progress import each, phases
from weft.report.charts.cells import also_measured_of
from weft.report.html import render
from weft.report.model import RunPage, Section
from weft.report.published_values import published_of
from weft.report.run_names import titles
from weft.report.sections import (
    arms,
    curves,
    earlier_check,
    environment,
    fit,
    imported_files,
    method,
    pairs,
    scaling,
    side_by_side,
    suspect_map,
)
from weft.report.study import conclusion, impact, iterations
from weft.report.verdict import Judgement, judge
from weft.study.comparison.comparison import Comparison
from weft.study.comparison.conclusion.answer import SUMMED_UP, AnswerFacts
from weft.study.comparison.effects import EffectFacts
from weft.study.comparison.headlines import Headlines
from weft.study.comparison.impact import impact_rows
from weft.study.run.backend_record import backend_of
from weft.study.run.run_folder import RUN_FILE
from weft.study.run.store import StudyRun, read_run

READ_S, JUDGE_S, DRAW_S = 6.6, 6.6, 2.5
"""Seconds of reading, judging and drawing, for the bar; those of judging until the reading is over,
those of drawing with few samples, too."""
COMPARE_READS = 5
"""Judging arms takes so many times as long as reading them: two under two conditions with 136,800
samples (measured)."""
_YEAR_10000 = 253_402_300_800
"""Seconds since the Unix epoch from which a calendar date has no four-digit year."""


def write_report(run_dirs: Sequence[Path], out: Path, *, partial: bool = False) -> list[RunPage]:
    """Write the page about these runs, worst verdict first, and return its parts.

    Raises InputError for a directory that is no run, of another schema, or (unless `partial`)
    unfinished; MissingError where the page cannot be written.
    """
    if not run_dirs:
        raise InputError("no run to report", expected="at least one run directory")
    with phases("writing the page", read=READ_S, judge=JUDGE_S, draw=DRAW_S) as begin:
        began_s = time.monotonic()
        runs = [read_run(one) for one in each(run_dirs, "reading runs", unit="run")]
        for run in runs:
            _refuse_unfinished(run, partial)
        compares = any(launch.trial.arm for run in runs for launch in run.launches)
        begin("judge", (time.monotonic() - began_s) * (COMPARE_READS if compares else 1))
        numbered = each(enumerate(runs, start=1), "judging runs", unit="run")
        pages = [page_of(run, f"run{number}") for number, run in numbered]
        told_apart = titles(runs, [page.title for page in pages])
        pages = [replace(page, title=name) for page, name in zip(pages, told_apart, strict=True)]
        pages.sort(key=lambda page: severity_rank(page.findings[0]))
        begin("draw", DRAW_S)
        write_page(out, pages, side_by_side.section(runs))
    return pages


def page_of(run: StudyRun, name: str, verdict: Verdict | None = None) -> RunPage:
    """One run: verdict, caveats, and its sections in order of interest. `verdict`: of its pairs,
    where it is known."""
    judged = judge(run, verdict)
    return RunPage(
        id=name,
        title=_title(run),
        subtitle=_subtitle(run),
        findings=_summed_up(judged.findings),
        caveats=judged.caveats if judged.arms is None else (),
        valid_for="" if judged.arms is None else judged.arms.valid_for,
        sections=_sections(run, judged, name),
        **({} if judged.pairs is None else {"good_label": OK}),
    )


def write_page(
    out: Path,
    pages: Sequence[RunPage],
    side_by_side: Section | None = None,
    *,
    verb: str = "report",
    option: str = "-o FILE",
    folder: HeldFolder | None = None,
) -> None:
    """Render and write, whole or not at all; `option` names another file. In a run directory a link
    at the name is replaced; elsewhere it is the user's, and followed. `folder`: the run directory,
    held since before it was read, so that no page goes into another in its place. Raises
    StorageError on a disk that refuses."""
    title = pages[0].title if len(pages) == 1 else f"{len(pages)} runs"
    page = render(f"weft {verb}: {title}", pages, side_by_side)
    hint = f"name another with {option}"
    if folder is not None:
        folder.write_part(out.name, page, what="report", hint=hint)
    elif (out.parent / RUN_FILE).is_file():
        write_part(out, page, what="report", hint=hint)
    else:
        write_whole(out, page, what="report", hint=hint)


def _sections(run: StudyRun, judged: Judgement, name: str) -> tuple[Section, ...]:
    measured = (*judged.measured, *also_measured_of(run))
    sections = (
        earlier_check.section(run, judged.pairs) if judged.pairs else None,
        suspect_map.section(judged.pairs, run.fabric_document, name) if judged.pairs else None,
        pairs.section(judged.pairs, name) if judged.pairs else None,
        impact.section(impact_rows(run)),
        iterations.section(run, name),
        *(_of_study(judged.arms, judged, name) if judged.arms else ()),
        scaling.section(run, name),
        arms.section(judged.arms, name, Headlines([run])) if judged.arms else None,
        curves.section(measured, backend_of(run).measured_word, name, published_of(run)),
        fit.section(judged.fit, name) if judged.fit is not None else None,
        method.left_out(run, judged.excluded),
        method.section(run),
        imported_files.section(run) if is_imported(run.meta) else None,
        environment.section(run.meta, () if is_imported(run.meta) else run.samples),
    )
    return tuple(section for section in sections if section is not None)


def _summed_up(findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """The findings without the effects that an answer sums up: the map and the tables show them."""
    answered = {one.facts.second for one in findings if isinstance(one.facts, AnswerFacts)}
    return tuple(
        one
        for one in findings
        if not isinstance(one.facts, EffectFacts)
        or one.facts.second not in answered
        or one.facts.outcome not in SUMMED_UP
    )


def _of_study(compared: Comparison, judged: Judgement, name: str) -> tuple[Section | None, ...]:
    """The conclusions from all arms: each may be None."""
    return (
        conclusion.matrix(compared, name),
        conclusion.curves(compared, name),
        conclusion.onsets(compared),
        conclusion.anomalies(judged.findings),
        conclusion.threats(compared, judged.caveats),
    )


def _refuse_unfinished(run: StudyRun, partial: bool) -> None:
    n_missing, n_planned = run.n_unfinished, len(run.launches)
    if partial or (n_planned and not n_missing):
        return
    missing = f"{n_missing} of {n_planned} launches are missing"
    raise InputError(
        f"unfinished: {missing if n_planned else 'it ended before it had a plan'}",
        where=str(run.directory),
        expected="a run whose launches have all ended",
        hint="finish it with --resume, or report on the launches so far with --partial",
    )


def _title(run: StudyRun) -> str:
    """The study's title; the directory's name where the study has none or cannot be read."""
    try:
        study = toml_table(str(run.meta.get("study", "")), RUN_FILE, "a study")
    except InputError:
        study = {}
    return str(study.get("title") or run.directory.name)


def _subtitle(run: StudyRun) -> str:
    nodes = dict.fromkeys(node for launch in run.launches for node in launch.trial.nodes)
    n_nodes = "1 node" if len(nodes) == 1 else f"{len(nodes)} nodes"
    parts = [f"Backend {backend_of(run).name}", n_nodes, f"{len(run.launches)} launches"]
    word = "imported" if is_imported(run.meta) else "started"
    started = run.meta.get(f"{word}_unix_s")
    if isinstance(started, int | float) and 0 <= started < _YEAR_10000:
        when = datetime.fromtimestamp(started, tz=UTC)
        parts.append(f"{word} {when:%Y-%m-%d %H:%M} UTC")
    if "seed" in run.meta:
        parts.append(f"seed {run.meta['seed']}")
    commit = run.meta.get("commit")
    parts.append(f"weft {run.meta.get('weft_version', '?')}" + (f" ({commit})" if commit else ""))
    return ", ".join(parts) + f". {run.directory}"
