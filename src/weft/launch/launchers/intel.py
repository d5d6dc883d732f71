"""Intel MPI's mpiexec.hydra: Hydra's words, but pinning by variable."""

from weft.launch.launchers.hydra import genv, hostfile_text
from weft.launch.launchers.interface import ofi_env
from weft.launch.spec import LaunchCommand, LaunchSpec


def command(spec: LaunchSpec) -> LaunchCommand:
    """`mpiexec [-bootstrap fork -hosts H | [-bootstrap ssh -bootstrap-exec S] [-iface I] -f F]
    -ppn N -n N -genv I_MPI_PIN 0|1 ...`."""
    here = spec.on_this_machine
    return LaunchCommand(
        argv=(
            str(spec.launcher),
            *_where(spec),
            *("-ppn", str(spec.n_ranks if here else spec.tasks_per_node)),
            *("-n", str(spec.n_ranks)),
            *genv(_pinning(spec) | dict(spec.env) | ofi_env(spec)),
            *spec.program,
        ),
        hostfile_text=hostfile_text(spec),
    )


def _where(spec: LaunchSpec) -> tuple[str, ...]:
    if spec.on_this_machine:
        return ("-bootstrap", "fork", "-hosts", spec.hosts[0])
    shell, interface = spec.remote_shell, spec.interface
    return (
        *(() if shell is None else ("-bootstrap", "ssh", "-bootstrap-exec", shell)),
        *(() if interface is None else ("-iface", interface)),
        *("-f", str(spec.hostfile)),
    )


def _pinning(spec: LaunchSpec) -> dict[str, str]:
    if spec.bound:
        return {"I_MPI_PIN": "1", "I_MPI_PIN_DOMAIN": "core"}
    # I_MPI_WAIT_MODE: ranks that share a core must not spin on it.
    return {"I_MPI_PIN": "0"} | ({"I_MPI_WAIT_MODE": "1"} if spec.oversubscribed else {})
