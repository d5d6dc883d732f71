"""A finding as plain JSON values."""

from dataclasses import dataclass

from weft.core.finding import Finding, FindingFacts, FindingKind, Severity


@dataclass(frozen=True, slots=True)
class Place(FindingFacts):
    node: str
    ports: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class LostCable(FindingFacts):
    ends: tuple[Place, Place]


def _record_of(facts: object) -> object:
    finding = Finding(FindingKind.FAILURE, Severity.BAD, "It failed.", facts=facts)
    return finding.to_record()["facts"]


def test_a_field_of_the_facts_is_a_key_of_the_record():
    cable = LostCable((Place("leaf-1", (1, 2)), Place("spine-1", ())))
    ends = ({"node": "leaf-1", "ports": (1, 2)}, {"node": "spine-1", "ports": ()})
    assert _record_of(cable) == {"ends": ends}


def test_a_finding_without_facts_has_an_empty_record():
    assert _record_of(FindingFacts()) == {}
    assert Finding(FindingKind.HEALTHY, Severity.GOOD, "Good.").to_record()["facts"] == {}
