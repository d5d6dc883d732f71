"""Emissions of `weft doctor container --emit` as files, read back by the options of the verb."""

from pathlib import Path
from typing import Any

from weft.cli.doctor.container_case import cases_of
from weft.doctor.container.remedy.emission_forms import FORMS
from weft.doctor.container.remedy.search import ContainerRemedy, find_remedy

FIELDS = {
    "env": {"type": "array", "items": {"type": "string"}},
    "deviceNodes": {
        "type": "array",
        "items": {
            "type": "object",
            "required": ["path"],
            "additionalProperties": False,
            "properties": {
                "path": {"type": "string"},
                "hostPath": {"type": "string"},
                "permissions": {"type": "string"},
                "type": {"type": "string"},
                "major": {"type": "integer"},
                "minor": {"type": "integer"},
            },
        },
    },
    "mounts": {
        "type": "array",
        "items": {
            "type": "object",
            "required": ["hostPath", "containerPath"],
            "additionalProperties": False,
            "properties": {
                "hostPath": {"type": "string"},
                "containerPath": {"type": "string"},
                "options": {"type": "array", "items": {"type": "string"}},
                "type": {"type": "string"},
            },
        },
    },
    "hooks": {
        "type": "array",
        "items": {
            "type": "object",
            "required": ["hookName", "path"],
            "additionalProperties": False,
            "properties": {
                "hookName": {"enum": ["createRuntime", "createContainer", "startContainer"]},
                "path": {"type": "string"},
                "args": {"type": "array", "items": {"type": "string"}},
                "env": {"type": "array", "items": {"type": "string"}},
                "timeout": {"type": "integer"},
            },
        },
    },
}
CDI_SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["cdiVersion", "kind", "devices"],
    "additionalProperties": False,
    "properties": {
        "cdiVersion": {"enum": ["0.3.0", "0.4.0", "0.5.0", "0.6.0", "0.7.0", "0.8.0"]},
        # A vendor and a class.
        "kind": {"type": "string", "pattern": r"^[A-Za-z][\w.-]*[A-Za-z0-9]/[A-Za-z][\w-]*$"},
        "devices": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "required": ["name", "containerEdits"],
                "additionalProperties": False,
                "properties": {
                    "name": {"type": "string", "pattern": r"^[A-Za-z0-9][\w.:-]*$"},
                    "containerEdits": {
                        "type": "object",
                        "minProperties": 1,
                        "additionalProperties": False,
                        "properties": FIELDS,
                    },
                },
            },
        },
    },
}
"""Our own schema, not the published one: it has the fields of SPEC.md and schema/ of
cncf-tags/container-device-interface, and refuses others, as a runtime refuses what it does not
know. Fields of later versions that weft does not write are not in it."""


def remedy_of(image: Path, host: Path | None, form: str, **options: Any) -> ContainerRemedy:
    """The remedy of the one launch."""
    options = {"recipe": None, "edf": None, "script": None, **options}
    for name in ("cdi", "hook"):
        options[f"{name}s"] = [options.pop(name)] if name in options else ()
    mounts, variables = options.pop("mounts", ()), options.pop("env", ())
    with cases_of(image, host=host, mounts=mounts, variables=variables, **options) as cases:
        (case,) = cases
        return find_remedy(case, FORMS[form])


def written(remedy: ContainerRemedy, folder: Path) -> dict[str, Any]:
    """The options of a command that takes the text as a file."""
    option = remedy.emission.form.option.removeprefix("--")
    path = folder / f"emitted.{'toml' if option == 'edf' else 'txt'}"
    path.write_text(remedy.emission.text)
    if option != "hook":
        return {option: path}
    return {"hook": path, "env": [f"{one.name}={one.value}" for one in remedy.added.variables]}
