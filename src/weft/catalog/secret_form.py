"""Secrets by their form (schema weft.secret_forms/1): tokens of services, keys, command lines.

Read without pydantic: every output passes here, and some verbs need no other document.
"""

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any


@dataclass(frozen=True, slots=True)
class SecretForm:
    """A form that a service publishes. One of the `marks` stands in whatever the pattern finds;
    its group `secret` is the secret, or else all that it finds."""

    service: str
    marks: tuple[str, ...]
    pattern: str
    source: str


@dataclass(frozen=True, slots=True)
class PasswordProgram:
    """Programs with options whose value is a password."""

    names: tuple[str, ...]
    options: tuple[str, ...]


@cache
def secret_forms() -> tuple[SecretForm, ...]:
    """Every form, in the order in which they are looked for."""
    return tuple(SecretForm(**{**form, "marks": tuple(form["marks"])}) for form in _file()["form"])


@cache
def password_programs() -> tuple[PasswordProgram, ...]:
    """Every set of programs."""
    return tuple(
        PasswordProgram(tuple(one["names"]), tuple(one["options"])) for one in _file()["program"]
    )


@cache
def _file() -> dict[str, Any]:
    return tomllib.loads(resources.files("weft.catalog").joinpath("secret_forms.toml").read_text())
