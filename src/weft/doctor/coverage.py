"""What a linted file could have shown: the evidence of a GOOD, and why there is none."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from weft.core.words import counted
from weft.doctor.case import DoctorCase
from weft.doctor.job import HOLE, Job, JobKind, JobSetting, SettingOrigin, SourceLines, TextPlace
from weft.doctor.rules.masks import given_masks
from weft.doctor.rules.names import is_private
from weft.doctor.rules.plugins import plugin_gap
from weft.doctor.rules.transports import SWITCHES
from weft.launch.command_words import LAUNCHERS

LOOKED_FOR = {
    JobKind.SCRIPT: "export NAME=VALUE, NAME=VALUE before a command, srun --export, mpirun -x",
    JobKind.CONF: "lines NAME=VALUE",
    JobKind.EDF: "[env]",
    JobKind.KUBERNETES: "env, ConfigMap data, scripts in command, args and data",
    JobKind.MODULEFILE: "setenv and pushenv, in Tcl or Lua",
    JobKind.MARKDOWN: "fenced blocks of sh, bash, console, dockerfile and yaml",
    JobKind.DOCKERFILE: "ENV, files that RUN writes, CMD and ENTRYPOINT",
    JobKind.OTHER: "a script, a manifest, a Dockerfile, an EDF, an nccl.conf or a modulefile",
    JobKind.LIVE: "all names of the catalogue",
}
_NAME = r"[A-Z][A-Z0-9]*_[A-Z0-9_]*[A-Z0-9]"
_GIVEN = re.compile(
    rf"(?<![\w$\{{.])(?P<name>{_NAME})[ \t]*\+?=(?!=)"
    rf"|(?<=[\"'])(?P<quoted>{_NAME})[\"']\]?[ \t]*[:,=]"
)
"""A name that is given a value, or stands in quotes before one, in any language."""
MOST_CHARACTERS = 1 << 20
"""Of a text, in which names are looked for."""
MOST_NAMED = 3
MOST_FOUND = 100
MOST_BEFORE = 1000
"""Characters of a line in front of a name, in which a comment may begin."""
LEAVES = LAUNCHERS - {"srun"}


@dataclass(frozen=True, slots=True)
class Gap:
    """A question that the file leaves open, and what would answer it."""

    unknown: str
    would_tell: str


@dataclass(frozen=True, slots=True)
class Coverage:
    """`n_variables` of the libraries were read, `n_known` of them with a value. `would_show` are
    faults that would have shown, `not_seen` parts that were not read; with a gap there is no
    GOOD."""

    n_variables: int
    n_known: int
    would_show: tuple[str, ...]
    not_seen: tuple[str, ...]
    gaps: tuple[Gap, ...]


def coverage_of(case: DoctorCase) -> Coverage:
    """What the rules could see of a job."""
    read = [one for one in case.job.all_settings if is_of_a_library(case, one)]
    names = {one.name for one in read}
    known = {one.name for one in read if one.known is not None}
    return Coverage(
        len(names),
        len(known),
        tuple(_would_show(case, names, known)),
        tuple(_not_seen(case.job, len(names) - len(known))),
        tuple(_gaps(case, names, known)),
    )


def is_of_a_library(case: DoctorCase, setting: JobSetting) -> bool:
    """Whether a setting is one that NCCL, UCX, libfabric, MPI or SHARP may read."""
    return case.library(setting.name) is not None and not is_private(setting.name)


def _would_show(case: DoctorCase, names: set[str], known: set[str]) -> Iterator[str]:
    if names:
        yield f"a misspelt or unknown name in {counted(len(names), 'variable')}"
    if known:
        yield f"a value that its library reads otherwise or refuses, in {len(known)} of them"
    if any(name.startswith("NCCL_") for name in names):
        yield "TCP forced, NVLink, shared memory or GPUDirect RDMA switched off"
    if _has_masks(case.job):
        yield "masks of processors that overlap, or lie far from their GPU if a file tells"
    leaves = [one for one in case.job.launches if one.launcher in LEAVES or one.container]
    if names and leaves:
        yield f"a variable left behind by {counted(len(leaves), 'launch', 'launches')}"
    if case.recipe is not None:
        yield f"a device, plug-in or value that does not fit {case.recipe.title}"


def _not_seen(job: Job, n_unknown: int) -> Iterator[str]:
    if n_unknown:
        yield f"{counted(n_unknown, 'value')} known only when the job runs"
    files = list(dict.fromkeys(job.sourced))
    if files:
        yield f"files that it sources ({_shortened(files)})"
    modules = list(dict.fromkeys(one.text for one in job.modules if HOLE not in one.text))
    if modules:
        yield f"variables of {counted(len(modules), 'module')} ({_shortened(modules)})"
    yield from dict.fromkeys(job.unseen)
    listed = [one.options["env-file"].text for one in job.launches if "env-file" in one.options]
    if listed:
        shown = ", ".join(dict.fromkeys(one.replace(HOLE, "...") for one in listed))
        yield f"the variables that --env-file names ({shown})"
    images = {one.container.image for one in job.launches if one.container is not None}
    if images or job.kind is JobKind.DOCKERFILE:
        yield "the content of the image"


def _shortened(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more


def _gaps(case: DoctorCase, names: set[str], known: set[str]) -> Iterator[Gap]:
    job = case.job
    if len(job.text) > MOST_CHARACTERS:
        yield Gap(
            f"{job.name} has {len(job.text):,} characters, of which programs may set variables",
            "a shorter file, or `weft doctor env` inside the job",
        )
    unread = unread_names(case)
    if unread:
        lines = ", ".join(str(one) for one in sorted({line for _, line in unread})[:MOST_NAMED])
        shown = ", ".join(list(dict.fromkeys(name for name, _ in unread))[:MOST_NAMED])
        unknown = f"{job.name} gives values to {shown} (line {lines}) in a form that weft does not"
        yield Gap(f"{unknown} read", "run `weft doctor env` inside the job")
    elif not names and not _has_masks(job):
        yield Gap(
            f"{job.name} sets no variable of NCCL, UCX, libfabric, MPI or SHARP (looked for: "
            f"{LOOKED_FOR[job.kind]})",
            "the file that sets them, or `weft doctor env` inside the job",
        )
    elif names and not known:
        yield Gap(
            f"{job.name} takes the values of {counted(len(names), 'variable')} from the running"
            " job",
            "run `weft doctor env` inside the job",
        )
    elif hidden := [name for name in SWITCHES if name in names - known]:
        yield Gap(
            f"the value of {', '.join(hidden)}, which {job.name} takes from the running job: it "
            "may switch a transport off",
            "run `weft doctor env` inside the job",
        )
    missing = plugin_gap(case) if names else None
    if missing is not None:
        yield Gap(*missing)


def _has_masks(job: Job) -> bool:
    return any(given_masks(one) is not None for one in job.launches)


def unread_names(case: DoctorCase) -> list[tuple[str, int]]:
    """(name, line) of variables of the libraries that a part of the text gives a value, though no
    reader took it for a setting."""
    job = case.job
    if job.kind is JobKind.LIVE or len(job.text) > MOST_CHARACTERS:
        return []
    settings = job.all_settings
    parts = (job, *job.parts)
    covered = [one.at for one in settings]
    covered += [one.at for part in parts for one in (*part.broken, *part.layer)]
    containers = [one.container for part in parts for one in part.launches]
    covered += [word.at for one in containers if one is not None for word in one.not_names]
    is_read = _Inside([*covered, *(at for part in parts for at in part.local)])
    elsewhere = {
        one.name
        for one in settings
        if not one.at.exact or one.origin in (SettingOrigin.DOCUMENT, SettingOrigin.BEFORE)
    }
    found: list[tuple[str, int]] = []
    lines = SourceLines(job.text)
    for one in _GIVEN.finditer(job.text):
        name, start = one["name"] or one["quoted"], one.start()
        if name in elsewhere or case.variable(name) is None or start in is_read:
            continue
        place = lines.place(start, start)
        before = job.text[max(start - place.column + 1, start - MOST_BEFORE) : start]
        if not _is_comment(before) and not _prints_itself(job.text, one):
            found.append((name, place.line))
        if len(found) > MOST_FOUND:
            break
    return found


class _Inside:
    """Characters within any of some places."""

    def __init__(self, places: list[TextPlace]) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        for one in sorted(places):
            if self._ends and one.start <= self._ends[-1]:
                self._ends[-1] = max(self._ends[-1], one.end)
            else:
                self._starts.append(one.start)
                self._ends.append(one.end)

    def __contains__(self, character: int) -> bool:
        index = bisect_right(self._starts, character) - 1
        return index >= 0 and character < self._ends[index]


def _is_comment(before: str) -> bool:
    """A `#` behind a quote may stand inside a text."""
    begins = re.match(r"\s*(?:#|//)", before) is not None
    return begins or re.search(r"\s#[^\"']*$", before) is not None


def _prints_itself(text: str, found: re.Match[str]) -> bool:
    """`NAME=$NAME` shows or hands on a value that is set elsewhere."""
    name = found["name"] or found["quoted"]
    behind = text[found.end() : found.end() + len(name) + 4]
    return re.match(rf"[\"']?\$\{{?{name}\b", behind) is not None
