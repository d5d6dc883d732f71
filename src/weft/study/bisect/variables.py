"""The variables in which two environments differ, and the environments between the two."""

import fnmatch
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from weft.core.words import first_few
from weft.launch.redact import is_secret
from weft.launch.secret_text import MASK

NOT_SET = "not set"
LONGEST_LIST, LEAST_LIST, SHOWN_FOLDERS = 60, 3, 3
"""A longer value of so many folders at least is shown by the folders that differ."""
OF_THE_JOB = (
    *("SLURM_*", "SLURMD_*", "PMI_*", "PMIX_RANK", "PMIX_NAMESPACE", "PMIX_SERVER_*", "PBS_*"),
    *("LSB_*", "LS_*", "PALS_*", "FLUX_*", "JOB_ID", "OMPI_COMM_WORLD_*", "OMPI_UNIVERSE_SIZE"),
    *("MPI_LOCAL*", "HYDI_*", "HYDRA_*", "MV2_COMM_WORLD_*", "KUBERNETES_*"),
)
"""The identity of a job, its ranks and its nodes: another job has others. SOURCE: srun(1), OUTPUT
ENVIRONMENT VARIABLES; Open MPI 5.0 docs, section 11.2.13; PMIx 4.1 standard, section 3.4."""
OF_THE_SESSION = (
    *("_", "PWD", "OLDPWD", "SHLVL", "HOSTNAME", "HOST", "LINES", "COLUMNS", "PS1", "PS2"),
    *("SSH_*", "XDG_SESSION_*", "XDG_RUNTIME_DIR", "DBUS_*", "WINDOWID", "DISPLAY", "TMUX*", "STY"),
    *("LS_COLORS", "LESSOPEN", "LESSCLOSE", "BASH_FUNC_*", "TERM", "MAIL", "WEFT_*"),
)
"""Bookkeeping of a shell or a login session, and weft's own."""
NEEDED = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "LANG", "LD_LIBRARY_PATH")
"""Where only one environment sets them, the other has the value of weft's own environment: a file
of settings rarely repeats them, and without them a command does not start."""


@dataclass(frozen=True, slots=True)
class DifferingVariable:
    """A variable that differs; None where it is not set."""

    name: str
    good: str | None
    bad: str | None

    @property
    def change(self) -> str:
        """'NAME=value (good: other)', of a long list of folders what differs; secrets are
        masked."""
        if self.good and self.bad and max(len(self.good), len(self.bad)) > LONGEST_LIST:
            folders = _changed_folders(self.shown_good, self.shown_bad)
            if folders:
                return f"{self.name} {folders}"
        bad = f"{self.name} {NOT_SET}" if self.bad is None else f"{self.name}={self.shown_bad}"
        return f"{bad} (good: {self.shown_good})"

    @property
    def shown_good(self) -> str:
        """The value of GOOD, masked where it is a secret."""
        return _shown(self.name, self.good)

    @property
    def shown_bad(self) -> str:
        """The value of BAD, masked where it is a secret."""
        return _shown(self.name, self.bad)

    def to_record(self) -> dict[str, str | None]:
        """The variable as plain JSON values, secrets masked."""
        values = {"good": self.good, "bad": self.bad}
        return {"name": self.name, **{key: masked(self.name, one) for key, one in values.items()}}


@dataclass(frozen=True, slots=True)
class Differences:
    """The variables that differ, by name; those left out, with why; and those that both set alike,
    without secrets."""

    variables: tuple[DifferingVariable, ...]
    left_out: Mapping[str, str]
    alike: Mapping[str, str] = field(default_factory=dict)


def differences(
    good: Mapping[str, str],
    bad: Mapping[str, str],
    around: Mapping[str, str],
    ignored: Collection[str] = (),
) -> Differences:
    """What differs between two environments. `around` is weft's own environment; `ignored` are
    names or patterns that stay as they are in GOOD."""
    found, left_out, alike = [], {}, {}
    for name in sorted(good.keys() | bad.keys()):
        before, after = (
            side.get(name, around.get(name) if name in NEEDED else None) for side in (good, bad)
        )
        if before == after:
            if before is not None and not is_secret(name, before) and not _is_left(name):
                alike[name] = before
            continue
        why = _why_left_out(name, ignored)
        if why:
            left_out[name] = why
        else:
            found.append(DifferingVariable(name, before, after))
    return Differences(tuple(found), left_out, alike)


def environment_of(
    good: Mapping[str, str],
    bad: Mapping[str, str],
    around: Mapping[str, str],
    changed: Iterable[DifferingVariable],
) -> dict[str, str]:
    """The whole environment of a launch: GOOD with some of the differing variables as in BAD.

    A name that a file sets, and that this side lacks, is not set; all others are those of `around`.
    """
    named = good.keys() | bad.keys()
    kept = {n: v for n, v in around.items() if n not in named or n in NEEDED or _is_left(n)}
    values: dict[str, str | None] = {n: v for n, v in good.items() if not _is_left(n)}
    values |= {one.name: one.bad for one in changed}
    whole = {**kept, **values}
    return {name: value for name, value in whole.items() if value is not None}


def masked(name: str, value: str | None) -> str | None:
    """The value, masked where it is a secret."""
    return MASK if value is not None and is_secret(name, value) else value


def _shown(name: str, value: str | None) -> str:
    """On one line: a value may have several."""
    return NOT_SET if value is None else (masked(name, value) or "empty").replace("\n", "\\n")


def _changed_folders(good: str, bad: str) -> str:
    """'gains /a/bin, loses /b/bin', "" of values that are no lists."""
    before, after = good.split(":"), bad.split(":")
    if min(len(before), len(after)) < LEAST_LIST:
        return ""
    words = []
    for verb, these, those in (("gains", after, before), ("loses", before, after)):
        names = [one or "an empty entry" for one in dict.fromkeys(these) if one not in those]
        if names:
            words.append(f"{verb} {first_few(names[:SHOWN_FOLDERS], len(names))}")
    return ", ".join(words) or "has its folders in another order"


def _is_left(name: str) -> bool:
    return bool(_why_left_out(name, ()))


def _why_left_out(name: str, ignored: Collection[str]) -> str:
    for patterns, why in (
        (ignored, "--ignore"),
        (OF_THE_JOB, "names this job, not a setting"),
        (OF_THE_SESSION, "of the login session, not a setting"),
    ):
        if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns):
            return why
    return ""
