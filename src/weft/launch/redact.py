"""An environment that can be written into a run directory: secrets out, settings kept."""

from collections.abc import Mapping

from weft.launch.secret_name import names_secret
from weft.launch.secret_text import MASK, holds_secret

# Settings of MPIs, transports, schedulers and runtimes: what makes two runs differ.
KEPT_WHOLE = (
    *("MPI", "OMPI_", "OPAL_", "PMIX_", "PRTE_", "PMI_", "HYDRA_", "I_MPI_", "MV2_", "MVP_"),
    *("UCX_", "UCC_", "FI_", "NCCL_", "RCCL_", "SHARP_", "HCOLL_", "IBV_", "MLX", "RDMAV_"),
    *("SLURM_", "PBS_", "LSB_", "PALS_", "OMP_", "KMP_", "GOMP_", "CUDA_", "ROCR_", "HIP_"),
    *("WEFT_", "LC_", "LANG", "XDG_CACHE_HOME"),
)
KEPT_NAMES = frozenset({"PATH", "LD_LIBRARY_PATH", "LD_PRELOAD", "SHELL", "TERM", "TZ", "NO_COLOR"})


def redact_environment(env: Mapping[str, str]) -> dict[str, str]:
    """Every name, sorted; values whole only for known settings that hold no secret."""
    return {name: _shown(name, env[name]) for name in sorted(env)}


def _shown(name: str, value: str) -> str:
    kept = name.startswith(KEPT_WHOLE) or name in KEPT_NAMES
    return value if kept and not is_secret(name, value) else MASK


def is_secret(name: str, value: str) -> bool:
    """Whether the name speaks of a secret, or the value holds one."""
    return names_secret(name, value) or holds_secret(value)
