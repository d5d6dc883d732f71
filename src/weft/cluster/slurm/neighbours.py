"""Other jobs on the nodes under test, or behind the same leaf switches: what Slurm answers."""

import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from weft.cluster.slurm.scheduler import (
    ANSWER_TIMEOUT_S,
    Answer,
    Question,
    not_understood,
    question,
)
from weft.core.errors import InputError
from weft.core.nodeset import expand, short_name

# SOURCE: squeue(1), sinfo(1), scontrol(1) of Slurm 22.05. %A is the id of a task of an array,
# which SLURM_JOB_ID holds; %i is what people call it (2_1).
SQUEUE = (
    *("squeue", "--noheader", "--all", "--states=RUNNING,COMPLETING"),
    "--format=%A|%i|%u|%N",
)
SINFO = ("sinfo", "--noheader", "--all", "--Node", "--format=%N")
TOPOLOGY = ("scontrol", "show", "topology")
CONFIG = ("scontrol", "show", "config")

MOST_JOBS = 8
MOST_NAMES = 8
"""Evidence names so many, and counts the jobs."""

_ID = re.compile(r"\d+(?:[_+]\d+)?")


@dataclass(frozen=True, slots=True)
class SlurmJob:
    """A running job: `id` as squeue shows it, and its nodes."""

    number: str
    id: str
    user: str
    nodes: frozenset[str]


@dataclass(frozen=True, slots=True)
class Neighbour:
    """Another job, with the nodes under test it runs on and the leaf switches it shares."""

    job: SlurmJob
    nodes: tuple[str, ...]
    switches: tuple[str, ...]

    def to_record(self) -> dict[str, Any]:
        """Plain JSON values, with the first few names."""
        return {
            "id": self.job.id,
            "user": self.job.user,
            "nodes": list(self.nodes[:MOST_NAMES]),
            "switches": list(self.switches[:MOST_NAMES]),
        }


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Other jobs, those on our nodes first; or in `not_known` why they are unknown, of jobs behind
    the same switches in `switches_not_known`."""

    jobs: tuple[Neighbour, ...] = ()
    not_known: str | None = None
    switches_not_known: str | None = None

    def to_record(self) -> dict[str, Any]:
        """The evidence `neighbours` of docs/reference/run_directory.md."""
        if self.not_known is not None:
            return {"not_known": self.not_known}
        jobs = [neighbour.to_record() for neighbour in self.jobs[:MOST_JOBS]]
        record: dict[str, Any] = {"n_jobs": len(self.jobs), "jobs": jobs}
        if self.switches_not_known is not None:
            record["switches_not_known"] = self.switches_not_known
        return record


@dataclass(frozen=True, slots=True)
class NeighbourQuestions:
    """The scheduler's commands, as they run."""

    nodes: tuple[str, ...]
    jobs: Question
    known: Question
    topology: Question
    config: Question

    def answer(self, timeout_s: float = ANSWER_TIMEOUT_S) -> Neighbours:
        """Their answers, all of them within `timeout_s`. Never an error: a check goes on without
        a scheduler."""
        until = time.monotonic() + timeout_s
        answers = []
        for question_of in (self.jobs, self.known):
            answer = question_of.answer_until(until)
            if answer.not_known is not None:
                return Neighbours(not_known=answer.not_known)
            answers.append(answer)
        jobs, known = answers
        try:
            running, names = parse_jobs(jobs.text), parse_nodes(known.text)
        except InputError as error:
            return Neighbours(not_known=str(error).partition("\n")[0])
        if not names & {short_name(node) for node in self.nodes}:
            return Neighbours(not_known=f"Slurm knows no node by the name {self.nodes[0]}")
        own = os.environ.get("SLURM_JOB_ID")
        leaves, not_known = leaves_in(self.topology.answer_until(until))
        found = neighbours_of(self.nodes, (job for job in running if job.number != own), leaves)
        if not found and hides_jobs(self.config.answer_until(until).text) and os.geteuid() != 0:
            return Neighbours(not_known="Slurm hides other users' jobs here (PrivateData=jobs)")
        return Neighbours(found, switches_not_known=not_known)


