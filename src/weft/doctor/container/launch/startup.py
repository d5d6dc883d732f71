"""How the ranks of a launch begin: the program, and what srun gives them to find each other."""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from weft.doctor.container.launch.inside import command_text
from weft.doctor.job import HOLE, Job, JobLaunch, SettingOrigin
from weft.doctor.readers.shell import SHELLS
from weft.launch.command_words import APPTAINER, RANK_LAUNCHERS

MPI_TYPE = "SLURM_MPI_TYPE"
_ENTRY_OPTIONS = ("container-entrypoint", "entrypoint")
"""Options of Pyxis and Sarus by which a script of the image runs before the program."""
_OTHER_LAUNCHERS = RANK_LAUNCHERS | {"torchrun"}
"""In the container: such a command starts the ranks, or none of MPI."""
_COMMAND = re.compile(
    r"(?:^|[;&|({`\n])[\s!]*"
    r"(?:(?:then|do|else|if|while|until|\w+=\S*"
    r"|(?:exec|time|env|nohup|nice|numactl|taskset|stdbuf)(?:\s+[-\d]\S*)*)\s+)*"
    r"([^\s;&|)}]+)"
)
"""The first word of a command, behind those of a shell, variables, and commands that start others
on chosen CPUs."""

_MAKES = re.compile(r"\b(?:mkdir|cp|mv|ln|rsync|tar|touch|install|git|wget|curl|unzip)\b")
"""Commands of a script that may make files and folders."""
_FOLDER_OPTIONS = ("w", "workdir", "pwd", "cwd")
_MOVES = re.compile(r"\b(?:cd|pushd)\b|--chdir|--workdir|^env$")


@dataclass(frozen=True, slots=True)
class RankStartup:
    """`program` is the command in the container, empty where a script of the image may come first.
    `by_srun`: whether srun starts each rank; `plugin` is its MPI plug-in, "" where the launch does
    not name it; `named_by` what names it, in words."""

    program: tuple[str, ...] = ()
    by_srun: bool = False
    plugin: str = ""
    named_by: str = ""


def startup_of(job: Job, launches: Sequence[int]) -> RankStartup:
    """Of the launch of an image and those above it, by their indices, the inner ones first.

    SOURCE: srun(1) of Slurm 22.05: --mpi, and SLURM_MPI_TYPE, over which the option wins.
    """
    chain = [job.launches[one] for one in launches]
    program = tuple(one.text for one in chain[0].program) if _is_first(chain[0]) else ()
    begins = next((one for one in launches if job.launches[one].launcher in RANK_LAUNCHERS), None)
    is_other = _starts_ranks([one.text for one in chain[0].program])
    if begins is None or job.launches[begins].launcher != "srun" or is_other:
        return RankStartup(program)
    srun = job.launches[begins]
    option = srun.options.get("mpi")
    if option is not None:
        is_known = HOLE not in option.text and "$" not in option.text
        named_by = f"srun --mpi={option.text} of {_place(job, srun.at.line)}"
        return RankStartup(program, True, option.text if is_known else HOLE, named_by)
    found = [
        one
        for one in job.settings
        if one.name == MPI_TYPE and one.value is not None
        if one.origin not in (SettingOrigin.ASSIGNED, SettingOrigin.WRITTEN)
        if (one.launch is None and one.order <= srun.order) or one.launch == begins
    ]
    if not found or not found[-1].value:
        return RankStartup(program, True)
    named_by = f"{MPI_TYPE}={found[-1].value} of {_place(job, found[-1].at.line)}"
    is_known = HOLE not in found[-1].value and "$" not in found[-1].value
    return RankStartup(program, True, found[-1].value if is_known else HOLE, named_by)


def folder_of(launch: JobLaunch) -> str | None:
    """The folder in which the program starts, as an option names it; a HOLE where a shell or
    another command may change it, None where neither is."""
    found = next((launch.options[one] for one in _FOLDER_OPTIONS if one in launch.options), None)
    words = [one.text for one in launch.program]
    if "entrypoint" in launch.options:
        words.insert(0, launch.options["entrypoint"].text)
    names = [one.rpartition("/")[2] for one in words]
    if any(one in SHELLS or one.endswith(".sh") or _MOVES.search(one) for one in names):
        return HOLE
    return found.text if found is not None else None


def makes_files(job: Job) -> bool:
    """Whether commands of a script may make files and folders before its launches."""
    return bool(job.sourced) or _MAKES.search(job.text) is not None


def _starts_ranks(words: Sequence[str]) -> bool:
    """Whether a command in the container is a launcher, by the base name of its first word."""
    text = command_text(words)
    commands = _COMMAND.findall(text) if text else _COMMAND.findall(shlex.join(words))[:1]
    return any(one.strip("\"'").rpartition("/")[2] in _OTHER_LAUNCHERS for one in commands)


def _is_first(launch: JobLaunch) -> bool:
    """Whether the words of the launch are what starts in the container."""
    if launch.launcher in APPTAINER:
        command = launch.options.get("command")
        return command is not None and command.text == "exec"
    is_plain = launch.launcher in ("srun", "sarus")
    return is_plain and not any(one in launch.options for one in _ENTRY_OPTIONS)


def _place(job: Job, line: int) -> str:
    return f"{job.name}:{line}" if job.text else job.name
