"""The state of each block of a submitted study, from the queue and the run directory."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from weft.bench.model import Launch
from weft.cluster.slurm.queue import Queue, QueuedTask, TaskPhase, ask_queue
from weft.core.documents.document_text import read_json_file
from weft.core.errors import InputError
from weft.core.files import write_part
from weft.core.natural import natural_key
from weft.study.run.store import Failure, StudyRun, read_meta, read_run
from weft.study.submission.attempts import Attempt, read_attempts

SLURM_FOLDER = "slurm"
_GOING = ("queued", "running")


@dataclass(frozen=True, slots=True)
class SubmittedJob:
    """A submitted array: its id, its blocks, and the nodes it named, if any."""

    job: str
    blocks: tuple[int, ...]
    nodes: tuple[str, ...]
    script: str
    submitted_unix_s: float

    def write(self, run_dir: Path) -> None:
        """Into the run directory. Raises MissingError."""
        path = run_dir / SLURM_FOLDER / f"job-{self.job}.json"
        write_part(path, json.dumps(asdict(self)) + "\n", what="record of the job")


def read_jobs(run_dir: Path) -> tuple[SubmittedJob, ...]:
    """All submitted arrays of a run, oldest first. Raises InputError."""
    jobs = []
    for path in (run_dir / SLURM_FOLDER).glob("job-*.json"):
        record = read_json_file(path, "a file that 'weft study submit' wrote")
        try:
            lists = {"blocks": tuple(map(int, record["blocks"])), "nodes": tuple(record["nodes"])}
            numbers = {"submitted_unix_s": float(record["submitted_unix_s"])}
            jobs.append(SubmittedJob(**(record | lists | numbers | {"job": str(record["job"])})))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InputError(f"not a job record ({error})", where=str(path)) from error
    return tuple(sorted(jobs, key=lambda job: (job.submitted_unix_s, natural_key(job.job))))


@dataclass(frozen=True, slots=True)
class BlockStatus:
    """A block: done, running, queued, failed, cancelled, missing (submitted in no job yet) or
    unknown; `why` in words. `job` and `nodes` are those of its last attempt, else of its
    job; `n_over` launches are over, of which those of `failures` failed."""

    block: int
    state: str
    n_nodes: int
    n_launches: int
    n_over: int
    failures: tuple[Failure, ...] = ()
    job: str | None = None
    nodes: tuple[str, ...] = ()
    leaves: Mapping[str, str] | None = None
    started_unix_s: float | None = None
    ended_unix_s: float | None = None
    why: str | None = None

    @property
    def is_going(self) -> bool:
        """Whether it only needs time."""
        return self.state in _GOING

    def to_record(self) -> dict[str, Any]:
        """Plain JSON values; unknown ones are left out."""
        record = asdict(self) | {"nodes": list(self.nodes), "n_failed": len(self.failures)}
        record["failures"] = [{**asdict(f), "state": f.state.value} for f in self.failures]
        return {key: value for key, value in record.items() if value is not None}


def read_status(run_dir: Path) -> tuple[StudyRun, Queue, tuple[BlockStatus, ...]]:
    """A submitted run, the queue, and the status of every block. Raises InputError.

    The queue is asked before the run is read: a block that ends in between is done, not one that
    is neither in the queue nor complete.
    """
    read_meta(run_dir)
    queue = ask_queue([job.job for job in read_jobs(run_dir)])
    run = read_run(run_dir)
    if "submit" not in run.meta:
        raise InputError(
            "this run was not submitted to Slurm",
            where=str(run_dir),
            expected="a directory that 'weft study submit' made",
        )
    return run, queue, blocks_status(run, queue)


def blocks_status(run: StudyRun, queue: Queue) -> tuple[BlockStatus, ...]:
    """The status of every block of a submitted run, as read, in order."""
    jobs = read_jobs(run.directory)
    attempts_of = read_attempts(run.directory)
    by_block: dict[int, list[Launch]] = {}
    for launch in run.launches:
        by_block.setdefault(launch.block, []).append(launch)
    found = []
    for block, launches in sorted(by_block.items()):
        names = [f"{job.job}_{block}" for job in jobs if block in job.blocks]
        attempts = attempts_of.get(block, [])
        last = attempts[-1][1] if attempts else None
        history = _BlockHistory(tuple(names), last, _leaves_of(attempts))
        found.append(_status(run, launches, history, queue))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _BlockHistory:
    """The tasks of a block, its last attempt, and the leaves of that."""

    names: tuple[str, ...]
    last: Attempt | None
    leaves: Mapping[str, str] | None

    @property
    def current(self) -> Attempt | None:
        """The last attempt, unless the block was submitted again after it."""
        last = self.last
        return None if last is None or (self.names and last.job != self.names[-1]) else last


def _status(
    run: StudyRun, launches: Sequence[Launch], history: _BlockHistory, queue: Queue
) -> BlockStatus:
    keys = {launch.key for launch in launches}
    failures = tuple(f for f in run.failures if (f.trial, f.repeat) in keys)
    n_over = len(keys & run.done) + len(failures)
    tasks = {name: queue.tasks[name] for name in history.names if name in queue.tasks}
    complete = n_over == len(keys)
    state, why = ("done", None) if complete else _unfinished(tasks, history, queue)
    going = next((name for name, task in tasks.items() if task.phase.value == state), None)
    last, names = history.last, history.names
    is_last = last is not None and state != TaskPhase.QUEUED.value
    return BlockStatus(
        block=launches[0].block,
        state=state,
        n_nodes=len(launches[0].trial.nodes),
        n_launches=len(keys),
        n_over=n_over,
        failures=failures,
        job=going or (last.job if last else names[-1] if names else None),
        nodes=last.nodes if last and is_last else (),
        leaves=history.leaves if is_last else None,
        started_unix_s=last.started_unix_s if last and is_last else None,
        ended_unix_s=last.ended_unix_s if last and is_last else None,
        why=why,
    )


def _unfinished(
    tasks: Mapping[str, QueuedTask], history: _BlockHistory, queue: Queue
) -> tuple[str, str | None]:
    """State and reason of an unfinished block."""
    for phase in (TaskPhase.RUNNING, TaskPhase.QUEUED):
        for task in tasks.values():
            if task.phase is phase:
                return phase.value, task.reason if phase is TaskPhase.QUEUED else None
    if not history.names:
        return "missing", "in no job yet"
    name, attempt = history.names[-1], history.current
    if name not in tasks:
        return _unlisted(name, attempt, queue)
    ended = tasks[name]
    record = f"Slurm ended {name}: {ended.state} ({ended.reason})"
    if attempt is not None and attempt.error is not None:
        record = attempt.error
    return ("cancelled" if ended.state == "CANCELLED" else "failed"), record


def _unlisted(name: str, attempt: Attempt | None, queue: Queue) -> tuple[str, str]:
    """State and reason of a task that Slurm no longer lists."""
    if attempt is not None and attempt.error is not None:
        return "failed", attempt.error
    if queue.not_known is not None:
        return "unknown", f"the queue is not known: {queue.not_known}"
    if attempt is not None:
        return "failed", f"{name} was killed: it wrote no result, and Slurm no longer lists it"
    return "cancelled", f"{name} left the queue before it started"


def _leaves_of(attempts: Sequence[tuple[Path, Attempt]]) -> Mapping[str, str] | None:
    """Leaf by node of the last attempt, where it recorded them."""
    if not attempts or not (attempts[-1][0] / "run.toml").exists():
        return None
    facts = read_meta(attempts[-1][0]).get("backend", {}).get("facts", {})
    leaves = facts.get("slurm", {}).get("leaves")
    return dict(leaves) if leaves else None