@contextmanager
def neighbour_questions(nodes: Sequence[str]) -> Iterator[NeighbourQuestions]:
    """Ask the scheduler while something else goes on; its commands end with the block."""
    with (
        question(SQUEUE) as jobs,
        question(SINFO) as known,
        question(TOPOLOGY) as topology,
        question(CONFIG) as config,
    ):
        yield NeighbourQuestions(tuple(nodes), jobs, known, topology, config)


def neighbours_of(
    nodes: Iterable[str], jobs: Iterable[SlurmJob], leaves: Mapping[str, frozenset[str]]
) -> tuple[Neighbour, ...]:
    """The jobs on `nodes` or behind their leaf switches, those on our nodes first, then by name."""
    ours = {short_name(node) for node in nodes}
    near = {leaf: names for leaf, names in leaves.items() if names & ours}
    found = []
    for job in jobs:
        on = tuple(sorted(job.nodes & ours))
        behind = tuple(sorted(leaf for leaf, names in near.items() if names & job.nodes))
        if on or behind:
            found.append(Neighbour(job, on, behind))
    return tuple(sorted(found, key=lambda one: (not one.nodes, len(one.job.id), one.job.id)))


def parse_jobs(text: str) -> tuple[SlurmJob, ...]:
    """Jobs of squeue's lines 'number|id|user|nodes'. Raises InputError on any other line."""
    jobs = []
    for line in _lines(text):
        parts = line.split("|")
        if len(parts) != 4 or not _ID.fullmatch(parts[1]) or not parts[0].isdecimal():
            raise not_understood("squeue", line, "number|id|user|nodes")
        number, name, user, nodes = parts
        # A job that completes may have given its nodes back already.
        jobs.append(SlurmJob(number, name, user, _names(nodes) if nodes else frozenset()))
    return tuple(jobs)


def parse_nodes(text: str) -> frozenset[str]:
    """Names of sinfo's lines, one a node and partition. Raises InputError."""
    return frozenset(name for line in _lines(text) for name in _names(line))


def parse_leaves(text: str) -> dict[str, frozenset[str]]:
    """Nodes by leaf switch, of `scontrol show topology`; none where Slurm has no switches.

    Leaves are at level 0. Raises InputError.
    """
    leaves: dict[str, frozenset[str]] = {}
    for line in _lines(text):
        pairs = [word.partition("=") for word in line.split()]
        if not all(equals for _, equals, _ in pairs):
            raise not_understood("scontrol", line, "SwitchName=... Level=... Nodes=...")
        fields = {key: value for key, _, value in pairs}
        name = fields.get("SwitchName")
        if not name:
            raise not_understood("scontrol", line, "SwitchName=... Level=... Nodes=...")
        if fields.get("Level", "0") == "0" and fields.get("Nodes"):
            leaves[name] = _names(fields["Nodes"])
    return leaves


def hides_jobs(config: str) -> bool:
    """Whether `scontrol show config` says that users see no jobs but their own.

    SOURCE: slurm.conf(5), PrivateData: a list of words, of which `jobs` is one.
    """
    for line in _lines(config):
        key, _, value = line.partition("=")
        if key.strip() == "PrivateData":
            return "jobs" in value.strip().split(",")
    return False


def leaves_in(answer: Answer) -> tuple[dict[str, frozenset[str]], str | None]:
    """Nodes by leaf switch, of an answer about `TOPOLOGY`; where there are none the reason."""
    if answer.not_known is not None:
        return {}, answer.not_known
    try:
        leaves = parse_leaves(answer.text)
    except InputError as error:
        return {}, str(error).partition("\n")[0]
    return leaves, None if leaves else "Slurm's configuration names no switches"


def _names(text: str) -> frozenset[str]:
    return frozenset(map(short_name, expand(text)))


def _lines(text: str) -> Iterator[str]:
    return (line.strip() for line in text.splitlines() if line.strip())
