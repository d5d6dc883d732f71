"""MVAPICH2's mpiexec: Hydra places the ranks, MVAPICH2 itself binds them."""

from weft.launch.launchers.hydra import genv, hostfile_text, where
from weft.launch.launchers.interface import ofi_env
from weft.launch.spec import LaunchCommand, LaunchSpec


def command(spec: LaunchSpec) -> LaunchCommand:
    """Hydra's command with binding by MV2_ENABLE_AFFINITY and MV2_CPU_BINDING_POLICY."""
    per_host = spec.n_ranks if spec.on_this_machine else spec.tasks_per_node
    return LaunchCommand(
        argv=(
            str(spec.launcher),
            *where(spec),
            *("-ppn", str(per_host), "-n", str(spec.n_ranks)),
            *genv(_affinity(spec) | dict(spec.env) | ofi_env(spec)),
            *spec.program,
        ),
        hostfile_text=hostfile_text(spec),
    )


def _affinity(spec: LaunchSpec) -> dict[str, str]:
    if spec.bound:
        return {"MV2_ENABLE_AFFINITY": "1", "MV2_CPU_BINDING_POLICY": "bunch"}
    # MV2_USE_BLOCKING: ranks that share a core must not spin on it.
    blocking = {"MV2_USE_BLOCKING": "1"} if spec.oversubscribed else {}
    return {"MV2_ENABLE_AFFINITY": "0"} | blocking
