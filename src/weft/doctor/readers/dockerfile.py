"""Dockerfiles: what ENV sets, what RUN writes to files, and the command that a container starts.

The text becomes a shell script of the same length, so that places stay: ENV is an assignment, RUN
a subshell, CMD a command. SOURCE: Dockerfile reference: ENV, ARG, RUN, CMD, ENTRYPOINT.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import replace

from weft.core.errors import InputError
from weft.doctor.job import HOLE, Job, JobKind, JobSetting, SettingOrigin, SourceLines, TextPlace
from weft.doctor.readers.shell import read_script
from weft.doctor.readers.shell_source import unix_lines

_INSTRUCTION = re.compile(r"[ \t]*([A-Za-z]+)(?=[ \t])")
_CONTINUED = re.compile(r"\\[ \t]*$")
_FLAGS = re.compile(r"(?:[ \t]+--[\w-]+(?:=\S+)?)*")
_OLD_ENV = re.compile(r"[ \t]+([A-Za-z_]\w*)[ \t]+(?!=)([^\n]*[^\s])[ \t]*")
MOST_CHARACTERS = 1 << 20
_HEREDOC = re.compile(r"<<-?[\"']?([A-Za-z_]\w*)")
STARTS = {"CMD", "ENTRYPOINT"}


def read_dockerfile(name: str, text: str) -> Job:
    """The variables of the image, those that its files set, and the launches of its command.
    Raises InputError for a text that is larger than any Dockerfile."""
    if len(text) > MOST_CHARACTERS:
        raise InputError(
            f"{len(text):,} characters", where=name, expected=f"{MOST_CHARACTERS:,} at most"
        )
    shell, spans, old = _as_shell(unix_lines(text))
    job = read_script(name, shell, JobKind.DOCKERFILE, whole=text, exports_all=True)
    lines = SourceLines(text)
    own = tuple(_old_settings(lines, old))
    image = _of_image(_without_builds(job, spans), spans)
    parts = tuple(_of_image(one, spans) for one in job.parts)
    return replace(image, settings=(*image.settings, *own), parts=parts)


Span = tuple[str, int, int]
"""An instruction and where it begins and ends."""


def _keyword_at(spans: list[Span], place: TextPlace) -> str:
    index = bisect_right([start for _, start, _ in spans], place.start) - 1
    return spans[index][0] if index >= 0 else ""


def _without_builds(job: Job, spans: list[Span]) -> Job:
    """Without the launches of RUN: a launch while building starts no job."""
    kept = [i for i, one in enumerate(job.launches) if _keyword_at(spans, one.at) != "RUN"]
    number = {old: new for new, old in enumerate(kept)}
    stays = [one for one in job.settings if one.launch is None or one.launch in number]
    gone = [one.at for one in job.settings if one not in stays]

    def renumbered(index: int | None) -> int | None:
        return None if index is None else number.get(index)

    return replace(
        job,
        settings=tuple(replace(one, launch=renumbered(one.launch)) for one in stays),
        launches=tuple(
            replace(job.launches[old], inside=renumbered(job.launches[old].inside)) for old in kept
        ),
        local=(*job.local, *gone),
    )


def _of_image(job: Job, spans: list[Span]) -> Job:
    """Without what ends with a layer (RUN) and what counts only while building (ARG)."""
    kept: list[JobSetting] = []
    local: list[TextPlace] = [*job.local]
    layer: list[JobSetting] = [*job.layer]
    for setting in job.settings:
        keyword = _keyword_at(spans, setting.at)
        if keyword == "RUN" and setting.origin is SettingOrigin.EXPORT:
            layer.append(setting)
            local.append(setting.at)
        elif keyword in ("ARG", "RUN") and setting.origin is not SettingOrigin.WRITTEN:
            local.append(setting.at)
        else:
            kept.append(setting)
    return replace(job, settings=tuple(kept), local=tuple(local), layer=tuple(layer))


def _old_settings(lines: SourceLines, old: list[re.Match[str]]) -> Iterator[JobSetting]:
    for found in old:
        at, value_at = lines.place(found.start(1), found.end(2)), lines.place(*found.span(2))
        value = HOLE if "$" in found[2] else found[2]
        yield JobSetting(found[1], value, SettingOrigin.EXPORT, at, value_at)


def _as_shell(text: str) -> tuple[str, list[Span], list[re.Match[str]]]:
    """(the text as a shell script, instructions with their places, old forms of ENV)."""
    shell = list(text)
    spans: list[Span] = []
    old: list[re.Match[str]] = []
    at = 0
    while at < len(text):
        line_end = _line_end(text, at)
        found = _INSTRUCTION.match(text, at, line_end)
        if found is None:
            if not text[at:line_end].lstrip().startswith("#"):
                _blank(shell, at, line_end)
            at = line_end + 1
            continue
        end = _end_of_instruction(text, at, shell)
        keyword = found[1].upper()
        spans.append((keyword, at, end))
        old_form = _OLD_ENV.match(text, found.end(), end) if keyword == "ENV" else None
        if old_form is not None and "\n" not in old_form[0]:
            old.append(old_form)
            _blank(shell, at, end)
        else:
            _translate(keyword, text, shell, found, end)
        at = end + 1
    return "".join(shell), spans, old


def _translate(keyword: str, text: str, shell: list[str], found: re.Match[str], end: int) -> None:
    start = found.end()
    if keyword in ("ENV", "ARG"):
        _blank(shell, found.start(), start)
        if end < len(shell):
            # The grammar joins `A=1 B=2` to the command of the next line.
            shell[end] = ";"
    elif keyword == "RUN" or keyword in STARTS:
        flags = _FLAGS.match(text, start, end)
        _blank(shell, found.start(), flags.end() if flags is not None else start)
        if text[start:end].lstrip().startswith("["):
            _unpack_list(shell, start, end)
    elif keyword in ("COPY", "ADD") and "<<" in text[start : _line_end(text, start)]:
        # A file with the lines of a heredoc, as cat would write it.
        shell[found.start(1) : found.end(1)] = "cat".ljust(len(keyword))
    else:
        _blank(shell, found.start(), end)


def _line_end(text: str, at: int) -> int:
    found = text.find("\n", at)
    return len(text) if found < 0 else found


def _end_of_instruction(text: str, at: int, shell: list[str]) -> int:
    """The end of its last line. Comments and empty lines within it are joined to the next line."""
    end = _line_end(text, at)
    heredocs = [found[1] for found in _HEREDOC.finditer(text, at, end)]
    while heredocs and end < len(text):
        line_start, end = end + 1, _line_end(text, end + 1)
        if text[line_start:end].strip() == heredocs[0]:
            heredocs.pop(0)
    line_start = text.rfind("\n", 0, end) + 1
    while end < len(text) and _CONTINUED.search(text[line_start:end].rstrip("\r")):
        line_start, end = end + 1, _line_end(text, end + 1)
        while end < len(text) and _is_comment_or_empty(text[line_start:end]):
            shell[line_start : end + 1] = " " * (end + 1 - line_start)
            line_start, end = end + 1, _line_end(text, end + 1)
    return end


def _is_comment_or_empty(line: str) -> bool:
    stripped = line.strip()
    return not stripped or stripped.startswith("#")


def _blank(shell: list[str], start: int, end: int) -> None:
    shell[start:end] = [one if one == "\n" else " " for one in shell[start:end]]


def _unpack_list(shell: list[str], start: int, end: int) -> None:
    """`["mpirun", "-np", "2"]` without its brackets and commas."""
    is_quoted = False
    for index in range(start, end):
        one = shell[index]
        if one == '"' and shell[index - 1] != "\\":
            is_quoted = not is_quoted
        elif not is_quoted and one in "[],":
            shell[index] = " "
