"""Adapters of a saved output of ibstat, for a tree without /sys/class/infiniband.

SOURCE: infiniband-diags 44.0, src/ibstat.c.
"""

import re

from weft.doctor.machine.detection.commands import FOLDER
from weft.doctor.machine.detection.model import RailFacts
from weft.doctor.machine.detection.rails import NamedLink, class_of_rate, infiniband_link
from weft.doctor.machine.sysroot import Sysroot, leading_number

_CA = re.compile(r"^CA '([\w.-]{1,64})'$", re.MULTILINE)
_FIELD = re.compile(r"^\s*(State|Rate|Link layer):[ \t]*(\S.*)$", re.MULTILINE)


_CODED = {10: "SDR", 20: "DDR", 40: "QDR", 56: "FDR"}
"""Rates that hold the line code, as ibstat prints them."""


def rails_of_ibstat(root: Sysroot) -> list[RailFacts]:
    """The first port of each adapter; none where ibstat was not saved."""
    path = f"{FOLDER}/ibstat"
    parts = _CA.split(root.text(path)) if root.exists(path) else []
    rails = []
    for name, text in zip(parts[1::2], parts[2::2], strict=True):
        fields = dict(reversed(_FIELD.findall(text)))
        family = "roce" if fields.get("Link layer") == "Ethernet" else "infiniband"
        family = "omni-path" if name.startswith("hfi") else family
        link = _link(family, leading_number(fields.get("Rate", "")))
        is_active = fields.get("State") == "Active" and link.gbps > 0
        rails.append(
            RailFacts(
                name=name,
                family=family,
                link=link.name,
                title=link.title,
                gbps=link.gbps,
                source=f"ibstat: Rate of {name}: {fields.get('Rate', '')}",
                state=fields.get("State", "unknown").upper(),
                is_active=is_active,
            )
        )
    return rails


def _link(family: str, gbps: float) -> NamedLink:
    if family == "infiniband" and gbps in _CODED:
        return infiniband_link(f"(4X {_CODED[int(gbps)]})", gbps)
    return class_of_rate(family, gbps)
