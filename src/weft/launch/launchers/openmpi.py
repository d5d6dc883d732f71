"""Open MPI's mpirun/mpiexec (4.x and 5.x)."""

from weft.launch.launchers.interface import OPEN_MPI
from weft.launch.spec import LaunchCommand, LaunchSpec, MpiLauncher

NOT_SLURM = ("--mca", "plm", "^slurm", "--mca", "ras", "^slurm")
"""Inside a Slurm job mpirun would start ranks by srun, and only on nodes of the job."""


def command(spec: LaunchSpec) -> LaunchCommand:
    """`mpirun --host h:N | --hostfile F -n N --map-by slot --bind-to core|none -x NAME=VALUE`."""
    return LaunchCommand(
        argv=(
            str(spec.launcher),
            *(("--allow-run-as-root",) if spec.as_root else ()),
            *_where(spec),
            *("-n", str(spec.n_ranks)),
            # Open MPI 5 counts cores, whatever the number of slots says.
            *("--map-by", "slot:OVERSUBSCRIBE" if spec.oversubscribed else "slot"),
            *("--bind-to", "core" if spec.bound else "none"),
            *_forwarded(spec),
            *spec.program,
        ),
        env=_launcher_env(spec),
        hostfile_text=None
        if spec.on_this_machine
        else "".join(f"{host} slots={spec.tasks_per_node}\n" for host in spec.hosts),
    )


def _where(spec: LaunchSpec) -> tuple[str, ...]:
    if not spec.on_this_machine:
        return ("--hostfile", str(spec.hostfile), *_by_shell(spec), *_by_interface(spec))
    # Open MPI 4 refuses to start where it finds no ssh, even when it needs none.
    no_shell = ("--mca", "plm_rsh_agent", "/bin/false")
    return ("--host", f"localhost:{spec.n_ranks}", *NOT_SLURM, *no_shell)


def _by_shell(spec: LaunchSpec) -> tuple[str, ...]:
    if spec.remote_shell is None:
        return ()
    return (*NOT_SLURM, "--mca", "plm_rsh_agent", spec.remote_shell)


def _by_interface(spec: LaunchSpec) -> tuple[str, ...]:
    """The one for the launcher's own messages, and for ranks that talk over TCP."""
    if spec.interface is None:
        return ()
    ranks = () if OPEN_MPI in spec.env else ("--mca", "btl_tcp_if_include", spec.interface)
    return ("--mca", "oob_tcp_if_include", spec.interface, *ranks)


def _forwarded(spec: LaunchSpec) -> tuple[str, ...]:
    env = dict(spec.env)
    if spec.oversubscribed:
        env.setdefault("OMPI_MCA_mpi_yield_when_idle", "1")
    return tuple(word for name, value in env.items() for word in ("-x", f"{name}={value}"))


def _launcher_env(spec: LaunchSpec) -> dict[str, str]:
    env = {"OMPI_MCA_mpi_yield_when_idle": "1"} if spec.oversubscribed else {}
    if spec.as_root:
        env |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return env


LAUNCHER = MpiLauncher(
    command,
    "openmpi",
    "Open MPI",
    version_sign="open-mpi|OpenRTE|Open MPI",
    build_sign="open-?mpi",
    pmi="pmix",
)
