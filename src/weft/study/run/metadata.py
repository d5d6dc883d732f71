"""The metadata of a run: study, versions, seed, backend, host, environment."""

import hashlib
import os
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from weft import __version__
from weft.core.clock import Clock, system_clock
from weft.core.errors import InputError
from weft.core.host import this_host
from weft.core.process import CommandError, run_command
from weft.launch.redact import KEPT_WHOLE, redact_environment
from weft.launch.secret_text import MASK, mask_text, mask_words

AGAINST = "against"
"""The key of the earlier check that a check is compared with."""

VERDICT = "verdict"
"""The key of the verdict that a check gave: one that was ended before has none."""

AGAIN = "again"
"""The key of the options that repeat a check, each a list of its words."""

GIT_LIMIT_S = 5.0


class RunSubject(Protocol):
    """Whatever measures: a backend, or the command of a bisect."""

    name: str

    def facts(self) -> Mapping[str, Any]:
        """Its record in a run."""
        ...


def run_meta(
    *,
    study_text: str,
    seed: int,
    backend: RunSubject,
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
        "argv": mask_words(argv),
        "nodes": list(nodes),
        "remarks": [mask_text(remark)[0] for remark in remarks],
        "study_sha256": hashlib.sha256(study_text.encode()).hexdigest(),
        "study": mask_text(study_text)[0],
        "backend": {"name": backend.name, "facts": dict(backend.facts())},
        "host": this_host().to_record(),
        "environment": recorded_environment(os.environ if environ is None else environ),
    }


def recorded_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables that steer a fabric; a secret among them is masked, all others stay out."""
    shown = redact_environment(environ)
    return {
        name: value for name, value in shown.items() if value != MASK or name.startswith(KEPT_WHOLE)
    }


@cache
def commit_of(directory: Path) -> str | None:
    """The commit of the checkout weft runs from, with '+changes', or None when installed.

    Asked once a process: the code that runs is the one that was imported.
    """
    described = _git(directory, "describe", "--always", "--abbrev=12", "--dirty=+changes")
    tracked = _git(directory, "ls-files", "--error-unmatch", Path(__file__).name)
    return described if tracked else None


def _git(directory: Path, *arguments: str) -> str | None:
    try:
        ran = run_command(("git", "-C", str(directory), *arguments), timeout_s=GIT_LIMIT_S)
    except CommandError:
        return None
    return ran.out.strip() if ran.code == 0 else None


_SAME_FACTS = (
    "platform",
    "platform_digest",
    "faults",
    "fidelity",
    "extrapolate",
    "mpi",
    "mpi_version",
    "launches",
    "rails",
    "container",
)


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
            shown = "" if what == "study" else f" {was}, now {is_}"
            raise InputError(
                f"this run was started differently: {what}{shown}",
                where=where,
                expected="the study, seed, nodes and backend that the run was started with",
                hint="resume with the same ones, or start a new run with another --dir",
            )


def _plain(value: Any) -> Any:
    """Tuples and lists alike, as they come back from TOML."""
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value
