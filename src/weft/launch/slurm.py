"""srun in place of an MPI's own launcher, and the plugin by which its ranks find each other."""

import os
import re
import shutil
from dataclasses import replace
from pathlib import Path

from weft.core.errors import MissingError
from weft.launch.launchers import MPI_LAUNCHERS
from weft.launch.mpi import Mpi, probed

LONG_LINES_FROM = 5
"""The MPICH whose ranks may put more on a line of PMI-1 than Slurm reads.

SOURCE: seen of MPICH 5.0.2, up to 1,077 bytes, with strace; pmi2 of Slurm 22.05 reads 1,024, and
MPICH 4.0.2 keeps to them.
"""

_LISTED = re.compile(r"(?:srun:\s*)?([a-z][a-z0-9_]*)")
_VERSIONS = "specific pmix plugin versions available:"
_NUMBERED = re.compile(r"pmix_v(\d+)")


def through_srun(mpi: Mpi) -> Mpi:
    """The same MPI, its ranks started by srun.

    With SLURM_MPI_TYPE set, srun takes its plugin from there, and from the cluster's configuration
    for an unknown MPI. Raises MissingError where srun is absent, or has no plugin that the
    MPI's ranks speak.
    """
    srun = shutil.which("srun")
    if srun is None:
        raise MissingError(
            "no 'srun' on PATH",
            expected="Slurm's launcher: this runs inside a Slurm job",
            hint="--launcher mpiexec starts ranks by the MPI's own launcher",
        )
    pmi = None
    if mpi.implementation in MPI_LAUNCHERS and not os.environ.get("SLURM_MPI_TYPE"):
        pmi = choose_plugin(mpi.implementation, plugins(_listed(srun)))
    return replace(mpi, launcher=Path(srun), launcher_kind="srun", pmi=pmi)


def is_better_alone(mpi: Mpi) -> bool:
    """Whether an MPI's own launcher is the safe one inside a job: Hydra, which starts one process
    a node by srun and speaks to the ranks itself."""
    number = re.match(r"MPICH (\d+)\.", mpi.version)
    return mpi.launcher_kind == "hydra" and number is not None and int(number[1]) >= LONG_LINES_FROM


def choose_plugin(implementation: str, offered: tuple[str, ...]) -> str:
    """The plugin for an MPI: `pmix`, its newest version where only those are listed, or `pmi2`.

    Raises MissingError, naming what the MPI speaks and what srun offers.
    """
    launcher = MPI_LAUNCHERS[implementation]
    wanted = launcher.pmi
    if wanted in offered:
        return wanted
    numbered = [(int(m[1]), name) for name in offered if (m := _NUMBERED.fullmatch(name))]
    if wanted == "pmix" and numbered:
        return max(numbered)[1]
    raise MissingError(
        f"{launcher.product} wants srun's MPI plugin '{wanted}', "
        f"and srun has none of that name: it offers {', '.join(offered) or 'none'}",
        where="srun --mpi=list",
        expected=f"a Slurm with its {wanted} plugin, or an MPI that speaks one of those",
        hint="--launcher mpiexec starts ranks by the MPI's own launcher; "
        "SLURM_MPI_TYPE=NAME makes srun use a plugin all the same",
    )


def plugins(text: str) -> tuple[str, ...]:
    """The names that `srun --mpi=list` prints: one a line, old versions behind 'srun:'."""
    names: dict[str, None] = {}
    for line in map(str.strip, text.splitlines()):
        listed = _LISTED.fullmatch(line)
        if listed is not None:
            names[listed[1]] = None
        elif line.startswith(_VERSIONS):
            more = line.removeprefix(_VERSIONS).split(",")
            names |= dict.fromkeys(word.strip() for word in more if word.strip())
    return tuple(names)


def _listed(srun: str) -> str:
    """Old versions print the list on standard error. Raises MissingError."""
    ran = probed(
        [srun, "--mpi=list"],
        expected="the list of its MPI plugins",
        hint="--launcher mpiexec starts ranks by the MPI's own launcher",
    )
    return f"{ran.out}\n{ran.err}"
