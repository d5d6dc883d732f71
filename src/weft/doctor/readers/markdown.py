"""Markdown: fenced blocks of shell, Dockerfile and YAML, each a job of its own.

A block of another language, or of none, and the text between blocks are not read. SOURCE:
CommonMark 0.31.2, 4.5: fenced code blocks.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice

from weft.core.errors import InputError
from weft.doctor.job import Job, JobKind
from weft.doctor.readers.dockerfile import read_dockerfile
from weft.doctor.readers.shell import read_script

MOST_CHARACTERS = 1 << 18
MOST_BLOCKS = 32
"""Of one text, that are read."""
SHELLS = ("bash", "sh", "shell", "zsh")
CONSOLES = ("console", "shell-session", "shellsession", "terminal")
_FENCE = re.compile(r"^[ \t]*(?P<fence>`{3,}|~{3,})[ \t]*\{?\.?(?P<language>[\w-]*)[^\n`]*$", re.M)
_PROMPT = re.compile(r"^[ \t]*\$ ", re.M)


def read_markdown(name: str, text: str) -> Job:
    """The jobs of the fenced blocks as `parts`. A text shows alternatives: each setting counts as
    one in a branch."""
    parts: list[Job] = []
    for language, start, end in islice(_blocks(text), MOST_BLOCKS):
        read = _READERS.get(language)
        if read is None:
            continue
        try:
            job = read(name, text, start, end)
        except InputError:
            # Its names stay unread, which leaves no verdict.
            continue
        parts += [_as_example(one, text) for one in (job, *job.parts)]
    return Job(name, text, JobKind.MARKDOWN, parts=tuple(parts))


def _as_example(job: Job, text: str) -> Job:
    settings = tuple(replace(one, is_optional=True) for one in job.settings)
    return replace(job, text=text, settings=settings, parts=())


def _blocks(text: str) -> Iterator[tuple[str, int, int]]:
    """(language, where its lines begin and end) of each block that is closed."""
    at = 0
    while len(text) <= MOST_CHARACTERS and (opened := _FENCE.search(text, at)) is not None:
        mark = re.escape(opened["fence"][0])
        close = re.compile(rf"^[ \t]*{mark}{{{len(opened['fence'])},}}[ \t]*\r?$", re.M)
        start = min(opened.end() + 1, len(text))
        closed = close.search(text, start)
        if closed is None:
            return
        yield opened["language"].lower(), start, closed.start()
        at = closed.end()


def _alone(text: str, start: int, end: int, body: str) -> str:
    """As long as the text, with all but the block blank."""
    return _blank(text[:start]) + body + _blank(text[end:])


def _blank(text: str) -> str:
    return re.sub(r"[^\n]+", lambda found: " " * len(found[0]), text)


def _shell(name: str, text: str, start: int, end: int) -> Job:
    body = text[start:end]
    if _PROMPT.search(body):
        return _console(name, text, start, end)
    return read_script(name, _alone(text, start, end, body), whole=text)


def _console(name: str, text: str, start: int, end: int) -> Job:
    """Lines behind a prompt, and those that continue one; the others are output."""
    lines: list[str] = []
    goes_on = False
    for line in text[start:end].split("\n"):
        prompt = _PROMPT.match(line)
        kept = " " * prompt.end() + line[prompt.end() :] if prompt is not None else line
        is_command = prompt is not None or goes_on
        lines.append(kept if is_command else _blank(line))
        goes_on = is_command and line.rstrip().endswith("\\")
    return read_script(name, _alone(text, start, end, "\n".join(lines)), whole=text)


def _dockerfile(name: str, text: str, start: int, end: int) -> Job:
    return read_dockerfile(name, _alone(text, start, end, text[start:end]))


def _yaml(name: str, text: str, start: int, end: int) -> Job:
    # Imported here: most files are no YAML.
    from weft.doctor.readers.kubernetes import read_manifests

    return read_manifests(name, _alone(text, start, end, text[start:end]))


_READERS: dict[str, Callable[[str, str, int, int], Job]] = {
    **dict.fromkeys(SHELLS, _shell),
    **dict.fromkeys(CONSOLES, _console),
    **dict.fromkeys(("dockerfile", "docker"), _dockerfile),
    **dict.fromkeys(("yaml", "yml"), _yaml),
}
