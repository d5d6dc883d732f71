"""The answer of a check: verdict, cost and next command, in every format."""

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from weft.check.verdict.drain_list import drain_text
from weft.check.verdict.earlier_check import Against, Change
from weft.check.verdict.lost_hosts import lost_node
from weft.check.verdict.rerun_command import rerun_scope
from weft.check.verdict.verdict import Verdict
from weft.check.wording.reading_rows import rows_of
from weft.check.wording.remedies import Remedy, remedy_of
from weft.cli.fail_on import verdict_exit_code
from weft.cli.measure import kept_run
from weft.cli.options import FILE, FOLDER, options_as
from weft.cli.output import emit, talk, terminal_width
from weft.core.errors import ExitCode, InputError, MissingError, StorageError
from weft.core.files import HeldFolder, write_whole
from weft.core.finding import Finding, verdict_of
from weft.core.shell_line import quoted, shell_line
from weft.launch.secret_text import mask_forms
from weft.report.page import page_of, write_page
from weft.study.run.metadata import AGAINST, VERDICT
from weft.study.run.run_folder import RUN_FILE, SAMPLES, RunFolder
from weft.study.run.store import RunStore, StudyRun, read_meta

SCHEMA = "weft.check/1"
ONLY = "--only"


@dataclass(frozen=True, slots=True)
class AnswerChoice:
    """The options about the answer. `wants_report`: None where neither `--report` nor
    `--no-report` was typed."""

    matrix: bool
    drain_file: Path | None
    evidence: tuple[Path, ...]
    against: Path | None
    wants_report: bool | None
    page_file: Path | None

    def page_is_wanted(self, *, by_default: bool) -> bool:
        """Whether to write the report; a file for it asks for it."""
        if self.wants_report is None:
            return by_default or self.page_file is not None
        return self.wants_report


_OPTIONS = (
    click.option("--matrix", is_flag=True, help="Show every pair's share of its hop class."),
    click.option(
        "--drain",
        "drain_file",
        type=FILE,
        help="Write commands that drain the bad nodes in Slurm to this file.",
    ),
    click.option(
        "--evidence",
        type=FOLDER,
        multiple=True,
        metavar="DIR",
        help="With --drain: drain only nodes that the check before this one in DIR accuses, too.",
    ),
    click.option(
        "--against",
        type=FOLDER,
        help="An earlier check: show new, known and mended faults since then.",
    ),
    click.option(
        "--report/--no-report",
        "wants_report",
        default=None,
        help="Write report.html into the run directory. Default: yes, but not with --quick or "
        "--from.",
    ),
    click.option(
        "--output", "-o", "page_file", type=FILE, help="Write the report to this file instead."
    ),
)

answer_options = options_as("shown", AnswerChoice, _OPTIONS)
"""Add the options about the answer; the command gets them as one `shown: AnswerChoice`."""


@dataclass(frozen=True, slots=True)
class CheckAnswer:
    """`seconds`: from the first launch to the verdict. `planted`: faults of a twin, and whether the
    verdict, which does not know them, names them. `check_again`: the command of the same
    check. `against`: the changes since an earlier run, None without one. `fabric_time`: of the
    survey as planned, "" where no rate is known. `page`: the report, None without one. `replay`:
    the command that judged the run again, "" of a run that this command measured."""

    verdict: Verdict
    directory: Path
    seconds: float
    planted: tuple[Mapping[str, str], ...]
    check_again: tuple[str, ...]
    against: Against | None = None
    fabric_time: str = ""
    page: Path | None = None
    replay: str = ""

    @property
    def changes(self) -> tuple[Change | None, ...]:
        """By finding: whether the earlier run accused it, too; None where nothing is compared."""
        nothing = (None,) * len(self.verdict.findings)
        return nothing if self.against is None else self.against.changes

    @property
    def report(self) -> str:
        """The command that draws the run, with the evidence that the verdict had."""
        if self.replay:
            return f"{self.replay} --output report.html"
        return f"weft report {quoted(self.directory)}"

    @property
    def next_command(self) -> str:
        """The command to type now, or after the repair: the remedy of a run that proves nothing;
        the check again where something is accused; else the report."""
        if self._first_remedy is not None:
            some_are_lost = any(lost_node(finding) for finding in self.verdict.findings)
            whole = ONLY in self.check_again or some_are_lost
            only = None if whole else rerun_scope(self.verdict)
            return shell_line([*self.check_again, *([] if only is None else [ONLY, only])])
        found = (one.next_command for one in self.verdict.findings)
        return next((command for command in found if command is not None), self.report)

    @property
    def next_step(self) -> str:
        """The remedy of the first fault, then the next command."""
        remedy = self._first_remedy
        if remedy is None:
            return self.next_command
        return f"{remedy.do}; {remedy.fix}: {self.next_command}"

    @property
    def _first_remedy(self) -> Remedy | None:
        found = (remedy_of(finding) for finding in self.verdict.findings)
        return next((remedy for remedy in found if remedy is not None), None)

    def to_record(self) -> dict[str, Any]:
        """All but the readings as plain JSON values (docs/reference/check.md)."""
        record = self.verdict.to_record()
        for finding, of in zip(self.verdict.findings, record["findings"], strict=True):
            remedy = remedy_of(finding)
            of["remedy"] = None if remedy is None else remedy.do
        for change, of in zip(self.changes, record["findings"], strict=True):
            of["change"] = change
        return {
            "schema": SCHEMA,
            **record,
            "seconds": round(self.seconds, 3),
            "planted": [dict(one) for one in self.planted],
            "run": str(self.directory),
            "report": None if self.page is None else str(self.page),
            "next_command": self.next_command,
            "against": None if self.against is None else self.against.to_record(),
        }


