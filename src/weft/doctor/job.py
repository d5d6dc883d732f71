"""What a file says about a job: variables with their places, and what is launched with them."""

import re
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from weft.doctor.numbers import whole

HOLE = "\0"
"""Stands in a value for a part that is not known before the job runs."""


class SettingOrigin(StrEnum):
    """How a variable gets its value, or gets to the program."""

    EXPORT = "exported"
    ASSIGNED = "assigned"
    """In a shell, but not exported: programs do not see it."""
    BEFORE = "before a command"
    LAUNCHER = "launcher's option"
    MCA = "--mca"
    CONTAINER = "container's option"
    CONF = "configuration file"
    DOCUMENT = "document"
    LIVE = "environment"


class JobKind(StrEnum):
    """What kind of file it is."""

    SCRIPT = "script"
    CONF = "nccl.conf"
    EDF = "EDF"
    KUBERNETES = "Kubernetes"
    MODULEFILE = "modulefile"
    LIVE = "environment"


@dataclass(frozen=True, slots=True, order=True)
class TextPlace:
    """Where something stands: characters from `start` to before `end` of the text.

    `line` and `column` count from 1. `exact` is false where the text was put together (a shell
    variable that holds several words), so that nothing there can be replaced.
    """

    start: int
    end: int
    line: int
    column: int
    exact: bool = True


@dataclass(frozen=True, slots=True)
class JobSetting:
    """One variable that is set.

    `value` has HOLEs where parts are not known; None passes on what the environment has. `at` is
    the whole of it, `value_at` its value as written, with quotes. `launch` is the index of the
    launch whose command line holds it, None where it holds for all that follow.
    """

    name: str
    value: str | None
    origin: SettingOrigin
    at: TextPlace
    value_at: TextPlace | None = None
    launch: int | None = None

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


@dataclass(frozen=True, slots=True)
class Container:
    """What a launch puts its ranks into. `passes` is None where the option is not used."""

    image: str
    mounts: tuple[Word, ...] = ()
    passes: tuple[str, ...] | None = None
    passes_at: TextPlace | None = None
    edf: str = ""


@dataclass(frozen=True, slots=True)
class JobLaunch:
    """One command that starts ranks.

    `passes` are variables that it hands on by name; `hands_on_all` whether the environment goes
    along without being asked; `inside` the index of the launch that starts this one
    (`srun apptainer exec ...`).
    """

    launcher: str
    at: TextPlace
    options: Mapping[str, Word] = field(default_factory=dict)
    passes: tuple[str, ...] = ()
    hands_on_all: bool = True
    container: Container | None = None
    program: tuple[Word, ...] = ()
    inside: int | None = None

    def number(self, *names: str) -> int | None:
        """The first of these options that is a number."""
        for name in names:
            word = self.options.get(name)
            number = whole(word.text) if word is not None else None
            if number is not None:
                return number
        return None


@dataclass(frozen=True, slots=True)
class Job:
    """All that one file says. `unread` are places that no reader understood."""

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

    @property
    def n_nodes(self) -> int | None:
        """Nodes that the job or its first launch asks for, where a number says it."""
        for word in (
            self.options.get("nodes"),
            *(one.options.get("nodes") for one in self.launches),
        ):
            number = whole(word.text) if word is not None else None
            if number is not None:
                return number
        return None


class SourceLines:
    """Lines and columns of a text's characters."""

    def __init__(self, text: str) -> None:
        self._starts = [0, *(one.end() for one in re.finditer("\n", text))]

    def place(self, start: int, end: int, *, exact: bool = True) -> TextPlace:
        """The place of characters start to before end."""
        line = bisect_right(self._starts, start)
        return TextPlace(start, end, line, start - self._starts[line - 1] + 1, exact)
