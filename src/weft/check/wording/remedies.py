"""Remedies for the findings of a check, read from remedies.toml in this folder."""

import functools
from typing import Literal

from pydantic import Field

from weft.catalog.document import Document, Text
from weft.catalog.toml_file import shipped_document
from weft.check.facts import AccusationFacts, NodeFaultFacts
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
    """The remedy of an accusation, a lost host or a fault of a node; None of any other finding."""
    fault, facts = fault_of(finding), finding.facts
    if isinstance(facts, LostHostFacts):
        # What ssh reported decides; the general remedy stands for an unknown cause.
        general = _remedies()["lost"]
        return Remedy(do=f"{facts.node}: {facts.remedy or general.do}", fix=general.fix)
    if isinstance(facts, NodeFaultFacts):
        remedy = _remedies()[facts.fault]
        return Remedy(do=f"{facts.node}: {remedy.do}", fix=remedy.fix)
    if fault is None:
        return None
    return _remedies()[_remedy_name(fault, sure=finding.severity is Severity.BAD)]


_OF_STANDING = {
    Standing.OUT_OF_USE: "out_of_use",
    Standing.EXCHANGED: "exchanged",
    Standing.ANOTHER_ENTRY: "another_entry",
}


def _remedy_name(fault: AccusationFacts, *, sure: bool) -> str:
    if not sure:
        return "unsure"
    if fault.standing in _OF_STANDING:
        return _OF_STANDING[fault.standing]
    owner = own_node(fault.components)
    if owner is None and fault.tie:
        return "tie"
    kind = (owner or fault.components[0]).thing[0]
    return "host_cable" if kind == "cable" and fault.suspects[0].node is not None else kind