def print_answer(answer: CheckAnswer, format_: str, *, matrix: bool) -> None:
    """Print the answer in this format."""
    from weft.check.wording.junit import junit_text
    from weft.cli.check.text import verdict_text

    if format_ == "junit":
        click.echo(mask_forms(junit_text(answer.verdict, answer.seconds)), nl=False)
        return
    rows = rows_of(answer.verdict.survey) if format_ in ("json", "csv") else []
    emit(
        format_,
        text=lambda: verdict_text(answer, matrix=matrix, width=terminal_width()),
        record={**answer.to_record(), "readings": rows} if format_ == "json" else {},
        rows=rows,
    )


def give_answer(answer: CheckAnswer, shown: AnswerChoice, format_: str) -> int:
    """Note the verdict in the run, print the answer, write the drain list where one is asked for;
    the exit code."""
    if not answer.replay:
        with kept_run(answer.directory):
            _note_verdict(answer)
    print_answer(answer, format_, matrix=shown.matrix)
    if shown.drain_file is not None:
        # A run that is judged again has no launch to go on with.
        kept = contextlib.nullcontext() if answer.replay else kept_run(answer.directory)
        with kept:
            write_drain(answer, shown.drain_file, shown.evidence)
    elif shown.evidence:
        raise InputError("--evidence has no effect alone", expected="--drain FILE")
    verdict = answer.verdict
    return verdict_exit_code(verdict.exit_code, verdict.findings)


def _note_verdict(answer: CheckAnswer) -> None:
    """A disk that refuses costs the run its place as evidence, and no verdict. Raises StorageError
    where the run itself is gone."""
    with (
        contextlib.suppress(StorageError, InputError, OSError),
        RunStore(RunFolder(answer.directory)) as store,
    ):
        store.remember({VERDICT: verdict_of(answer.verdict.findings).value})
    _refuse_gone(answer.directory)


def earlier_run_of(run_dir: Path) -> Path | None:
    """The earlier run that an interrupted check was compared with, None without one. Raises
    InputError where the directory is no run."""
    named = read_meta(run_dir).get(AGAINST)
    return Path(named) if isinstance(named, str) else None


def write_check_page(run: StudyRun, verdict: Verdict, page: Path | None = None) -> Path | None:
    """Write the report of a check to `page`, else into its run directory. None where that cannot be
    written: a message names the place, and the verdict stands without the report. Raises
    StorageError where the run itself is gone."""
    folder = None if page else _held(run.directory)
    page = page or run.directory / "report.html"
    written: Path | None = page
    try:
        write_page(page, [page_of(run, "run1", verdict)], folder=folder)
    except MissingError as error:
        written = None
        elsewhere = f"weft report {quoted(run.directory)} -o FILE"
        talk(f"{error.where}: {error.what}; '{elsewhere}' writes it elsewhere")
    finally:
        if folder is not None:
            folder.close()
    _refuse_gone(run.directory)
    return written


def _held(run_dir: Path) -> HeldFolder:
    with contextlib.suppress(OSError):
        folder = HeldFolder(run_dir)
        _refuse_gone(run_dir)
        return folder
    raise _gone(run_dir)


def _refuse_gone(run_dir: Path) -> None:
    is_there = (run_dir / RUN_FILE).is_file() and any((run_dir / SAMPLES).glob("*.jsonl"))
    if not is_there:
        raise _gone(run_dir)


def _gone(run_dir: Path) -> StorageError:
    return StorageError(
        "the run is not there any more",
        where=str(run_dir),
        expected="a directory that only weft changes during a run",
    )


def write_drain(answer: CheckAnswer, path: Path, evidence: Sequence[Path] = ()) -> None:
    """Write the drain list, whole or not at all. A refused run drains lost hosts only; with
    `evidence` a check that says UNKNOWN drains nothing."""
    findings = answer.verdict.findings
    if answer.verdict.refused:
        findings = tuple(one for one in findings if lost_node(one) is not None)
    if evidence:
        findings = _with_evidence(answer, findings, evidence)
    write_whole(path, drain_text(findings, with_runs=bool(evidence)), what="drain list")


def _with_evidence(
    answer: CheckAnswer, findings: Sequence[Finding], evidence: Sequence[Path]
) -> tuple[Finding, ...]:
    from weft.check.history.kept_rows import read_row
    from weft.check.history.second_accusation import earlier_checks, twice_accused

    if answer.verdict.exit_code is not ExitCode.VERDICT_BAD:
        return ()
    now = read_row(answer.directory)
    return twice_accused(findings, now, earlier_checks(evidence, now, read_row))
