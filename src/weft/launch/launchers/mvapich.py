"""MVAPICH2's mpiexec: Hydra places the ranks, MVAPICH2 itself binds them."""

from weft.launch.launchers.hydra import hydra_command
from weft.launch.spec import LaunchCommand, LaunchSpec, MpiLauncher


def command(spec: LaunchSpec) -> LaunchCommand:
    """Hydra's command with binding by MV2_ENABLE_AFFINITY and MV2_CPU_BINDING_POLICY."""
    return hydra_command(spec, _affinity(spec) | dict(spec.env))


def _affinity(spec: LaunchSpec) -> dict[str, str]:
    if spec.bound:
        return {"MV2_ENABLE_AFFINITY": "1", "MV2_CPU_BINDING_POLICY": "bunch"}
    # MV2_USE_BLOCKING: ranks that share a core must not spin on it.
    blocking = {"MV2_USE_BLOCKING": "1"} if spec.oversubscribed else {}
    return {"MV2_ENABLE_AFFINITY": "0"} | blocking


LAUNCHER = MpiLauncher(
    command,
    "mvapich",
    "MVAPICH on Hydra",
    version_sign="(?i)mvapich",
    build_sign="mvapich",
    is_derived=True,
    pmi="pmi2",
)
