"""Evidence of a launch's own log: the network in use, settings that were read, SHARP."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from weft.bench.logs.log_facts import LogFacts, log_facts_of, log_facts_of_bytes
from weft.bench.logs.ranks import SOCKET, JobLog, job_log, transports
from weft.bench.logs.verification import unverified
from weft.core.errors import MissingError

SHARP = "COLLNET/SHARP"
LIBRARIES = ("NCCL", "RCCL", "UCX", "MVAPICH2", "Intel MPI")


def evidence_of_files(paths: Sequence[Path]) -> dict[str, Any]:
    """The evidence in files of a launch; empty without lines of a library."""
    with suppress(MissingError, OSError):
        return log_evidence(log_facts_of([str(path) for path in paths]))
    return {}


def evidence_of_bytes(name: str, content: bytes) -> dict[str, Any]:
    """The same of a file's content."""
    with suppress(MissingError, OSError):
        return log_evidence(log_facts_of_bytes(name, content))
    return {}


def log_evidence(log_facts: LogFacts) -> dict[str, Any]:
    """The evidence of a log, in short; facts that it lacks are left out.

    `libraries`, `network`, `transports` (UCX's), `gpu_direct`, `sharp`, `algorithms`, `settings`
    (name to the value that ranks read, a list where they differ), `unknown` (variables that UCX
    does not know), `unverified` (libraries whose lines were not compared with their sources).
    """
    log = job_log(log_facts)
    found: dict[str, Any] = {
        "libraries": sorted(
            f"{fact.words[0]} {fact.words[1]}"
            for fact in log_facts.of("version")
            if fact.words[0] in LIBRARIES
        ),
        "network": _one_or_all(sorted(log.networks)),
        "transports": sorted({name for fact in log_facts.of("lanes") for name in transports(fact)}),
        "gpu_direct": _gpu_direct(log),
        "sharp": _sharp(log),
        "algorithms": sorted({"/".join(fact.words[1:]) for fact in log_facts.of("algorithm")}),
        "settings": {name: _one_or_all(sorted(log.echoed[name])) for name in sorted(log.echoed)},
        "unknown": sorted({fact.words[0] for fact in log_facts.of("unused")}),
        "unverified": sorted(unverified(log_facts)),
    }
    return {key: value for key, value in found.items() if value}


def _one_or_all(values: list[str]) -> str | list[str] | None:
    return values[0] if len(values) == 1 else values or None


def _gpu_direct(log: JobLog) -> str | None:
    """Whether channels over a fast network read and write GPUs directly: all, some or none."""
    direct = [bool(fact.words[2]) for fact in log.channels() if fact.words[0] != SOCKET]
    if not direct:
        return None
    return "all" if all(direct) else "some" if any(direct) else "none"


def _sharp(log: JobLog) -> str | None:
    """A group of several members, or NCCL's channels over it, is triggered; a tree alone, an error
    or what NCCL gave up is not."""
    log_facts = log.facts
    has_groups = any(fact.words[1] != "1" for fact in log_facts.of("sharp_group"))
    if SHARP in log.networks or (has_groups and not log.gives_up_collnet):
        return "triggered"
    kinds = ("sharp_tree", "sharp_group", "sharp_error", "collnet_off")
    return "not triggered" if any(log_facts.of(kind) for kind in kinds) else None
