"""From a run directory to its verdict: the one pipeline of check, report and `--against`."""

from dataclasses import replace
from functools import partial
from pathlib import Path

from weft.check.external_evidence import fabric_marks, platform_choice
from weft.check.external_evidence.fabric_marks import NO_MARKS, Marks
from weft.check.external_evidence.platform_choice import ExpectedPlatform
from weft.check.launches import routes_adaptively
from weft.check.misfits.run_misfits import misfits_of
from weft.check.misfits.wrong_tables import contradiction_of
from weft.check.nccl.verdict import gpus_of_run, with_nccl
from weft.check.verdict.lost_hosts import with_lost
from weft.check.verdict.rerun_command import Again, with_own_options
from weft.check.verdict.verdict import Verdict, judge_check
from weft.core.errors import InputError
from weft.core.words import counted
from weft.study.run.metadata import AGAIN
from weft.study.run.store import StudyRun, read_run
from weft.topology.fabric import Fabric


def has_pairs(run: StudyRun) -> bool:
    """Whether a run measured pairs of nodes, so that it can be judged as a check."""
    return any(sample.pair is not None for sample in run.samples)


def read_check(run_dir: Path) -> StudyRun:
    """A run that measured pairs. Raises InputError for any other directory."""
    run = read_run(run_dir)
    if not has_pairs(run):
        raise InputError(
            "this run is no check: it measured no pair",
            where=str(run_dir),
            expected="a directory in which `weft check` measured the survey",
            hint="an interrupted check goes on with --dir RUN --resume",
        )
    return run


def judge_run(
    run: StudyRun,
    wiring: Fabric | None = None,
    *,
    more: Marks = NO_MARKS,
    machine: ExpectedPlatform | None = None,
) -> Verdict:
    """The verdict on the pairs of a run, from what its directory holds: samples, fabric, platform,
    counters, lost hosts. `wiring`: the run's fabric, where the caller has built it already, or one
    that replaces it; `more` statements about it; `machine`: a platform that replaces the run's."""
    samples = [sample for sample in run.samples if sample.pair is not None]
    wiring = wiring or wiring_of(run)
    adaptive = routes_adaptively(run.launches)
    machine = machine or platform_choice.of_run(run.directory, samples)
    if machine is not None:
        machine = replace(machine, gpus_per_node=gpus_of_run(run))
    misfits = misfits_of(run, samples, wiring, adaptive=adaptive)
    judged = partial(
        judge_check,
        misfits.samples,
        adaptive=adaptive,
        machine=machine,
    )
    marks = fabric_marks.of_run(run.directory).joined(more)
    verdict = judged(wiring, marks=marks)
    contradiction = contradiction_of(verdict.survey)
    if contradiction is not None and not verdict.refused:
        verdict = judged(None, marks=marks.without_fabric())
        misfits = misfits.and_finding(contradiction)
    verdict = with_nccl(misfits.added_to(verdict), run, machine)
    verdict = with_lost(verdict, run.lost, [one.trial for one in run.failed_for_lost])
    return with_own_options(verdict, Again.of_record(run.meta.get(AGAIN)))


def judge_earlier(run_dir: Path) -> Verdict:
    """The verdict of an earlier check, to compare another with. Raises InputError for a directory
    that is no check or that came to no verdict."""
    run = read_run(run_dir)
    if not has_pairs(run):
        raise InputError(
            "this run is no check: it measured no pair",
            where=str(run_dir),
            expected="--against a directory that `weft check` wrote",
        )
    verdict = judge_run(run)
    if verdict.refused or not verdict.survey.normed.norms:
        coverage = verdict.coverage
        pairs = counted(coverage.n_pairs, "pair")
        why = f"{pairs} of {counted(coverage.n_nodes, coverage.noun)} give too few readings"
        raise InputError(
            "nothing can be compared with this run:"
            f" {verdict.findings[0].sentence if verdict.refused else why}",
            where=str(run_dir),
            expected="--against a check that came to a verdict",
        )
    return verdict


def wiring_of(run: StudyRun) -> Fabric | None:
    """The fabric as cabled, where the run knows it."""
    if run.fabric_document is None:
        return None
    return Fabric.from_document(dict(run.fabric_document))
