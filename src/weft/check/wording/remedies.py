"""Remedies for the findings of a check, read from remedies.toml in this folder."""

import functools
from typing import Literal

from pydantic import Field

from weft.catalog.document import Document, Text
from weft.catalog.shipped import shipped_document
from weft.check.facts import AccusationFacts
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
    remedies: dict[str, Remedy]


@functools.cache
def _remedies() -> dict[str, Remedy]:
    return shipped_document(_RemediesFile, "remedies.toml", "table of remedies").remedies


def remedy_of(finding: Finding) -> Remedy | None:
    """The remedy of an accusation or of a lost host; None of any other finding."""
    fault = fault_of(finding)
    if fault is None:
        return _remedy_of_lost(finding)
    return _remedies()[_remedy_name(fault, sure=finding.severity is Severity.BAD)]


def _remedy_name(fault: AccusationFacts, *, sure: bool) -> str:
    if not sure:
        return "unsure"
    if fault.standing is Standing.OUT_OF_USE:
        return "out_of_use"
    owner = own_node(fault.components)
    if owner is None and fault.tie:
        return "tie"
    kind = (owner or fault.components[0]).thing[0]
    return "host_cable" if kind == "cable" and fault.suspects[0].node is not None else kind


def _remedy_of_lost(finding: Finding) -> Remedy | None:
    """The remedy that fits what ssh reported; the general one where it reported nothing known."""
    if not isinstance(finding.facts, LostHostFacts):
        return None
    general = _remedies()["lost"]
    return Remedy(do=f"{finding.facts.node}: {finding.facts.remedy or general.do}", fix=general.fix)
