"""`weft study submit`: a study as jobs of Slurm, a block each."""

import contextlib
import shutil
import sys
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from weft.bench.model import Launch
from weft.cli.backend.choice import LAUNCHER, rail_names
from weft.cli.options import (
    NODE_COUNT,
    REPEATS,
    fresh_run_dir,
    options_as,
    refuse_together,
    run_dir_option,
)
from weft.cli.output import emit, talk, text_or_json
from weft.cluster.slurm.sbatch import Batch, array_text, check_folder, find_sbatch
from weft.core.errors import ExitCode, InputError, MissingError, WeftError
from weft.core.files import make_folder
from weft.core.shell_line import quoted, shell_line
from weft.study.run.metadata import run_meta
from weft.study.run.store import RunStore
from weft.study.submission.block_states import SLURM_FOLDER, SubmittedJob, read_status
from weft.study.submission.jobs import Submission, SubmitOptions, submit_all

if TYPE_CHECKING:
    from weft.study.plan.model import Study

SCHEMA = "weft.study-submit/1"

_OPTIONS = (
    click.option("--partition", metavar="NAME", help="As sbatch takes it."),
    click.option("--account", metavar="NAME", help="As sbatch takes it."),
    click.option("--time", metavar="LIMIT", help="Of a block, as sbatch takes it: 30, 2:00:00."),
    click.option(
        "--switches",
        metavar="N[@TIME]",
        help="At most so many leaf switches a block; after TIME as many as it takes.",
    ),
    click.option(
        "--leaves",
        type=click.IntRange(min=1),
        help="Exactly so many leaf switches a block: its nodes are drawn, and named to sbatch.",
    ),
    click.option(
        "--exclusive/--no-exclusive",
        default=True,
        show_default=True,
        help="Whether a block has its nodes for itself.",
    ),
    click.option(
        "--at-once",
        type=click.IntRange(min=1),
        default=1,
        show_default=True,
        help="Blocks that may run at the same time; they are each other's neighbours.",
    ),
    click.option(
        "--sbatch", multiple=True, metavar="WORD", help="Any option of sbatch: --sbatch=--qos=high."
    ),
    click.option("--mpi", metavar="MPICC", help="As for 'weft study run'."),
    click.option("--rails", metavar="DEVICES", help="As for 'weft study run'."),
    LAUNCHER,
)


@click.command()
@click.argument("study", metavar="STUDY")
@run_dir_option("The run directory, seen by all nodes. Default: runs/STUDY-DATE-TIME.")
@click.option("--resume", is_flag=True, help="Submit missing blocks; STUDY is the run directory.")
@REPEATS
@click.option("--blocks", type=click.IntRange(1, 10_000), help="Instead of the study's node_sets.")
@click.option("--nodes-per", type=NODE_COUNT, help="Instead of the study's node counts.")
@click.option("--seed", type=int, help="Instead of the study's own.")
@click.option("--dry-run", is_flag=True, help="Print the scripts; submit nothing.")
@options_as("options", SubmitOptions, _OPTIONS)
@text_or_json
@click.pass_context
def submit(
    ctx: click.Context,
    *,
    study: str,
    run_dir: Path | None,
    resume: bool,
    repeats: int | None,
    blocks: int | None,
    nodes_per: int | None,
    seed: int | None,
    dry_run: bool,
    options: SubmitOptions,
    format_: str,
) -> int:
    """Submit a study to Slurm: one task of a job array is one block.

    A block is all arms on one node set, in one allocation. Blocks do not overlap in time unless
    --at-once allows it. 'weft study status RUN' follows them, 'weft compare RUN' reads the
    finished launches, and --resume submits the blocks that were cancelled or failed.
    """
    from weft.study.plan.document import load_study

    if options.leaves is not None:
        refuse_together("--leaves", {"--switches": options.switches})
    if resume:
        fixed = {"--repeats": repeats, "--blocks": blocks, "--nodes-per": nodes_per, "--seed": seed}
        return _resume(ctx, run_dir or Path(study), fixed, dry_run=dry_run, format_=format_)
    changes: dict[str, Any] = {"repeats": repeats, "node_sets": blocks, "seed": seed}
    changes |= {"nodes": None if nodes_per is None else (nodes_per,)}
    document, text = load_study(study, changes)
    return _submit_new(document, text, options, run_dir, dry_run=dry_run, format_=format_)


def _submit_new(
    document: "Study",
    text: str,
    options: SubmitOptions,
    run_dir: Path | None,
    *,
    dry_run: bool,
    format_: str,
) -> int:
    from weft.bench.live.backend import check_trial
    from weft.study.plan.blocks import plan_blocks

    launches = plan_blocks(document)
    for launch in launches:
        check_trial(launch.trial, rail_names(options.rails))
    where = (run_dir or fresh_run_dir(document.name)).absolute()
    check_folder(where)
    every = tuple(sorted({launch.block for launch in launches}))
    batches = Submission(
        document.name, launches, every, options, _command(where), document.seed
    ).batches()
    if dry_run:
        return _print_dry(where, batches, format_)
    find_sbatch()
    store = _create(document, text, options, launches, where)
    try:
        with _queued_jobs_named(where):
            jobs, refused = submit_all(where, batches)
    except WeftError:
        # No job was submitted: the directory is free for the next try.
        shutil.rmtree(where / SLURM_FOLDER, ignore_errors=True)
        store.folder.abandon()
        raise
    return _print_jobs(where, jobs, refused, format_)


