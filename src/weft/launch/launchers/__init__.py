"""One file a launcher: a LaunchSpec in, the command line out. Nothing runs here."""

from collections.abc import Callable

from weft.launch.launchers import hydra, intel, mvapich, openmpi, srun
from weft.launch.spec import LaunchCommand, LaunchSpec

LAUNCHERS: dict[str, Callable[[LaunchSpec], LaunchCommand]] = {
    "openmpi": openmpi.command,
    "hydra": hydra.command,
    "intel": intel.command,
    "mvapich": mvapich.command,
    "srun": srun.command,
}
