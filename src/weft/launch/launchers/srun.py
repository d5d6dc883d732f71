"""Slurm's srun, inside an allocation."""

from weft.launch.launchers.hydra import oversubscribed_env
from weft.launch.spec import Command, LaunchSpec


def command(spec: LaunchSpec) -> Command:
    """`srun --nodes --ntasks --ntasks-per-node --nodelist --cpu-bind=cores|none`.

    Variables travel in srun's own environment: --export=NAME=VALUE splits values at commas.
    """
    return Command(
        argv=(
            str(spec.launcher),
            f"--nodes={len(spec.hosts)}",
            f"--ntasks={spec.n_ranks}",
            f"--ntasks-per-node={spec.tasks_per_node}",
            f"--nodelist={','.join(spec.hosts)}",
            "--distribution=block",
            f"--cpu-bind={'cores' if spec.bound else 'none'}",
            *(("--overcommit",) if spec.oversubscribed else ()),
            "--kill-on-bad-exit=1",
            "--export=ALL",
            *spec.program,
        ),
        env=dict(spec.env) | oversubscribed_env(spec),
    )
