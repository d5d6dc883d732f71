"""nccl.conf: NAME=VALUE a line, read as NCCL reads it."""

import re

from weft.doctor.job import Job, JobKind, JobSetting, SettingOrigin, SourceLines

_LINE = re.compile(r"(?P<name>[^=#\n]*)=(?P<value>[^\n]*)")


def read_conf(name: str, text: str) -> Job:
    """The settings of an nccl.conf.

    NCCL cuts a line at its first '=' and takes both sides as they stand: spaces and `export` become
    part of the name, quotes part of the value. Lines that begin with '#' are comments.
    SOURCE: NVIDIA/nccl v2.30.7, src/misc/param.cc.
    """
    lines = SourceLines(text)
    settings = []
    unread = []
    at = 0
    for line in text.split("\n"):
        found = _LINE.fullmatch(line)
        whole = lines.place(at, at + len(line))
        if line.startswith("#") or not line.strip():
            pass
        elif found is None:
            unread.append(whole)
        else:
            value_at = lines.place(at + found.start("value"), at + found.end("value"))
            settings.append(
                JobSetting(found["name"], found["value"], SettingOrigin.CONF, whole, value_at)
            )
        at += len(line) + 1
    return Job(name, text, JobKind.CONF, tuple(settings), unread=tuple(unread))
