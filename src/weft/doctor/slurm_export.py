"""The list of variables that holds for a launch by Slurm: --export of its own, or an inherited one.

SOURCE: srun(1), sbatch(1): --export, SLURM_EXPORT_ENV; Slurm 22.05.8 tried.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Self

from weft.doctor.job import HOLE, Job, SettingOrigin, TextPlace, Word
from weft.launch.command_words import SLURM

EXPORT_ENV = "SLURM_EXPORT_ENV"
_WORDS = ("ALL", "NONE", "NIL", "")


@dataclass(frozen=True, slots=True)
class SlurmExport:
    """A list. `text` is a HOLE where only the running job knows it; `what` it is, in words."""

    text: str
    at: TextPlace
    what: str

    @classmethod
    def of_option(cls, options: Mapping[str, Word]) -> Self | None:
        """That of an option. What it sets for a job, the script has, too."""
        found = options.get("export")
        return None if found is None else cls(found.text, found.at, f"--export={found.text}")

    @property
    def _parts(self) -> list[str]:
        return self.text.split(",")

    @property
    def hands_on_all(self) -> bool:
        """Whether all variables go along. SOURCE: SchedMD/slurm, src/common/env.c,
        env_merge_filter: ALL in capitals or small letters."""
        return "ALL" in self.text.upper().split(",")

    @property
    def names(self) -> frozenset[str]:
        """The variables that it names."""
        names = (one.partition("=")[0] for one in self._parts)
        return frozenset(one for one in names if one.upper() not in _WORDS)

    @property
    def is_known(self) -> bool:
        """Whether all names are known."""
        return not any(HOLE in one for one in self.names)

    @property
    def is_closed(self) -> bool:
        """Whether it hands on chosen variables only."""
        return self.is_known and not self.hands_on_all

    @property
    def values(self) -> Iterator[tuple[str, str]]:
        """(name, value) of each that it sets; of a list with ALL the environment's value wins."""
        for one in self._parts:
            name, equals, value = one.partition("=")
            if equals and HOLE not in name:
                yield name, value


def export_of(job: Job, index: int) -> SlurmExport | None:
    """The list of a launch, None where nothing holds all variables back."""
    launch = job.launches[index]
    own = SlurmExport.of_option(launch.options) if launch.launcher in SLURM else None
    if own is not None or launch.launcher != "srun":
        return own
    asked = SlurmExport.of_option(job.options)
    exported = {SettingOrigin.EXPORT, SettingOrigin.BEFORE}
    # Of a job with --export the variable is there: to assign it is enough.
    exported |= {SettingOrigin.ASSIGNED} if asked is not None else set()
    for one in reversed(job.settings):
        holds = one.launch == index if one.launch is not None else one.order < launch.order
        if one.name == EXPORT_ENV and holds and one.origin in exported:
            value = HOLE if one.is_optional or one.value is None else one.value
            return SlurmExport(value, one.at, f"{EXPORT_ENV}={value}")
    return None if EXPORT_ENV in job.unset else asked
