"""All that is found in a topology file, as complaints with their rules."""

from collections.abc import Iterable

from weft.catalog.setting_rules import topology_rules
from weft.doctor.case import Found
from weft.doctor.lint import Complaint
from weft.doctor.topo.check import check
from weft.doctor.topo.read import TopologyFile


def complaints_of(file: TopologyFile, *more: Iterable[Found]) -> list[Complaint]:
    """What is wrong with a file by itself, and `more` found beside it; in the order of the file."""
    rules = topology_rules()
    found = [*file.found, *check(file), *(one for part in more for one in part)]
    order = {"bad": 0, "warning": 1, "note": 2}
    complaints = [Complaint(rules[one.rule], one) for one in found]
    return sorted(complaints, key=lambda one: (one.found.at.start, order[one.rule.severity]))
