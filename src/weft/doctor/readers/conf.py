"""Settings of a line each: nccl.conf as NCCL reads it, and the environment of a process."""

import re
from collections.abc import Mapping

from weft.doctor.job import Job, JobKind, JobSetting, SettingOrigin, SourceLines

_LINE = re.compile(r"(?P<name>[^=#\n]*)=(?P<value>[^\n]*)")


def read_conf(name: str, text: str, *, whole: str | None = None) -> Job:
    """The settings of an nccl.conf; `whole` is the document with it in it, as long as `text`.

    NCCL cuts a line at its first '=' and takes both sides as they stand: spaces and `export` become
    part of the name, quotes part of the value. Lines that begin with '#' are comments.
    SOURCE: NVIDIA/nccl v2.30.7, src/misc/param.cc.
    """
    settings = []
    unread = []
    whole = text if whole is None else whole
    lines = SourceLines(whole)
    for line, place in SourceLines(text).each():
        at = lines.place(place.start, place.end)
        found = _LINE.fullmatch(line)
        if line.startswith("#") or not line.strip():
            continue
        if found is None:
            unread.append(at)
            continue
        value_at = lines.place(at.start + found.start("value"), at.end)
        settings.append(JobSetting(found["name"], found["value"], SettingOrigin.CONF, at, value_at))
    return Job(name, whole, JobKind.CONF, tuple(settings), unread=tuple(unread))


def read_environment(environment: Mapping[str, str]) -> Job:
    """The variables that are set here and now, a line each in the order of names."""
    pairs = sorted(environment.items())
    text = "\n".join(f"{name}={value}".replace("\n", "\\n") for name, value in pairs)
    settings = [
        JobSetting(name, value, SettingOrigin.LIVE, at)
        for (name, value), (_, at) in zip(pairs, SourceLines(text).each(), strict=False)
    ]
    return Job("the environment", text, JobKind.LIVE, tuple(settings))
