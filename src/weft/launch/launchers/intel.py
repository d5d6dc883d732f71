"""Intel MPI's mpiexec.hydra: Hydra's words, but pinning by variable."""

from weft.launch.launchers.hydra import hydra_command
from weft.launch.spec import LaunchCommand, LaunchSpec, MpiLauncher


def command(spec: LaunchSpec) -> LaunchCommand:
    """`mpiexec [-bootstrap fork -hosts H | [-bootstrap ssh -bootstrap-exec S] [-iface I] -f F]
    -ppn N -n N -genv I_MPI_PIN 0|1 ...`."""
    return hydra_command(spec, _pinning(spec) | dict(spec.env), option="-bootstrap")


def _pinning(spec: LaunchSpec) -> dict[str, str]:
    if spec.bound:
        return {"I_MPI_PIN": "1", "I_MPI_PIN_DOMAIN": "core"}
    # I_MPI_WAIT_MODE: ranks that share a core must not spin on it.
    return {"I_MPI_PIN": "0"} | ({"I_MPI_WAIT_MODE": "1"} if spec.oversubscribed else {})


LAUNCHER = MpiLauncher(command, "intel", "Intel MPI", r"Intel\(R\) MPI", pmi="pmi2")
