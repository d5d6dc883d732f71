"""Environment definition files of the container engine at CSCS: TOML with image, mounts, [env]."""

import re
from collections.abc import Mapping
from typing import Any

from weft.core.documents.document_text import toml_table
from weft.doctor.job import (
    HOLE,
    NOWHERE,
    Container,
    Job,
    JobKind,
    JobLaunch,
    JobSetting,
    SettingOrigin,
    SourceLines,
    TextPlace,
    Word,
)


def read_edf(name: str, text: str) -> Job:
    """The container and the variables of an EDF. Raises InputError where it is no TOML."""
    table = toml_table(text, name, "an EDF in TOML")
    lines = SourceLines(text)
    env, mounts, image = table.get("env"), table.get("mounts"), table.get("image")
    settings = []
    for key, value in env.items() if isinstance(env, dict) else ():
        at, value_at = _find(text, lines, key)
        shown = _as_written(value)
        settings.append(JobSetting(key, shown, SettingOrigin.DOCUMENT, at or NOWHERE, value_at))
    listed = mounts if isinstance(mounts, list) else []
    words = tuple(Word(mount, NOWHERE) for mount in listed if isinstance(mount, str))
    container = Container(image if isinstance(image, str) else "", words)
    options = _annotations(table)
    if "base_environment" in table:
        # What another EDF sets is not known here.
        options["base_environment"] = Word(HOLE, NOWHERE)
        container = Container(container.image, (*words, Word(HOLE, NOWHERE)))
    launch = JobLaunch("edf", NOWHERE, options, container=container)
    return Job(name, text, JobKind.EDF, tuple(settings), (launch,))


def is_edf(text: str) -> bool:
    """Whether a TOML text looks like an EDF."""
    return re.search(r"^(image|base_environment)\s*=|^\[(annotations|env)", text, re.M) is not None


def _annotations(table: Mapping[str, Any]) -> dict[str, Word]:
    found: dict[str, Word] = {}
    stack = [("", table.get("annotations", {}))]
    while stack:
        path, inner = stack.pop()
        if isinstance(inner, dict):
            stack += [(f"{path}.{key}" if path else str(key), one) for key, one in inner.items()]
        else:
            found[path] = Word(_as_written(inner), NOWHERE)
    return found


def _as_written(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _find(text: str, lines: SourceLines, key: str) -> tuple[TextPlace | None, TextPlace | None]:
    """The place of a key as `key = value`, or `env.key = value`, on a line of its own."""
    pattern = rf"^[ \t]*(?:env\.)?\"?{re.escape(key)}\"?[ \t]*=[ \t]*(?P<value>[^\n#]*[^\n# \t])"
    found = re.search(pattern, text, re.M)
    if found is None:
        return None, None
    start = found.start() + len(found[0]) - len(found[0].lstrip())
    return lines.place(start, found.end()), lines.place(*found.span("value"))
