"""Variables that the command in a container sets itself: by the text of a shell, or by env."""

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from weft.doctor.container.launch.environment import Values, VariableValue
from weft.doctor.job import HOLE, Job, SettingOrigin, Word
from weft.doctor.readers.shell import SHELLS, read_script

_DASH_C = re.compile(r"-[a-z]*c")
_DECISIVE = re.compile(r"LD_|NCCL_|FI_|OFI_|RDMAV_|IBV_")
"""Begins of names that decide which libraries are loaded."""
_TAKES_AWAY = re.compile(r"\bexport\s+-n|\bdeclare\s+\+x|\benv\s+-|\bexec\s+-")
"""Forms that take variables away from a program."""


@dataclass(frozen=True, slots=True)
class InnerSettings:
    """`values` are set, and `drops` unset, before the program starts; `is_open`: other commands
    there may change variables that decide."""

    values: Values = ()
    drops: frozenset[str] = frozenset()
    is_open: bool = False


def inner_settings(program: Sequence[Word], origin: str) -> InnerSettings:
    """Those of `sh -c TEXT` and of `env NAME=VALUE COMMAND`."""
    text = command_text([one.text for one in program])
    if not text:
        return InnerSettings()
    # A part that only the running job knows stays one: no script sets `_`.
    job = read_script(origin, text.replace(HOLE, "${_}"))
    values = [
        VariableValue(one.name, one.value, origin)
        for one in job.settings
        if one.value is not None and not one.is_optional
        if one.origin is SettingOrigin.EXPORT or _is_of_the_last(job, one.launch)
    ]
    return InnerSettings(tuple(values), job.unset, _is_open(job))


def command_text(words: Sequence[str]) -> str:
    """The text of `sh -c TEXT`, or of env and what it starts; "" of other commands."""
    for shell, option, text in zip(words, words[1:], words[2:], strict=False):
        if shell.rpartition("/")[2] in SHELLS and _DASH_C.fullmatch(option):
            return text
    return shlex.join(words) if words and words[0].rpartition("/")[2] == "env" else ""


def _is_of_the_last(job: Job, launch: int | None) -> bool:
    """Whether a setting in front of a command is in front of the last one."""
    return launch is not None and job.launches[launch].at.end >= _end_of(job)


def _end_of(job: Job) -> int:
    return len(job.text.rstrip(" \t\n;"))


def _is_open(job: Job) -> bool:
    return (
        bool(job.sourced or job.unseen or job.unread or _TAKES_AWAY.search(job.text))
        or any(map(_DECISIVE.match, _open_names(job)))
        or any(one.at.end >= _end_of(job) for one in job.settings if one.launch is None)
    )


def _open_names(job: Job) -> Iterator[str]:
    """Variables that are set in a branch, that are only assigned (an exported one changes then),
    or for another command than the last."""
    for part in (job, *job.parts):
        for one in part.settings:
            is_other = one.launch is not None and not _is_of_the_last(part, one.launch)
            if one.is_optional or one.origin is SettingOrigin.ASSIGNED or is_other:
                yield one.name
        if part is not job:
            yield from part.unset ^ job.unset
