"""MPICH's mpiexec (Hydra)."""

from weft.launch.launchers.interface import ofi_env
from weft.launch.spec import LaunchCommand, LaunchSpec


def command(spec: LaunchSpec) -> LaunchCommand:
    """`mpiexec [-launcher fork -hosts H | [-launcher ssh -launcher-exec S] [-iface I] -f F] -ppn N
    -n N -bind-to core|none -genv A B`."""
    return LaunchCommand(
        argv=(
            str(spec.launcher),
            "-print-all-exitcodes",  # else the rank of an exit code is unknown
            *where(spec),
            *("-ppn", str(_per_host(spec)), "-n", str(spec.n_ranks)),
            *("-bind-to", "core" if spec.bound else "none"),
            *genv(dict(spec.env) | oversubscribed_env(spec) | ofi_env(spec)),
            *spec.program,
        ),
        hostfile_text=hostfile_text(spec),
    )


def where(spec: LaunchSpec) -> tuple[str, ...]:
    """One host and fork where all ranks are here: no remote shell, no name look-up.

    Elsewhere Hydra chooses its own launcher: the scheduler's inside a job, ssh outside.
    """
    if spec.on_this_machine:
        return ("-launcher", "fork", "-hosts", spec.hosts[0])
    shell, interface = spec.remote_shell, spec.interface
    return (
        *(() if shell is None else ("-launcher", "ssh", "-launcher-exec", shell)),
        *(() if interface is None else ("-iface", interface)),
        *("-f", str(spec.hostfile)),
    )


def hostfile_text(spec: LaunchSpec) -> str | None:
    """One host a line; no file for a launch on this machine."""
    return None if spec.on_this_machine else "".join(f"{host}\n" for host in spec.hosts)


def genv(env: dict[str, str]) -> tuple[str, ...]:
    """`-genv NAME VALUE` for each variable, in order."""
    return tuple(word for name, value in env.items() for word in ("-genv", name, value))


def oversubscribed_env(spec: LaunchSpec) -> dict[str, str]:
    """What makes waiting ranks give up their core.

    MPICH's shared-memory collectives spin without yielding: with 4 ranks on 2 cores a barrier of
    MPICH 5.0 costs whole scheduler ticks (7.7 ms). Built from point-to-point messages, whose
    progress loop yields, it costs 30 us.
    """
    if not spec.oversubscribed or "MPIR_CVAR_DEVICE_COLLECTIVES" in spec.env:
        return {}
    return {"MPIR_CVAR_DEVICE_COLLECTIVES": "none"}


def _per_host(spec: LaunchSpec) -> int:
    return spec.n_ranks if spec.on_this_machine else spec.tasks_per_node
