"""The environment of a process."""

from collections.abc import Mapping

from weft.doctor.job import Job, JobKind, JobSetting, SettingOrigin, SourceLines


def read_environment(environment: Mapping[str, str]) -> Job:
    """What is set here and now, a line each in the order of names."""
    pairs = sorted(environment.items())
    rows = [f"{name}={value}".replace("\n", "\\n") for name, value in pairs]
    text = "\n".join(rows)
    lines = SourceLines(text)
    settings = []
    at = 0
    for row, (name, value) in zip(rows, pairs, strict=True):
        place = lines.place(at, at + len(row))
        settings.append(JobSetting(name, value, SettingOrigin.LIVE, place))
        at += len(row) + 1
    return Job("the environment", text, JobKind.LIVE, tuple(settings))
