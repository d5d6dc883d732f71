"""Slurm's srun, inside an allocation."""

from weft.launch.launchers.hydra import oversubscribed_env
from weft.launch.launchers.interface import any_env
from weft.launch.spec import LaunchCommand, LaunchSpec


def command(spec: LaunchSpec) -> LaunchCommand:
    """`srun [--mpi=pmix|pmi2] --nodes --ntasks --ntasks-per-node --nodelist --cpu-bind=cores|none`.

    Variables travel in srun's own environment: --export=NAME=VALUE splits values at commas.
    """
    return LaunchCommand(
        argv=(
            str(spec.launcher),
            *(() if spec.pmi is None else (f"--mpi={spec.pmi}",)),
            f"--nodes={len(spec.hosts)}",
            f"--ntasks={spec.n_ranks}",
            f"--ntasks-per-node={spec.tasks_per_node}",
            f"--nodelist={','.join(spec.hosts)}",
            "--distribution=block",
            f"--cpu-bind={'cores' if spec.bound else 'none'}",
            *(("--overcommit",) if spec.oversubscribed else ()),
            "--kill-on-bad-exit=1",
            "--export=ALL",
            *spec.options,
            *spec.program,
        ),
        env=_yielding(spec)
        | dict(spec.env)
        | oversubscribed_env(spec)
        | any_env(spec)
        | _nodes_of_step(spec),
    )


def _yielding(spec: LaunchSpec) -> dict[str, str]:
    """Open MPI's word for it; no other MPI reads it."""
    return {"OMPI_MCA_mpi_yield_when_idle": "1"} if spec.oversubscribed else {}


def _nodes_of_step(spec: LaunchSpec) -> dict[str, str]:
    """The nodes of the step, where Slurm's PMIx plugin looks for those of the job: ranks that are
    not on the job's first nodes do not meet otherwise, and MPI_Init hangs.

    SOURCE: SchedMD/slurm, src/plugins/mpi/pmix/pmixp_info.c (the list of nodes) and pmixp_common.h
    (PMIXP_JOB_NODES_ENV). Seen of Slurm 22.05.8 with Open MPI 4.1.4.
    """
    is_pmix = spec.pmi is not None and spec.pmi.startswith("pmix")
    return {"SLURM_JOB_NODELIST": ",".join(spec.hosts)} if is_pmix else {}
