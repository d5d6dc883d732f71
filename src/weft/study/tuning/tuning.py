"""A study's algorithms as the files of a library: the choices, their gain, their regret."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from weft.core.errors import InputError
from weft.study.run.backend_record import backend_of
from weft.study.run.store import StudyRun
from weft.study.tuning.algorithm import MPICH, NCCL, OPENMPI, TunedLibrary
from weft.study.tuning.arms import algorithm_arms
from weft.study.tuning.choice import CellChoice, choices_of
from weft.study.tuning.held_out import HeldOutRegret, TooFewLaunches, held_out_regret
from weft.study.tuning.mpich_selection import mpich_selection, read_mpich_library
from weft.study.tuning.nccl_table import nccl_table
from weft.study.tuning.openmpi_rules import openmpi_rules
from weft.study.tuning.ranges import rank_ranges
from weft.study.tuning.tuning_files import TunedCollective, TuningFiles

USUAL_OPENMPI = 4
"""The main version of a run that does not tell one: its rules are read by 5, too."""
MPICH_LIBRARIES = ("lib*/libmpi.so.12", "lib*/libmpich.so.12", "lib/*/libmpich.so.12")
"""Under the prefix of an MPICH. SOURCE: the MPICH ABI Compatibility Initiative: libmpi.so.12;
Debian calls it libmpich.so.12, beside Open MPI's libmpi.so.40."""


@dataclass(frozen=True, slots=True)
class Tuning:
    """`files` is None where the library's own choice stays everywhere. `regrets` are by benchmark;
    `left_out` are arms that differ in more than the algorithm."""

    library: TunedLibrary
    collectives: tuple[TunedCollective, ...]
    choices: tuple[CellChoice, ...]
    regrets: dict[str, HeldOutRegret | TooFewLaunches]
    files: TuningFiles | None
    left_out: tuple[str, ...]
    is_simulated: bool

    @property
    def is_undecided(self) -> bool:
        """Whether no cell has a verdict."""
        return all(choice.undecided for choice in self.choices)


Writer = Callable[[StudyRun, Sequence[TunedCollective], Path | None], TuningFiles]


def tune(run: StudyRun, form: str, library_file: Path | None = None) -> Tuning:
    """The tuning of a run in a `form` of FORMS. `library_file` is MPICH's, where it is not the one
    that the run names. Raises InputError for a run without algorithms of this library as arms."""
    library, write = FORMS[form]
    found = algorithm_arms(run, library)
    choices = {arms.benchmark: choices_of(run, arms) for arms in found}
    collectives = [
        TunedCollective(arms, tuple(rank_ranges(choices[arms.benchmark]))) for arms in found
    ]
    is_changed = any(one.is_changed for one in collectives)
    return Tuning(
        library=library,
        collectives=tuple(collectives),
        choices=tuple(choice for one in choices.values() for choice in one),
        regrets={arms.benchmark: held_out_regret(run, arms) for arms in found},
        files=write(run, collectives, library_file) if is_changed else None,
        left_out=tuple(dict.fromkeys(arm for arms in found for arm in arms.left_out)),
        is_simulated=backend_of(run).is_twin,
    )


def _openmpi(run: StudyRun, tuned: Sequence[TunedCollective], _: Path | None) -> TuningFiles:
    version = re.search(r"\d+", str(backend_of(run).facts.get("mpi_version", "")))
    return openmpi_rules(tuned, int(version.group()) if version else USUAL_OPENMPI)


def _mpich(run: StudyRun, tuned: Sequence[TunedCollective], file: Path | None) -> TuningFiles:
    return mpich_selection(tuned, read_mpich_library(file or _mpich_of(run)))


def _nccl(_: StudyRun, tuned: Sequence[TunedCollective], __: Path | None) -> TuningFiles:
    return nccl_table(tuned)


def _mpich_of(run: StudyRun) -> Path:
    """The library beside the compiler wrapper that the run names."""
    mpicc = str(backend_of(run).facts.get("mpicc", ""))
    if mpicc:
        prefix = Path(mpicc).parent.parent
        for pattern in MPICH_LIBRARIES:
            found = sorted(prefix.glob(pattern))
            if found:
                return found[0]
    raise InputError(
        "the file replaces all of MPICH's selection, so its library has to be read, and the run "
        + (f"names none: nothing beside {mpicc}" if mpicc else "names none"),
        where=str(run.directory),
        expected="--library FILE: the libmpi.so.12 or libmpich.so.12 that jobs will load",
    )


FORMS: dict[str, tuple[TunedLibrary, Writer]] = {
    "ompi-rules": (OPENMPI, _openmpi),
    "mpich-json": (MPICH, _mpich),
    "nccl-tuner": (NCCL, _nccl),
}
"""By the name on the command line, the library and what writes its files."""
