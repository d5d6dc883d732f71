"""One module and one entry for each launcher: a LaunchSpec in, the command line out."""

from weft.launch.launchers import hydra, intel, mvapich, openmpi, srun
from weft.launch.spec import MpiLauncher

LAUNCHERS: dict[str, MpiLauncher] = {
    "intel": intel.LAUNCHER,
    "mvapich": mvapich.LAUNCHER,
    "hydra": hydra.LAUNCHER,
    "openmpi": openmpi.LAUNCHER,
    "srun": MpiLauncher(srun.command),
}
"""Launchers by name. An MPI is recognised as the first one of this order whose sign fits."""
UNKNOWN_MPI = "unknown"
MPI_LAUNCHERS = {one.implementation: one for one in LAUNCHERS.values() if one.implementation}
LAUNCHER_NAMES = {one.implementation: name for name, one in LAUNCHERS.items()}
"""The launcher's name by the MPI's."""