@contextlib.contextmanager
def _queued_jobs_named(run_dir: Path) -> Iterator[None]:
    """An interrupt says that jobs may be in the queue, and how to submit the others."""
    try:
        yield
    except KeyboardInterrupt as interrupt:
        status = shell_line(["weft", "study", "status", run_dir])
        again = shell_line(["weft", "study", "submit", run_dir, "--resume"])
        interrupt.add_note(f"jobs that Slurm has taken go on: {status}\nnext: {again}")
        raise


def _command(run_dir: Path) -> tuple[str, ...]:
    """The command of a job."""
    return (sys.executable, "-m", "weft.cli", "study", "block", str(run_dir.absolute()))


def _resume(
    ctx: click.Context, run_dir: Path, fixed: dict[str, Any], *, dry_run: bool, format_: str
) -> int:
    """Submit the blocks that are neither done nor in a job, as the run was submitted but for the
    options that were typed now. Raises InputError, MissingError."""
    from weft.study.plan.document import parse_study

    refuse_together("--resume", fixed)
    run, queue, blocks = read_status(run_dir)
    if queue.not_known is not None and not dry_run:
        raise MissingError(
            f"the state of the queue is unknown: {queue.not_known}",
            where="squeue",
            expected="an answer, so that no block is submitted twice",
        )
    missing = tuple(b.block for b in blocks if not b.is_going and b.state != "done")
    going = tuple(dict.fromkeys(str(b.job).partition("_")[0] for b in blocks if b.is_going))
    options = _typed_over(ctx, SubmitOptions.of_meta(run.meta["submit"]))
    study, seed = parse_study(str(run.meta["study"]), "run.toml"), int(run.meta["seed"])
    whole = Submission(study.name, run.launches, missing, options, _command(run_dir), seed)
    batches = whole.batches()
    if dry_run:
        return _print_dry(run_dir, batches, format_)
    with _queued_jobs_named(run_dir):
        jobs, refused = submit_all(run_dir, batches, going)
    return _print_jobs(run_dir, jobs, refused, format_)


def _typed_over(ctx: click.Context, kept: SubmitOptions) -> SubmitOptions:
    """The options as first submitted, replaced by those typed now."""
    typed = {
        name: ctx.params[name]
        for name in SubmitOptions.__dataclass_fields__
        if ctx.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
    }
    kept_ones = {f"--{name}": typed.get(name) for name in ("mpi", "rails", "launcher")}
    expected = "the MPI, devices and launcher that the run was submitted with"
    refuse_together("--resume", kept_ones, expected)
    # Of the two only one holds, and what is typed now is it.
    fresh = {"switches": None} if "leaves" in typed else {"leaves": None}
    return replace(kept, **((fresh if {"leaves", "switches"} & typed.keys() else {}) | typed))


def _create(
    document: "Study",
    text: str,
    options: SubmitOptions,
    launches: tuple[Launch, ...],
    where: Path,
) -> RunStore:
    """The run directory, before any job may look for it."""
    from weft.bench.live.backend import LiveBackend
    from weft.launch.mpi import find_mpi

    mpi = find_mpi(options.mpi, may_be_srun=True)
    backend = LiveBackend(mpi, (), rail_names(options.rails))
    meta = run_meta(
        study_text=text, seed=document.seed, backend=backend, nodes=(), argv=sys.argv[1:]
    )
    store = RunStore.create(where, {**meta, "submit": options.to_meta()})
    make_folder(where / SLURM_FOLDER, what="folder of the scripts")
    store.set_plan(launches)
    return store


def _print_dry(where: Path, batches: tuple[Batch, ...], format_: str) -> int:
    scripts = [batch.script for batch in batches]
    record = {"schema": SCHEMA, "run": str(where), "scripts": scripts}
    emit(format_, text=lambda: "\n".join(scripts) or "nothing is missing", record=record)
    return int(ExitCode.GOOD)


def _print_jobs(
    where: Path,
    jobs: list[SubmittedJob],
    refused: InputError | MissingError | None,
    format_: str,
) -> int:
    lines = [f"job {job.job}: blocks {array_text(job.blocks)}" for job in jobs]
    follow = f"follow:  weft study status {quoted(where)}"
    if refused is not None:
        talk(f"{refused.describe()}\n  the jobs before it are submitted: mend it, then --resume")
    emit(
        format_,
        text=lambda: "\n".join([*(lines or ["nothing is missing"]), follow]),
        record={"schema": SCHEMA, "run": str(where), "jobs": [asdict(job) for job in jobs]},
    )
    return int(ExitCode.GOOD if refused is None else refused.exit_code)
