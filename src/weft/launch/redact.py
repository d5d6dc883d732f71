"""An environment that can be written into a run directory: secrets out, settings kept."""

import re
from collections.abc import Mapping

MASK = "[redacted]"

# Settings of MPIs, transports, schedulers and runtimes: what makes two runs differ.
KEPT_WHOLE = (
    *("MPI", "OMPI_", "OPAL_", "PMIX_", "PRTE_", "PMI_", "HYDRA_", "I_MPI_", "MV2_", "MVP_"),
    *("UCX_", "UCC_", "FI_", "NCCL_", "RCCL_", "SHARP_", "HCOLL_", "IBV_", "MLX", "RDMAV_"),
    *("SLURM_", "PBS_", "LSB_", "PALS_", "OMP_", "KMP_", "GOMP_", "CUDA_", "ROCR_", "HIP_"),
    *("WEFT_", "LC_", "LANG", "XDG_CACHE_HOME"),
)
KEPT_NAMES = frozenset({"PATH", "LD_LIBRARY_PATH", "LD_PRELOAD", "SHELL", "TERM", "TZ", "NO_COLOR"})

_SECRET_WORDS = frozenset(
    {
        *("TOKEN", "SECRET", "SECRETS", "PASSWORD", "PASSWD", "PASS", "PASSPHRASE", "PWD"),
        *("KEY", "KEYS", "APIKEY", "CREDENTIAL", "CREDENTIALS", "CREDS", "AUTH", "COOKIE"),
        *("CERT", "CERTIFICATE", "PRIVATE", "SIGNATURE", "SAS", "JWT", "BEARER", "SESSION"),
    }
)
_SECRET_PARTS = ("TOKEN", "SECRET", "PASSWORD", "PASSWD", "APIKEY", "CREDENTIAL", "PRIVKEY")
_SECRET_VALUES = re.compile(
    r"://[^/\s@]*:[^/\s@]*@"  # user:password in an address
    r"|-----BEGIN [A-Z ]*(?:KEY|CERTIFICATE)"
    r"|\beyJ[\w-]{8,}\.[\w-]{8,}"  # a JSON web token
    r"|\bAKIA[0-9A-Z]{12,}"
    r"|\b(?:gh[pousr]|glpat|sk|xox[abp])[-_][\w-]{16,}"
    r"|[?&](?:sig|token|key|password|secret)=[^&\s]+",
    re.IGNORECASE,
)
_OPAQUE = re.compile(r"^(?!/)(?=.*[0-9])(?=.*[A-Za-z])[A-Za-z0-9+/_=-]{32,}$")


def redact_environment(env: Mapping[str, str]) -> dict[str, str]:
    """Every name, sorted; values whole only for known settings that hold no secret."""
    return {name: _shown(name, env[name]) for name in sorted(env)}


def _shown(name: str, value: str) -> str:
    if is_secret(name, value):
        return MASK
    kept = name.startswith(KEPT_WHOLE) or name in KEPT_NAMES
    return value if kept else MASK


def is_secret(name: str, value: str) -> bool:
    """Whether the name speaks of a secret, or the value looks like one."""
    upper = name.upper()
    if any(part in upper for part in _SECRET_PARTS):
        return True
    if any(word in _SECRET_WORDS for word in re.split(r"[^A-Z0-9]+", upper)):
        return True
    return bool(_SECRET_VALUES.search(value)) or bool(_OPAQUE.match(value))
