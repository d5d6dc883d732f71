"""A job as a file describes it: variables with their places, and launches."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from weft.doctor.numbers import whole

HOLE = "\0"
"""Stands in a value for a part that is not known before the job runs."""


CONTAINER_PREFIXES = ("APPTAINERENV_", "SINGULARITYENV_")
"""In front of a name, they put it into a container, also into a clean environment. SOURCE:
Apptainer user guide, Environment and Metadata."""


class SettingOrigin(StrEnum):
    """The path of a variable's value to the program."""

    EXPORT = "exported"
    ASSIGNED = "assigned"
    """In a shell, but not exported: programs do not see it."""
    WRITTEN = "written to a file"
    """By the script: a heredoc, or echo into a file."""
    BEFORE = "before a command"
    LAUNCHER = "launcher's option"
    MCA = "--mca"
    CONF = "configuration file"
    DOCUMENT = "document"
    PREFIXED = "put into the container by its name's prefix"
    LIVE = "environment"


class JobKind(StrEnum):
    """The kind of a file."""

    SCRIPT = "script"
    CONF = "nccl.conf"
    EDF = "EDF"
    KUBERNETES = "Kubernetes"
    MODULEFILE = "modulefile"
    DOCKERFILE = "Dockerfile"
    MARKDOWN = "Markdown"
    OTHER = "program or text"
    """Of no language that weft reads settings in."""
    LIVE = "environment"


@dataclass(frozen=True, slots=True, order=True)
class TextPlace:
    """The place of a part of the text: characters from `start` to before `end` of the text.

    `line` and `column` count from 1. `exact` is false where the text was put together (a shell
    variable that holds several words), so that nothing there can be replaced.
    """

    start: int
    end: int
    line: int
    column: int
    exact: bool = True


NOWHERE = TextPlace(0, 0, 1, 1)
"""The beginning, for parts without a place of their own."""


@dataclass(frozen=True, slots=True)
class JobSetting:
    """One variable that is set.

    `value` has HOLEs where parts are not known; None passes on the value of the environment. `at`
    is the whole of it, `value_at` its value as written, with quotes. `launch` is the index of the
    launch whose command line holds it, None where it holds for all that follow. `is_optional`: it
    stands in a branch, or is a default that the user may replace. `order` counts settings and
    launches as the shell meets them.
    """

    name: str
    value: str | None
    origin: SettingOrigin
    at: TextPlace
    value_at: TextPlace | None = None
    launch: int | None = None
    is_optional: bool = False
    order: int = 0

    @property
    def known(self) -> str | None:
        """The value where all of it is known."""
        return self.value if self.value is not None and HOLE not in self.value else None


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a command line, as the shell gives it to the program."""

    text: str
    at: TextPlace
    value_at: TextPlace | None = None
    """Of a word NAME=VALUE: where the value stands."""


def number_of(options: Mapping[str, Word], name: str) -> int | None:
    """The number that an option is, None where it is none."""
    return whole(options[name].text) if name in options else None


@dataclass(frozen=True, slots=True)
class Container:
    """The container of a launch. `passes` is None where the option is not used."""

    image: str
    mounts: tuple[Word, ...] = ()
    passes: tuple[str, ...] | None = None
    passes_at: TextPlace | None = None
    not_names: tuple[Word, ...] = ()
    """NAME=VALUE where Pyxis takes names only."""
    devices: tuple[Word, ...] = ()
    """Values of --device."""
    image_at: TextPlace | None = None


@dataclass(frozen=True, slots=True)
class JobLaunch:
    """One command that starts ranks.

    `passes` are variables that it hands on by name; `hands_on_all` whether the whole environment
    goes along; `inside` the index of the launch that starts this one
    (`srun apptainer exec ...`). `doubts` are options of which weft cannot tell what they take.
    """

    launcher: str
    at: TextPlace
    options: Mapping[str, Word] = field(default_factory=dict)
    passes: tuple[str, ...] = ()
    hands_on_all: bool = True
    container: Container | None = None
    program: tuple[Word, ...] = ()
    inside: int | None = None
    order: int = 0
    doubts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Job:
    """A file's settings and launches. `unread` are places that no reader understood."""

    name: str
    text: str
    kind: JobKind
    settings: tuple[JobSetting, ...] = ()
    launches: tuple[JobLaunch, ...] = ()
    options: Mapping[str, Word] = field(default_factory=dict)
    """Of the scheduler (#SBATCH), by name without dashes."""
    modules: tuple[Word, ...] = ()
    unread: tuple[TextPlace, ...] = ()
    unset: frozenset[str] = frozenset()
    """Names that a script takes back somewhere."""
    local: tuple[TextPlace, ...] = ()
    """Assignments that the script itself uses by name, and output of `echo`: no settings."""
    broken: tuple[JobSetting, ...] = ()
    """`NAME = VALUE`, which a shell takes for a command."""
    layer: tuple[JobSetting, ...] = ()
    """`RUN export NAME=VALUE` of a Dockerfile, which ends with its layer."""
    sourced: tuple[str, ...] = ()
    """Other files that a script reads."""
    unseen: tuple[str, ...] = ()
    """Commands whose variables only the running job knows, in words."""
    node_counts: tuple[int, ...] = ()
    """Nodes that programs are asked for: torchrun --nnodes 2."""
    parts: tuple["Job", ...] = ()
    """The same text with the other branches taken, and scripts within it, each a job of its own."""

    @property
    def n_nodes(self) -> int | None:
        """Nodes that the job or its first launch asks for, where a number says it; else the most
        that a program is asked for."""
        return next(self.numbers("nodes"), max(self.node_counts, default=None))

    @property
    def all_settings(self) -> tuple[JobSetting, ...]:
        """The settings of all parts, each place, name and value once."""
        every = [*self.settings, *(one for part in self.parts for one in part.settings)]
        return tuple({(one.at, one.name, one.value): one for one in every}.values())

    def numbers(self, name: str) -> Iterator[int]:
        """The numbers that an option has, of the scheduler first, then of launches."""
        for options in (self.options, *(one.options for one in self.launches)):
            number = number_of(options, name)
            if number is not None:
                yield number


class SourceLines:
    """Lines and columns of a text's characters."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._starts = [0, *(one.end() for one in re.finditer("\n", text))]

    def place(self, start: int, end: int, *, exact: bool = True) -> TextPlace:
        """The place of characters start to before end."""
        line = bisect_right(self._starts, start)
        return TextPlace(start, end, line, start - self._starts[line - 1] + 1, exact)

    def each(self) -> Iterator[tuple[str, TextPlace]]:
        """Each line without its end, and its place."""
        for start, line in zip(self._starts, self._text.split("\n"), strict=True):
            yield line, self.place(start, start + len(line))
