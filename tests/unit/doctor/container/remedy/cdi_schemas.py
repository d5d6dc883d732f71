"""Schemas of a specification of the Container Device Interface: the published one, and our own."""

import json
from pathlib import Path
from typing import Any

import jsonschema
from referencing import Registry
from referencing.jsonschema import DRAFT7
from tests.needs import absent

PUBLISHED = "**/container-device-interface/schema/schema.json"
"""Where Debian's package has it, below its folder of sources in Go."""
SOURCES = Path("/usr/share/gocode/src")
PACKAGE = "golang-github-container-orchestrated-devices-container-device-interface-dev"


def published_validator(top: Path = SOURCES) -> jsonschema.Draft7Validator:
    """Of schema.json and defs.json as the project publishes them."""
    path = next(iter(sorted(top.glob(PUBLISHED))), None)
    if path is None:
        absent(f"needs the published schema of CDI (Debian: {PACKAGE})")
    definitions = json.loads((path.parent / "defs.json").read_text())
    resource = DRAFT7.create_resource(definitions)
    schema = json.loads(path.read_text())
    return jsonschema.Draft7Validator(
        schema, registry=Registry().with_resource("defs.json", resource)
    )


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
"""What the published schema leaves open, from SPEC.md of cncf-tags/container-device-interface: the
versions, the names of kinds and devices, text as variables, and no field that a runtime does not
know. Fields of later versions that weft does not write are not in it."""
