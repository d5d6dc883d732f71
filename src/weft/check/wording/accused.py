"""The finding of an accusation: its kind, its subject, its facts."""

from collections.abc import Iterable, Mapping, Sequence

from weft.check.facts import AccusationFacts
from weft.check.readings.components import Component, Part
from weft.check.suspects.accusation import Accusation
from weft.check.wording.figures import capital, own_node, who
from weft.core.finding import Finding, FindingKind, Severity

_KIND_OF_PART = {
    Part.NODE: FindingKind.SUSPECT_NODE,
    Part.NODE_SENDING: FindingKind.SUSPECT_NODE,
    Part.NODE_RECEIVING: FindingKind.SUSPECT_NODE,
    Part.HCA: FindingKind.SUSPECT_NODE,
    Part.RANK: FindingKind.SUSPECT_NODE,
    Part.RAIL: FindingKind.MIS_SETTING,
    Part.CABLE: FindingKind.SUSPECT_LINK,
    Part.DIRECTION: FindingKind.SUSPECT_LINK,
    Part.SWITCH: FindingKind.SUSPECT_SWITCH,
    Part.SWITCH_PAIR: FindingKind.SUSPECT_LINK,
}


def finding_of(
    accusation: Accusation,
    owners: Mapping[str, str],
    text: str,
    evidence: Iterable[str],
    *,
    sure: bool = False,
) -> Finding:
    """The finding of a fault; `text`: the sentence after its subject."""
    return Finding(
        kind_of(accusation.components),
        Severity.BAD if sure else Severity.WARNING,
        f"{capital(who(accusation.components))} {text}",
        tuple(evidence),
        facts=AccusationFacts.of(accusation, owners),
    )


def alone(accusation: Accusation) -> str:
    """What its readings alone say, as a clause."""
    if accusation.evidence_alone is None:
        return "not measured alone"
    return "normal alone" if accusation.evidence_alone <= 0 else "slow alone too"


def kind_of(components: Sequence[Component]) -> FindingKind:
    """The kind of a finding that names these components."""
    if own_node(components) is not None:
        return FindingKind.SUSPECT_NODE
    return _KIND_OF_PART[components[0].part] if len(components) == 1 else FindingKind.TIE
