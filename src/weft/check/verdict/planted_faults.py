"""Faults planted in a twin, and whether the verdict, which does not know them, names them."""

from collections.abc import Iterable, Mapping

from weft.bench.twin.fault import Fault
from weft.check.verdict.verdict import Verdict
from weft.check.wording.headline import fault_of


def planted_in(faults: Iterable[Fault], verdict: Verdict) -> tuple[Mapping[str, str], ...]:
    """Each fault planted in a twin, with whether the verdict names it."""
    return tuple(
        {"fault": fault.describe(), "named": _is_named(fault.place, verdict)} for fault in faults
    )


def _is_named(place: str, verdict: Verdict) -> str:
    """'yes', 'tie', 'no', or 'no pair crosses it'."""
    for fault in filter(None, map(fault_of, verdict.findings)):
        if any(place in component.ends for component in fault.components):
            return "tie" if fault.tie else "yes"
    out_of_reach = any(place in cable for cable in verdict.coverage.cables_never_crossed)
    return "no pair crosses it" if out_of_reach else "no"
