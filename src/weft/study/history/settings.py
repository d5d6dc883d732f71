"""The fingerprint of settings of a run: what it recorded that can move a figure."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from weft.bench.model import Launch, Sample
from weft.study.comparison.cells import arm_name
from weft.study.run.backend_record import backend_of
from weft.study.run.store import StudyRun

UNSET = "unset"
"""The value of a variable or option that a run did not have."""

_STEERING = (
    *("MPICH_", "MPIR_", "OMPI_MCA_", "I_MPI_", "MV2_", "MVP_", "UCX_", "UCC_", "FI_", "NCCL_"),
    *("RCCL_", "SHARP_", "HCOLL_", "IBV_", "MLX", "RDMAV_", "CUDA_", "ROCR_", "HIP_", "OMP_NUM"),
)
"""Variables that steer a fabric; others of a run's environment belong to its job."""

_BACKEND = {
    "engine_version": "engine of the twin",
    "platform_digest": "platform digest",
    "fabric_digest": "digest of cabling and tables",
    "fidelity": "fidelity",
    "extrapolate": "extrapolation",
    "faults": "planted faults",
    "rerouting": "rerouting",
    "mpi": "MPI",
    "mpi_version": "MPI version",
    "pmi": "PMI",
    "rails": "rails",
    "tools": "tools",
}
_EVIDENCE = (
    *("adaptive_routing", "congestion_control", "carried_out_by", "mpi_library", "mpi_selected"),
    *("rail_settings", "transport"),
)
_LOG = ("network", "sharp", "transports", "gpu_direct", "algorithms", "libraries")
_NOT_SETTINGS = ("rounds", "phases")


def is_variable(key: str) -> bool:
    """Whether a run without this key had it unset; of others nothing is known then."""
    return key.startswith((*_STEERING, "option "))


def settings_of(run: StudyRun) -> dict[str, str]:
    """Each recorded setting with its value, as text. Several values of one run stand side by side:
    'off | on'. With several arms, the settings of launches are by arm."""
    facts, host = backend_of(run).facts, run.meta.get("host", {})
    found: dict[str, set[str]] = {}
    _add(found, "weft", run.meta.get("commit") or run.meta.get("weft_version"))
    for key, name in _BACKEND.items():
        _add(found, name, facts.get(key))
    _add(found, "container image", _part(facts, "container", "image"))
    _add(found, "partition", _part(facts, "slurm", "partition"))
    _add(found, "host names", host_names(run))
    for key, name in (("kernel", "kernel"), ("cpu_model", "CPU"), ("n_cores", "cores")):
        _add(found, name, host.get(key))
    devices = host.get("devices", ())
    _add(found, "network devices", [_device(one) for one in devices])
    firmware = [f"{one.get('name')} {one['firmware']}" for one in devices if "firmware" in one]
    _add(found, "firmware", firmware or None)
    for name, value in run.meta.get("environment", {}).items():
        if name.startswith(_STEERING):
            _add(found, name, value)
    arms = {arm_name(launch.trial.arm) for launch in run.launches}
    launches = {launch.key: launch for launch in run.launches}
    for launch in run.launches:
        _add_launch(found, launch, _prefix(launch, arms))
    for sample in run.samples:
        owner = launches.get((sample.trial, sample.repeat))
        if owner is not None and sample.evidence:
            _add_evidence(found, sample, _prefix(owner, arms))
    return {key: " | ".join(sorted(values)) for key, values in sorted(found.items())}


def host_names(run: StudyRun) -> str:
    """'node*': the names of a run's nodes without their numbers."""
    nodes = run.meta.get("nodes") or [n for launch in run.launches for n in launch.trial.nodes]
    stems = sorted({re.sub(r"\d+", "*", str(node).split(".")[0]) for node in nodes})
    return ", ".join(stems[:4])


def _prefix(launch: Launch, arms: Iterable[str]) -> str:
    return f"{arm_name(launch.trial.arm)}: " if len(list(arms)) > 1 else ""


def _add_launch(found: dict[str, set[str]], launch: Launch, prefix: str) -> None:
    trial = launch.trial
    for key, value in trial.options.items():
        if key not in _NOT_SETTINGS:
            _add(found, f"{prefix}option {key.replace('_', ' ')} of {trial.benchmark}", value)
    for key, value in trial.env.items():
        _add(found, f"{prefix}{key}", value)


def _add_evidence(found: dict[str, set[str]], sample: Sample, prefix: str) -> None:
    evidence = sample.evidence
    for key in _EVIDENCE:
        _add(found, f"{prefix}{key.replace('_', ' ')}", evidence.get(key))
    log = evidence.get("log")
    if isinstance(log, Mapping):
        for key in _LOG:
            _add(found, f"{prefix}{key.replace('_', ' ')} in the log", log.get(key))


def _add(found: dict[str, set[str]], key: str, value: Any) -> None:
    text = _text(value)
    if text:
        found.setdefault(key, set()).add(text)


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, Mapping):
        return ", ".join(f"{key}={_text(one)}" for key, one in sorted(value.items()))
    if isinstance(value, list | tuple):
        return ", ".join(sorted(map(_text, value))) or "none"
    text = str(value)
    is_digest = re.fullmatch(r"[0-9a-f]{40,}", text) is not None
    return text[:12] if is_digest else " ".join(text.split())[:120]


def _device(device: Mapping[str, Any]) -> str:
    """Without its state, which changes by itself, and its firmware, a setting of its own."""
    kept = (value for key, value in device.items() if key not in ("state", "firmware"))
    return " ".join(map(str, kept))


def _part(facts: Mapping[str, Any], *keys: str) -> Any:
    value: Any = facts
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value
