"""Scripts for sbatch, and their submission. Nothing in them is read by a shell unquoted."""

import re
import shlex
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from weft.core.errors import InputError, MissingError
from weft.core.process import CommandError, run_command

SUBMIT_LIMIT_S = 60.0
OUTPUT = "slurm/%A_%a.out"
# SOURCE: sbatch(1) of Slurm 22.05: with --parsable 'JOB' or 'JOB;CLUSTER'.
_SUBMITTED = re.compile(r"(\d+)(?:;.*)?")
_PLAIN = re.compile(r"[A-Za-z0-9_@%+=:,./-]+")
_MEANT = re.compile(r'["\\]')


@dataclass(frozen=True, slots=True)
class Batch:
    """An array of jobs of `n_nodes` each, one for each of `tasks`, of which `at_once` run at a
    time, after the jobs of `after` have ended. `options` are words for sbatch that win over ours;
    `command` is what each runs, in the folder from which the script is submitted."""

    name: str
    n_nodes: int
    tasks_per_node: int
    tasks: tuple[int, ...]
    command: tuple[str, ...]
    at_once: int = 1
    exclusive: bool = True
    nodes: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    options: tuple[str, ...] = field(default=())

    @property
    def directives(self) -> tuple[str, ...]:
        """The words behind #SBATCH, one a line."""
        return (
            f"--job-name={self.name}",
            f"--nodes={self.n_nodes}",
            f"--ntasks-per-node={self.tasks_per_node}",
            *(("--exclusive",) if self.exclusive else ()),
            f"--array={array_text(self.tasks)}%{self.at_once}",
            f"--output={OUTPUT}",
            *((f"--nodelist={','.join(self.nodes)}",) if self.nodes else ()),
            *((f"--dependency=afterany:{':'.join(self.after)}",) if self.after else ()),
            *self.options,
        )

    @property
    def script(self) -> str:
        """The whole script. Raises InputError for a word that no line of it can hold."""
        lines = [f"#SBATCH {directive(word)}\n" for word in self.directives]
        return "".join(("#!/bin/sh\n", *lines, f"exec {shlex.join(self.command)}\n"))


def directive(word: str) -> str:
    """A word as sbatch reads it in a script: in double quotes, in which a backslash keeps the next
    character as it is. Tried with Slurm 22.05. Raises InputError."""
    if not word.isprintable() or not word.startswith("-"):
        raise InputError(
            f"{word[:80]!a} is no option of sbatch",
            where="--sbatch",
            expected="one word of one line, such as --sbatch=--qos=high",
        )
    if _PLAIN.fullmatch(word):
        return word
    return '"' + _MEANT.sub(lambda found: f"\\{found.group()}", word) + '"'


def check_folder(folder: Path) -> None:
    """Raise InputError for a folder whose jobs Slurm could not start: in the path of a job's output
    it takes '%' and a backslash for orders of its own (tried with 22.05)."""
    path = str(folder)
    if not path.isprintable() or "%" in path or "\\" in path:
        raise InputError(
            "Slurm writes no output below this path",
            where=f"{path[:200]!a}",
            expected="a run directory without '%', backslashes and what cannot be printed",
            hint="choose another with --dir",
        )


def array_text(tasks: Sequence[int]) -> str:
    """'0-3,7' of 0, 1, 2, 3 and 7."""
    runs: list[list[int]] = []
    for task in sorted(tasks):
        if runs and task == runs[-1][-1] + 1:
            runs[-1].append(task)
        else:
            runs.append([task])
    return ",".join(str(r[0]) if len(r) == 1 else f"{r[0]}-{r[-1]}" for r in runs)


def find_sbatch() -> str:
    """Raises MissingError where this machine has none."""
    found = shutil.which("sbatch")
    if found is None:
        raise MissingError(
            "no 'sbatch' on PATH",
            expected="a login node of a Slurm cluster",
            hint="--dry-run prints the scripts; where there is no Slurm: weft study run",
        )
    return found


def submit(script: Path, folder: Path, options: Sequence[str]) -> str:
    """Submit a script from a folder; the job's id. `options` are the script's own, again.

    SOURCE: sbatch(1) of Slurm 22.05, "INPUT ENVIRONMENT VARIABLES": a user's SBATCH_ variables win
    over what a script says, and options on the command line over both.
    Raises InputError with sbatch's own words where it refuses, MissingError where it does not
    answer.
    """
    argv = [find_sbatch(), "--parsable", *options, str(script)]
    try:
        ran = run_command(argv, timeout_s=SUBMIT_LIMIT_S, cwd=folder)
    except CommandError as error:
        raise MissingError(f"sbatch does not answer ({error})", where=str(script)) from error
    result = _SUBMITTED.fullmatch(ran.out.strip())
    if ran.code != 0 or result is None:
        words = (ran.err or ran.out).strip() or f"exit code {ran.code}"
        raise InputError(
            f"sbatch refused: {words[:400]}",
            where=str(script),
            expected="options that this cluster takes",
        )
    return result[1]
