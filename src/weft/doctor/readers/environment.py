"""The environment of a process."""

from collections.abc import Mapping

from weft.doctor.job import Job, Kind, Lines, Setting, Way


def read_environment(environment: Mapping[str, str]) -> Job:
    """What is set here and now, a line each in the order of names."""
    pairs = sorted(environment.items())
    rows = [f"{name}={value}".replace("\n", "\\n") for name, value in pairs]
    text = "\n".join(rows)
    lines = Lines(text)
    settings = []
    at = 0
    for row, (name, value) in zip(rows, pairs, strict=True):
        place = lines.place(at, at + len(row))
        settings.append(Setting(name, value, Way.LIVE, place))
        at += len(row) + 1
    return Job("the environment", text, Kind.LIVE, tuple(settings))
