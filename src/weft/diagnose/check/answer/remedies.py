"""What to do about what a check names, read from remedies.toml beside this file."""

import functools
import tomllib
from importlib import resources
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from weft.core.finding import Finding, Severity
from weft.diagnose.check.answer.headline import components_of, is_accused
from weft.diagnose.check.answer.words import own_node
from weft.diagnose.check.suspects.accusation import Standing


class Remedy(BaseModel):
    """`do`: what a person does, as an order. `fix`: when to check again, in few words."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    do: str
    fix: str


class _RemediesFile(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")
    schema_: Literal["weft.check_remedies/1"] = Field(alias="schema")
    cable: Remedy
    host_cable: Remedy
    hca: Remedy
    node: Remedy
    rank: Remedy
    rail: Remedy
    switch: Remedy
    tie: Remedy
    out_of_use: Remedy
    unsure: Remedy


@functools.cache
def _remedies() -> _RemediesFile:
    text = (
        resources.files("weft.diagnose.check.answer").joinpath("remedies.toml").read_text("utf-8")
    )
    return _RemediesFile.model_validate(tomllib.loads(text))


def remedy_of(finding: Finding) -> Remedy | None:
    """What to do about an accusation; None for what is none."""
    if not is_accused(finding):
        return None
    remedies = _remedies()
    if finding.severity is not Severity.BAD:
        return remedies.unsure
    if finding.facts["standing"] == Standing.OUT_OF_USE:
        return remedies.out_of_use
    components = components_of(finding)
    owner = own_node(components)
    if owner is None and len(components) > 1:
        return remedies.tie
    component = owner or components[0]
    kind = component.thing[0]
    if kind == "cable" and finding.facts["suspects"][0]["node"] is not None:
        return remedies.host_cable
    found: Remedy = getattr(remedies, kind)
    return found
