"""MPICH's mpiexec (Hydra), and the words that other launchers have from it."""

from weft.launch.launchers.interface import ofi_env
from weft.launch.spec import LaunchCommand, LaunchSpec, MpiLauncher


def command(spec: LaunchSpec) -> LaunchCommand:
    """`mpiexec [-launcher fork -hosts H | [-launcher ssh -launcher-exec S] [-iface I] -f F] -ppn N
    -n N -bind-to core|none -genv A B`."""
    return hydra_command(
        spec,
        dict(spec.env) | oversubscribed_env(spec),
        first=("-print-all-exitcodes",),  # else the rank of an exit code is unknown
        binding=("-bind-to", "core" if spec.bound else "none"),
    )


def hydra_command(
    spec: LaunchSpec,
    env: dict[str, str],
    *,
    option: str = "-launcher",
    first: tuple[str, ...] = (),
    binding: tuple[str, ...] = (),
) -> LaunchCommand:
    """Hydra's words with the variables `env` for all ranks. `option` names what starts processes.

    One host and fork where all ranks are here: no remote shell, no name look-up. Elsewhere Hydra
    chooses its own launcher: the scheduler's inside a job, ssh outside.
    """
    here, shell, interface = spec.on_this_machine, spec.remote_shell, spec.interface
    where: tuple[str, ...] = (option, "fork", "-hosts", spec.hosts[0])
    if not here:
        where = (
            *(() if shell is None else (option, "ssh", f"{option}-exec", shell)),
            *(() if interface is None else ("-iface", interface)),
            *("-f", str(spec.hostfile)),
        )
    variables = env | ofi_env(spec)
    return LaunchCommand(
        argv=(
            *(str(spec.launcher), *first, *spec.options, *where),
            *("-ppn", str(spec.n_ranks if here else spec.tasks_per_node)),
            *("-n", str(spec.n_ranks), *binding),
            *(word for name, value in variables.items() for word in ("-genv", name, value)),
            *spec.program,
        ),
        hostfile_text=None if here else "".join(f"{host}\n" for host in spec.hosts),
    )


def oversubscribed_env(spec: LaunchSpec) -> dict[str, str]:
    """The variables by which waiting ranks give up their core.

    MPICH's shared-memory collectives spin without yielding: with 4 ranks on 2 cores a barrier of
    MPICH 5.0 costs whole scheduler ticks (7.7 ms). Built from point-to-point messages, whose
    progress loop yields, it costs 30 us.
    """
    if not spec.oversubscribed or "MPIR_CVAR_DEVICE_COLLECTIVES" in spec.env:
        return {}
    return {"MPIR_CVAR_DEVICE_COLLECTIVES": "none"}


LAUNCHER = MpiLauncher(command, "mpich", "MPICH", "HYDRA", "mpich", pmi="pmi2")
