"""The tasks of job arrays in Slurm's queue."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from weft.cluster.slurm.scheduler import ask, not_understood
from weft.core.errors import InputError


class TaskPhase(StrEnum):
    """Where a task is."""

    QUEUED = "queued"
    RUNNING = "running"
    ENDED = "ended"


# SOURCE: squeue(1) of Slurm 22.05, "Job state codes". The others have an end.
_QUEUED = {"PENDING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "RESV_DEL_HOLD", "SPECIAL_EXIT"}
_RUNNING = {"RUNNING", "COMPLETING", "CONFIGURING", "RESIZING", "SIGNALING", "STAGE_OUT",
            "STOPPED", "SUSPENDED"}  # fmt: skip
_STATE = re.compile(r"[A-Z_]+")


@dataclass(frozen=True, slots=True)
class QueuedTask:
    """A task of an array, `state` and `reason` in Slurm's words."""

    phase: TaskPhase
    state: str
    reason: str


@dataclass(frozen=True, slots=True)
class Queue:
    """Tasks by their names ('12_3'), as long as Slurm keeps them; or why they are unknown."""

    tasks: Mapping[str, QueuedTask]
    not_known: str | None = None


def ask_queue(jobs: Sequence[str]) -> Queue:
    """The tasks of these arrays; never an error."""
    if not jobs:
        return Queue({})
    # A list of one unknown job is an error, a longer one is not: so the first stands there twice.
    listed = ",".join((jobs[0], *jobs))
    argv = ("squeue", "--noheader", "--array", "--states=all", f"--jobs={listed}",
            "--format=%F|%K|%T|%r")  # fmt: skip
    answer = ask(argv)
    if answer.not_known is not None:
        return Queue({}, answer.not_known)
    try:
        return Queue(parse_queue(answer.text))
    except InputError as error:
        return Queue({}, str(error).partition("\n")[0])


def parse_queue(text: str) -> dict[str, QueuedTask]:
    """The tasks of squeue's lines 'array|task|state|reason'. Raises InputError."""
    found = {}
    for line in filter(None, map(str.strip, text.splitlines())):
        parts = line.split("|", 3)
        if len(parts) != 4 or not parts[0].isdecimal() or not _STATE.fullmatch(parts[2]):
            raise not_understood("squeue", line, "array|task|state|reason")
        array, task, state, reason = parts
        found[f"{array}_{task}"] = QueuedTask(_phase(state), state, reason)
    return found


def _phase(state: str) -> TaskPhase:
    if state in _QUEUED:
        return TaskPhase.QUEUED
    return TaskPhase.RUNNING if state in _RUNNING else TaskPhase.ENDED
