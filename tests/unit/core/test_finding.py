"""A finding as plain JSON values."""

from dataclasses import dataclass

from weft.core.finding import Finding, FindingFacts, FindingKind, Severity, verdict_of, worst_first


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


def finding(severity: Severity, sentence: str = "") -> Finding:
    return Finding(FindingKind.ANOMALY, severity, sentence)


def test_the_worst_comes_first_and_equal_ones_keep_their_order() -> None:
    found = [
        finding(Severity.NOTE),
        finding(Severity.WARNING, "first"),
        finding(Severity.GOOD),
        finding(Severity.WARNING, "second"),
        finding(Severity.BAD),
    ]
    assert [(one.severity.value, one.sentence) for one in worst_first(found)] == [
        ("bad", ""),
        ("warning", "first"),
        ("warning", "second"),
        ("note", ""),
        ("good", ""),
    ]


def test_notes_alone_are_a_good_verdict() -> None:
    assert verdict_of([]) is Severity.GOOD
    assert verdict_of([finding(Severity.NOTE)]) is Severity.GOOD
    assert verdict_of([finding(Severity.NOTE), finding(Severity.WARNING)]) is Severity.WARNING
    assert verdict_of([finding(Severity.WARNING), finding(Severity.BAD)]) is Severity.BAD
