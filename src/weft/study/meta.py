"""What a run remembers about itself: study, versions, seed, backend, host, environment."""

import hashlib
import os
import platform
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from weft import __version__
from weft.bench.model import Backend
from weft.core.clock import Clock, system_clock
from weft.core.errors import InputError

RECORDED_PREFIXES = (
    "CUDA_", "FI_", "GOMP_", "HCOLL_", "HYDRA_", "I_MPI_", "KMP_", "LSB_", "MPICH_", "MPIEXEC_",
    "MPIR_", "MV2_", "MVP_", "NCCL_", "OMPI_", "OMP_", "PALS_", "PBS_", "PMIX_", "PMI_", "PRTE_",
    "PSM2_", "PSM3_", "RCCL_", "SHARP_", "SLURM_", "UCC_", "UCX_", "WEFT_",
)  # fmt: skip
"""Variables that choose a transport, a library's algorithm or a placement. No other is kept."""

_SECRET = re.compile(
    r"KEY|TOKEN|SECRET|PASS|CREDENTIAL|AUTH|COOKIE|SESSION|JWT|SIGNATURE|PRIVATE", re.IGNORECASE
)
REDACTED = "<redacted>"


def run_meta(
    *,
    study_text: str,
    seed: int,
    backend: Backend,
    nodes: Sequence[str],
    argv: Sequence[str] = (),
    environ: Mapping[str, str] | None = None,
    clock: Clock = system_clock,
    remarks: Sequence[str] = (),
) -> dict[str, Any]:
    """The content of run.toml but its schema; secrets are redacted. Missing facts are left out."""
    return {
        "weft_version": __version__,
        "commit": commit_of(Path(__file__).parent),
        "started_unix_s": round(clock(), 3),
        "seed": seed,
        "argv": list(argv),
        "nodes": list(nodes),
        "remarks": list(remarks),
        "study_sha256": hashlib.sha256(study_text.encode()).hexdigest(),
        "study": study_text,
        "backend": {"name": backend.name, "facts": dict(backend.facts())},
        "host": host_facts(),
        "environment": recorded_environment(os.environ if environ is None else environ),
    }


def recorded_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables that steer a fabric, secrets redacted by name and by the look of the value."""
    return {
        name: REDACTED if _SECRET.search(name) or _looks_secret(environ[name]) else environ[name]
        for name in sorted(environ)
        if name.startswith(RECORDED_PREFIXES)
    }


def _looks_secret(value: str) -> bool:
    """A URL with a password in it, or a PEM block."""
    return bool(re.search(r"://[^/\s:@]*:[^/\s@]+@", value)) or "-----BEGIN" in value


def host_facts() -> dict[str, Any]:
    """Name, kernel, CPU and what this process may use of it."""
    return {
        "name": platform.node(),
        "system": f"{platform.system()} {platform.release()}",
        "machine": platform.machine(),
        "cpu": _cpu_model(),
        "cpus_allowed": len(os.sched_getaffinity(0)),
        "python": platform.python_version(),
    }


def _cpu_model() -> str | None:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return None
    models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else None


def commit_of(directory: Path) -> str | None:
    """The commit of the checkout weft runs from, with '+changes', or None when installed."""
    described = _git(directory, "describe", "--always", "--abbrev=12", "--dirty=+changes")
    tracked = _git(directory, "ls-files", "--error-unmatch", Path(__file__).name)
    return described if tracked else None


def _git(directory: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(directory), *arguments],  # noqa: S607 - the git the user has
            capture_output=True,
            text=True,
            timeout=5,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


_SAME_FACTS = ("platform_digest", "platform", "faults", "mpi")


def refuse_other_run(before: Mapping[str, Any], now: Mapping[str, Any], where: str) -> None:
    """Raise InputError where a run would be resumed with another study, backend, seed or nodes."""
    backends = [meta.get("backend", {}) for meta in (before, now)]
    facts = [backend.get("facts", {}) for backend in backends]
    checks = [
        ("study", before.get("study_sha256"), now.get("study_sha256")),
        ("seed", before.get("seed"), now.get("seed")),
        ("nodes", before.get("nodes"), now.get("nodes")),
        ("backend", backends[0].get("name"), backends[1].get("name")),
        *((key, facts[0].get(key), facts[1].get(key)) for key in _SAME_FACTS),
    ]
    for what, was, is_ in checks:
        if _plain(was) != _plain(is_):
            shown = "" if what == "study" else f": {was} then, {is_} now"
            raise InputError(
                f"this run was started with another {what}{shown}",
                where=where,
                expected="the study, seed, nodes and backend that the run was started with",
                hint="resume with the same ones, or start a new run with another --dir",
            )


def _plain(value: Any) -> Any:
    """Tuples and lists alike, as they come back from TOML."""
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value
