"""Remedies for the findings of a check, read from remedies.toml in this folder."""

import functools
from typing import Literal

from pydantic import Field

from weft.catalog.document import Document, Text
from weft.catalog.shipped import shipped_document
from weft.check.suspects.accusation import Standing
from weft.check.verdict.lost_hosts import LostHostFacts
from weft.check.wording.figures import own_node
from weft.check.wording.headline import fault_of
from weft.core.finding import Finding, Severity


class Remedy(Document):
    """`do`: an order to a person. `fix`: when to check again, in few words."""

    do: Text
    fix: Text


class _RemediesFile(Document):
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
    lost: Remedy


@functools.cache
def _remedies() -> _RemediesFile:
    return shipped_document(_RemediesFile, "remedies.toml", "table of remedies")


def remedy_of(finding: Finding) -> Remedy | None:
    """The remedy of an accusation or of a lost host; None of any other finding."""
    fault = fault_of(finding)
    if fault is None:
        return _remedy_of_lost(finding)
    remedies = _remedies()
    if finding.severity is not Severity.BAD:
        return remedies.unsure
    if fault.standing is Standing.OUT_OF_USE:
        return remedies.out_of_use
    components = fault.components
    owner = own_node(components)
    if owner is None and len(components) > 1:
        return remedies.tie
    component = owner or components[0]
    kind = component.thing[0]
    if kind == "cable" and fault.suspects[0].node is not None:
        return remedies.host_cable
    found: Remedy = getattr(remedies, kind)
    return found


def _remedy_of_lost(finding: Finding) -> Remedy | None:
    """The remedy that fits what ssh reported; the general one where it reported nothing known."""
    if not isinstance(finding.facts, LostHostFacts):
        return None
    general = _remedies().lost
    return Remedy(do=f"{finding.facts.node}: {finding.facts.remedy or general.do}", fix=general.fix)
