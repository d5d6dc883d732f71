"""An accusation in one line of a table: kind, name, figure, count of readings."""

from collections.abc import Sequence
from dataclasses import dataclass

from weft.check.facts import AccusationFacts, SuspectComponent
from weft.check.readings.components import Component, Part, Thing
from weft.check.readings.readings import Metric
from weft.check.suspects.accusation import Count, Standing
from weft.check.wording.figures import longer, own_node, who
from weft.core.finding import FAULTS, Finding, Severity
from weft.core.units import format_significant

ACCUSED = (
    Standing.CONFIRMED,
    Standing.UNTESTED,
    Standing.OUT_OF_USE,
    Standing.EXCHANGED,
    Standing.ANOTHER_ENTRY,
)
"""Standings of faulty components; the others are no fault of the component."""

_KIND_WORDS = {"hca": "HCA"}
_GBPS_OF_MB_S = 8e-3
_ONE_OF = "one of "


@dataclass(frozen=True, slots=True)
class Headline:
    """'1 cable', 'leaf-17[33] <-> spine-04[12]', '48 % of others (96 of 198 Gb/s)',
    '41 of 41 readings over it slow, 0 of 5,599 others'."""

    what: str
    name: str
    figure: str
    count: str

    @property
    def columns(self) -> tuple[str, str, str, str]:
        """All four, in the order they are printed."""
        return (self.what, self.name, self.figure, self.count)


def fault_of(finding: Finding) -> AccusationFacts | None:
    """The accusation of a finding that names a certain or possible fault; None of any other."""
    facts = finding.facts
    if finding.severity not in FAULTS or not isinstance(facts, AccusationFacts):
        return None
    return facts if facts.standing in ACCUSED else None


def components_of(finding: Finding) -> tuple[Component, ...]:
    """The components that a finding names, none where it names none."""
    return finding.facts.components if isinstance(finding.facts, AccusationFacts) else ()


def suspects_of(finding: Finding) -> tuple[SuspectComponent, ...]:
    """The components that a finding names, each with its node."""
    return finding.facts.suspects if isinstance(finding.facts, AccusationFacts) else ()


def things_of(finding: Finding) -> frozenset[Thing]:
    """The physical things that a finding names, whatever part of them it names."""
    return frozenset(component.thing for component in components_of(finding))


def headline_of(finding: Finding) -> Headline | None:
    """The line of an accusation; None for a finding that has only a sentence."""
    fault = fault_of(finding)
    if fault is None:
        return None
    worst, sure = fault.worst, finding.severity is Severity.BAD
    if fault.standing is Standing.OUT_OF_USE:
        verb = "carries" if sure else "may carry"
        figure, over = f"{verb} nothing: messages go around it", "meant to cross it"
    elif fault.standing is Standing.EXCHANGED:
        verb = "is" if sure else "may be"
        figure = f"{verb} exchanged with another: messages go around it"
        over = "meant to cross it"
    elif fault.standing is Standing.ANOTHER_ENTRY:
        verb = "leads" if sure else "may lead"
        figure, over = f"a table entry {verb} elsewhere: messages meet others", "through it"
    else:
        figure, over = figure_of(worst), "over it"
    count = (
        f"{worst.n_slow:,} of {worst.n:,} readings {over} slow,"
        f" {worst.n_others_slow:,} of {worst.n_others:,} others"
    )
    return Headline(_what(fault.components), name_of(fault.components), figure, count)


def figure_of(count: Count) -> str:
    """'48 % of others (96.1 of 198 Gb/s)', 'latency +35 % (2.71 where others take 2.01 us)'."""
    measured, expected = count.measured, count.norm.expected
    if count.metric is Metric.LATENCY:
        figures = [format_significant(value, 3) for value in (measured, expected)]
        more = longer(measured / expected)
        return f"latency {more} ({figures[0]} where others take {figures[1]} us)"
    share = 100 * measured / expected
    if count.metric is Metric.BUSBW:
        rates = [format_significant(rate, 3) for rate in (measured, expected)]
        return f"{share:.0f} % of others ({rates[0]} of {rates[1]} GB/s of bus bandwidth)"
    rates = [format_significant(rate * _GBPS_OF_MB_S, 3) for rate in (measured, expected)]
    both = " in both directions" if count.metric is Metric.BIDIRECTIONAL else ""
    return f"{share:.0f} % of others ({rates[0]} of {rates[1]} Gb/s{both})"


def name_of(components: Sequence[Component]) -> str:
    """Both ends of a cable, the name of anything else, the components of a tie."""
    if len(components) == 1:
        return _short(components[0])
    owner = own_node(components)
    if owner is not None:
        cable = next(c for c in components if c.thing[0] == "cable")
        its_hca = "" if owner.part is Part.HCA else ", its HCA"
        return f"{_short(owner)}{its_hca} or its cable {_short(cable)}"
    return who(components).removeprefix(_ONE_OF).removeprefix(f"{len(components)} ")


def _what(components: Sequence[Component]) -> str:
    owner = own_node(components)
    if len(components) > 1 and owner is None:
        return f"1 of {len(components)}"
    kind = (owner or components[0]).thing[0]
    return f"1 {_KIND_WORDS.get(kind, kind)}"


def _short(component: Component) -> str:
    ends = component.ends
    match component.part:
        case Part.CABLE | Part.SWITCH_PAIR:
            text = f"{ends[0]} <-> {ends[1]}"
        case Part.DIRECTION:
            text = f"{ends[0]} -> {ends[1]}"
        case Part.NODE_SENDING:
            text = f"{ends[0]} (sending)"
        case Part.NODE_RECEIVING:
            text = f"{ends[0]} (receiving)"
        case _:
            text = ends[0]
    return text
