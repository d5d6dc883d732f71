"""`weft study block`: the command that a job of `weft study submit` runs."""

import os
import shlex
import signal
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from weft.bench.model import Launch
from weft.cli.options import RUN
from weft.cluster.slurm.allocation import job_id, job_nodes
from weft.core.errors import ExitCode, InputError, StorageError, WeftError
from weft.study.run.metadata import refuse_other_run, run_meta
from weft.study.run.store import RunStore, read_meta, read_plan
from weft.study.submission.attempts import Attempt, attempt_folder

if TYPE_CHECKING:
    from weft.study.run.loop import RunOutcome


@click.command(hidden=True)
@RUN
@click.option(
    "--block",
    "number",
    type=click.IntRange(min=0),
    help="Which block. Default: the task's number of the job array.",
)
def block(run_dir: Path, number: int | None) -> int:
    """Run one block of a submitted study on the nodes of the Slurm job around it."""
    chosen = _number(number)
    meta, launches = _planned(run_dir, chosen)
    job = job_id(os.environ)
    if job is None:
        raise InputError(
            "no Slurm job around this",
            expected="a job of 'weft study submit'",
            hint="weft study run measures here and now",
        )
    nodes = job_nodes(os.environ)[: len(launches[0].trial.nodes)]
    folder = attempt_folder(run_dir.absolute(), chosen, job)
    attempt = Attempt(chosen, job, nodes, time.time())
    attempt.write(folder)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    error: str | None = None
    try:
        outcome = _measure(meta, launches, nodes, folder)
        error = outcome.stopped or (None if outcome.complete else "not every launch is over")
    except BaseException as failed:
        error = _in_words(failed)
        if isinstance(failed, StorageError):
            failed.next_command = shlex.join(["weft", "study", "submit", str(run_dir), "--resume"])
        raise
    finally:
        replace(attempt, ended_unix_s=time.time(), error=error).write(folder)
    return int(ExitCode.BENCHMARK if outcome.failures else ExitCode.GOOD)


def _in_words(failed: BaseException) -> str:
    if isinstance(failed, KeyboardInterrupt):
        return "ended by a signal: scancel, or the job's time limit"
    if isinstance(failed, WeftError):
        return failed.describe()
    return f"{type(failed).__name__}: {failed}"


def _number(given: int | None) -> int:
    """Raises InputError where neither the command line nor Slurm says which block."""
    text = os.environ.get("SLURM_ARRAY_TASK_ID", "") if given is None else str(given)
    if not text.isdecimal():
        raise InputError(
            "which block?", where="SLURM_ARRAY_TASK_ID", expected="--block N, or a job array"
        )
    return int(text)


def _planned(run_dir: Path, number: int) -> tuple[dict[str, Any], tuple[Launch, ...]]:
    """The metadata of the run, and the launches of a block. Raises InputError."""
    from weft.study.plan.blocks import launches_of

    meta = read_meta(run_dir)
    launches = launches_of(read_plan(run_dir), number)
    if "submit" not in meta or not launches:
        raise InputError(
            f"no block {number} in this run",
            where=str(run_dir),
            expected="a run and a block of 'weft study submit'",
        )
    return meta, launches


def _measure(
    meta: Mapping[str, Any], launches: tuple[Launch, ...], nodes: tuple[str, ...], folder: Path
) -> "RunOutcome":
    from weft.cli.backend.choice import rail_names
    from weft.cli.backend.opening import live_backend
    from weft.cli.progress.steps import LaunchLines
    from weft.study.plan.blocks import on_nodes
    from weft.study.run.loop import execute

    wanted = len(launches[0].trial.nodes)
    if len(nodes) < wanted:
        raise InputError(
            f"the job has {len(nodes)} nodes, the block wants {wanted}",
            where="SLURM_JOB_NODELIST",
            expected=f"--nodes={wanted}",
        )
    options = meta["submit"]
    rails = rail_names(options.get("rails"))
    backend = live_backend(options.get("mpi"), options.get("launcher"), rails, nodes)
    its_meta = run_meta(
        study_text=str(meta["study"]),
        seed=int(meta["seed"]),
        backend=backend,
        nodes=nodes,
        argv=sys.argv[1:],
    )
    # Nodes are the block's own; all else must be as it was submitted.
    refuse_other_run({**meta, "nodes": list(nodes)}, its_meta, str(folder))
    with RunStore.create(folder, its_meta) as store:
        return execute(on_nodes(launches, nodes), backend, store, progress=LaunchLines())
