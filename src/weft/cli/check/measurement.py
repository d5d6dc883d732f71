"""The measuring of a check: its launches into a run directory."""

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import tomli_w

from weft.bench.live.lost_hosts import LostHost, lost_hosts_of
from weft.bench.model import Sample
from weft.bench.nccl.backend import NcclBackend
from weft.check.launches import FollowUpBackend
from weft.check.nccl.follow_up import NcclFollowUp
from weft.check.trials import SURVEY
from weft.check.verdict.rerun_command import Again
from weft.cli.check.plan import Setup
from weft.cli.recipe.container_launch import container_remarks
from weft.core.errors import BenchmarkError
from weft.core.words import counted
from weft.study.run.loop import RunOutcome, execute
from weft.study.run.metadata import AGAIN, AGAINST, run_meta
from weft.study.run.store import LOST, RunStore, StudyRun, read_run

NOT_AGAIN: Mapping[str, str] = {
    "--dir": "a new run has a directory of its own",
    "--resume": "it is about an interrupted run",
    "--from": "it judges a run that was measured",
    "--against": "the new run is compared with this one",
    "--plant": "the planted fault is mended",
    "--routing": "the planted fault is mended",
    "--counters": "they were read before the repair",
    "--dry-run": "it measured nothing",
    "--matrix": "it changes the output",
    "--drain": "it changes the output",
    "--evidence": "it changes the drain list",
    "--within": "it changes no reading",
    "--fail-on": "it changes the exit code",
    "--report": "it changes the output",
    "--output": "it changes the output",
    "--format": "it changes the output",
    "--mock": "it is for tests",
}
"""Options that do not change what is measured, or must not be given again, and why."""


@dataclass(frozen=True, slots=True)
class Keeping:
    """The directory of a check, whether it is resumed, the earlier run to compare with, and seconds
    that its launches may take together."""

    directory: Path
    resume: bool
    against: Path | None
    seed: int
    within_s: float

    @property
    def is_in_a_hurry(self) -> bool:
        """Whether there is no time to measure anything twice."""
        return self.within_s < math.inf


def measure(setup: Setup, keeping: Keeping, lost: tuple[LostHost, ...] = ()) -> StudyRun:
    """Measure all planned launches that are missing; `lost` are the hosts it is measured without.
    Hosts that are lost after the survey are recorded with the run. Raises BenchmarkError."""
    from weft.cli.progress.steps import CheckSteps

    directory = keeping.directory
    known: tuple[Sample, ...] = ()
    if keeping.resume:
        known = read_run(directory).samples
    is_nccl = isinstance(setup.backend, NcclBackend)
    follow_up = NcclFollowUp if is_nccl else FollowUpBackend
    announced_s = None if is_nccl else setup.announced_s
    backend = follow_up(
        setup.backend,
        setup.fabric,
        known,
        adaptive=setup.adaptive,
        most_rounds=setup.plan.most_follow_up_rounds,
        seed=keeping.seed,
        within_s=keeping.within_s,
    )
    store = RunStore.open(directory) if keeping.resume else _new_store(setup, keeping, lost)
    with store:
        if keeping.against is not None:
            store.remember({AGAINST: str(keeping.against.resolve())})
        outcome = execute(setup.launches, backend, store, progress=CheckSteps(announced_s))
        gone = _lost_after_survey(setup, outcome)
        if gone:
            store.remember({LOST: [one.to_record() for one in (*lost, *gone)]})
        run = store.read_back(outcome.n_over)
    if outcome.failures and not gone:
        raise _unfinished(outcome, directory, lost)
    return run


def again_with_hosts(setup: Setup, lost: Sequence[LostHost]) -> Again:
    """The options as typed, to measure the same again; with all hosts, lost ones too, where the
    options did not name them."""
    again = again_of(click.get_current_context())
    if setup.backend.name != "live" or len(setup.nodes) < 2:
        return again
    return again.of_hosts(tuple(dict.fromkeys((*setup.nodes, *(one.host for one in lost)))))


def again_of(context: click.Context) -> Again:
    """The options as typed for this command."""
    typed = click.core.ParameterSource.COMMANDLINE
    return Again(
        {
            option.opts[0]: _words(option, context.params[str(option.name)])
            for option in context.command.params
            if isinstance(option, click.Option)
            and option.opts[0] not in NOT_AGAIN
            and context.get_parameter_source(str(option.name)) == typed
        }
    )


def _words(option: click.Option, value: Any) -> tuple[str, ...]:
    if option.is_flag:
        return (option.opts[0],)
    values = value if option.multiple else (value,)
    return tuple(word for one in values for word in (option.opts[0], str(one)))


def _lost_after_survey(setup: Setup, outcome: RunOutcome) -> tuple[LostHost, ...]:
    """The hosts that were lost after the survey, if no other launch failed."""
    if any(one.trial == SURVEY or not one.lost for one in outcome.failures):
        return ()
    return lost_hosts_of(outcome.lost, setup.backend.lost_hosts, surveyed=True)


def _unfinished(outcome: RunOutcome, directory: Path, lost: tuple[LostHost, ...]) -> BenchmarkError:
    failure = outcome.failures[0]
    without = dict.fromkeys((*(one.host for one in lost), *failure.lost))
    return BenchmarkError(
        f"the check did not finish: {failure.message}",
        where=f"launch {failure.trial}",
        hint=f"raw output is in {directory / 'raw'}"
        + (f"; check the others without {', '.join(without)}" if failure.lost else ""),
        lost=failure.lost,
    )


def _new_store(setup: Setup, keeping: Keeping, lost: tuple[LostHost, ...]) -> RunStore:
    meta = run_meta(
        study_text=_study_text(setup, keeping.seed),
        seed=keeping.seed,
        backend=setup.backend,
        nodes=setup.nodes,
        argv=sys.argv,
        remarks=container_remarks(setup.backend, setup.launches, keeping.directory),
    )
    again = again_with_hosts(setup, lost)
    gone = {LOST: [one.to_record() for one in lost]} if lost else {}
    return RunStore.create(keeping.directory, {**meta, AGAIN: again.to_record(), **gone})


def _study_text(setup: Setup, seed: int) -> str:
    """The check as a study document, so that every reader of run directories can read it."""
    sizes = setup.launches[0].trial.sizes_bytes
    study = {
        "schema": "weft.study/1",
        "name": "check",
        "title": f"Check of {counted(len(setup.nodes), 'node')}",
        "question": "Is this fabric healthy, and if not, which node, link or switch?",
        "seed": seed,
        "repeats": 1,
        "nodes": [len(setup.nodes)],
        "tasks_per_node": [setup.launches[0].trial.tasks_per_node],
        "benchmarks": [{"name": "pairs", "sizes": ",".join(map(str, sizes))}],
    }
    return tomli_w.dumps(study)
