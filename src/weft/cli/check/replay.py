"""A check judged again from its run directory, with evidence that came later. Measures nothing."""

from pathlib import Path

import click

from weft.bench.twin.backend import PLATFORM_FILE
from weft.bench.twin.fault import parse_fault
from weft.catalog.load import kept_platform
from weft.check.external_evidence import platform_choice
from weft.check.external_evidence.event_marks import (
    CheckSpan,
)
from weft.check.external_evidence.fabric_marks import Marks
from weft.check.pipeline import judge_earlier, judge_run, read_check, wiring_of
from weft.check.readings.readings import host_of
from weft.check.verdict.earlier_check import compare
from weft.check.verdict.planted_faults import planted_in
from weft.check.verdict.rerun_command import Again
from weft.cli.check.answer import AnswerChoice, CheckAnswer, give_answer, write_check_page
from weft.cli.check.evidence import EvidenceFiles, statements
from weft.cli.check.plan import read_fabric
from weft.cli.command_line import typed_command
from weft.cli.fabric.files import refuse_read_once
from weft.core.errors import InputError
from weft.core.shell_line import shell_line
from weft.core.words import counted
from weft.study.run.backend_record import backend_of
from weft.study.run.metadata import AGAIN
from weft.study.run.store import StudyRun
from weft.topology.fabric import Fabric
from weft.topology.rail_view import on_rails

FROM = "--from"
JUDGING = (
    FROM, "--counters", "--fabric", "--platform", "--against",
    "--matrix", "--drain", "--evidence", "--within",
    "--report", "--output", "--fail-on", "--format",
)  # fmt: skip
"""Options of a check that do not change what is measured: the others contradict `--from`."""


def judge_again(
    run_dir: Path, files: EvidenceFiles, platform: str | None, shown: AnswerChoice, format_: str
) -> int:
    """Judge a run again with these files and this platform; print the answer; the exit code.
    Raises InputError."""
    context = click.get_current_context()
    _refuse_measuring(context)
    refuse_read_once(files.fabric, "--fabric")
    run = read_check(run_dir)
    before = None if shown.against is None else judge_earlier(shown.against)
    more, wiring = _evidence(run, files)
    machine = None if platform is None else platform_choice.named(platform)
    judged = judge_run(run, wiring, more=more, machine=machine)
    compared = (judged, None) if before is None else compare(judged, before, str(shown.against))
    wants_page = shown.page_is_wanted(by_default=False)
    faults = map(parse_fault, backend_of(run).facts.get("faults", ()))
    answer = CheckAnswer(
        verdict=compared[0],
        directory=run_dir,
        seconds=sum(run.seconds.values()),
        planted=planted_in(faults, compared[0]),
        check_again=Again.of_record(run.meta.get(AGAIN)).against(run_dir),
        against=compared[1],
        page=write_check_page(run, judged, shown.page_file) if wants_page else None,
        replay=typed_command(context, {}),
    )
    return give_answer(answer, shown, format_)


def _refuse_measuring(context: click.Context) -> None:
    """Refuse options that change what is measured. Raises InputError."""
    typed = click.core.ParameterSource.COMMANDLINE
    for option in context.command.params:
        name = option.opts[0]
        given = context.get_parameter_source(str(option.name)) == typed
        if given and name not in JUDGING:
            raise InputError(
                f"{name} and {FROM} contradict each other: {FROM} measures nothing",
                expected=", ".join(JUDGING[1:]),
                hint=f"leave {FROM} out to measure again",
            )


def _evidence(run: StudyRun, files: EvidenceFiles) -> tuple[Marks, Fabric | None]:
    """The statements of the files, and the fabric: of the files, else the run's. Raises
    InputError."""
    given_then = shell_line(Again.of_record(run.meta.get(AGAIN)).options.get("--fabric", ()))
    # Of real hosts, and of a twin made of files, ports have other names than in counters.
    is_of_files = not backend_of(run).is_twin or bool(given_then)
    if is_of_files and (error := files.need_fabric(given_then or None)):
        raise error
    wiring = _fabric(run, files.fabric) if files.fabric else wiring_of(run)
    return statements(files, wiring, _nodes(run), span_of(run))


def span_of(run: StudyRun) -> CheckSpan:
    """When the run measured. A twin's samples have simulated times: its launches took their
    time one after the other."""
    first = float(run.meta.get("started_unix_s", 0.0))
    ends = [
        one.started_unix_s + run.seconds.get((one.trial, one.repeat), 0.0) for one in run.samples
    ]
    return CheckSpan(first, max(first + sum(run.seconds.values()), *ends))


def _fabric(run: StudyRun, files: tuple[str, ...]) -> Fabric:
    """The fabric of the files, with the adapters that the run's ranks used. Raises InputError."""
    nodes = _nodes(run)
    if backend_of(run).is_twin:
        return read_fabric(files, nodes, kept_platform(run.directory / PLATFORM_FILE))
    fabric = read_fabric(files, nodes)
    rails = tuple(map(str, backend_of(run).facts.get("rails", ())))
    if rails:
        return Fabric.from_document(on_rails(dict(fabric.document), nodes, rails))
    _refuse_unknown_rail(run, fabric, nodes)
    return fabric


def _nodes(run: StudyRun) -> tuple[str, ...]:
    pairs = (sample.pair for sample in run.samples if sample.pair is not None)
    return tuple(dict.fromkeys(host_of(end) for pair in pairs for end in (pair.a, pair.b)))


def _refuse_unknown_rail(run: StudyRun, fabric: Fabric, nodes: tuple[str, ...]) -> None:
    """Refuse a fabric with more adapters than the run had ranks: the run does not say which of them
    carried its messages, so the wrong cable could be named. Raises InputError."""
    n_ranks = max((launch.trial.tasks_per_node for launch in run.launches), default=1)
    adapters = {one["name"]: len(one["hcas"]) for one in fabric.document["nodes"]}
    most = max(nodes, key=lambda node: adapters[node])
    if adapters[most] > n_ranks:
        raise InputError(
            f"{most} has {counted(adapters[most], 'adapter')} in this fabric, and the run does not"
            " say which of them carried its messages",
            where=str(run.directory),
            expected="a check that knew its rails: with --fabric or --rails",
        )
