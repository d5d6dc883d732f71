"""The environment of a process."""

from collections.abc import Mapping

from weft.doctor.job import Job, Kind, Lines, Setting, Way


def read_environment(environment: Mapping[str, str]) -> Job:
    """What is set here and now, a line each in the order of names."""
    rows = [f"{name}={value}" for name, value in sorted(environment.items())]
    text = "\n".join(row.replace("\n", "\\n") for row in rows)
    lines = Lines(text)
    settings = []
    at = 0
    for row, (name, value) in zip(text.split("\n"), sorted(environment.items()), strict=True):
        place = lines.place(at, at + len(row))
        settings.append(Setting(name, value, Way.LIVE, place))
        at += len(row) + 1
    return Job("the environment", text, Kind.LIVE, tuple(settings))
