"""The hardware of a host, read below a root."""

import re

from weft.doctor.machine.adapters import adapters
from weft.doctor.machine.detection.commands import CommandOutput
from weft.doctor.machine.detection.gpus import gpus_of
from weft.doctor.machine.detection.model import HostHardware, RailFacts
from weft.doctor.machine.detection.processors import processors_of
from weft.doctor.machine.detection.rails import counted_rails, rails_of
from weft.doctor.machine.detection.saved_ibstat import rails_of_ibstat
from weft.doctor.machine.sysroot import Sysroot

HOSTNAME = "/proc/sys/kernel/hostname"
UNNAMED = "detected"
UP = ("UP", "ACTIVE")


def read_host(root: Sysroot, commands: CommandOutput) -> HostHardware:
    """The host below a root. What cannot be read is empty and listed, never an error."""
    found = rails_of(root, commands, adapters(root, tables=False))
    if not any(rail.is_active for rail in found):
        found = (*rails_of_ibstat(root), *found)
    rails, idle, others = counted_rails(found)
    gpus, notes = gpus_of(root, commands)
    return HostHardware(
        name=name_of(root.line(HOSTNAME)),
        rails=rails,
        idle=idle,
        others=others,
        processors=processors_of(root, commands),
        gpus=gpus,
        notes=(*_rail_notes(rails, others), *_speechless(found), *notes),
        unread=dict(root.unread),
    )


def name_of(host: str) -> str:
    """A host's name as the name of a platform; 'detected' where it has none."""
    short = host.partition(".")[0].lower()
    name = re.sub(r"[^a-z0-9._-]+", "-", short)[:64].strip("-._")
    return name if name and not name.startswith("generic-") else UNNAMED


def _speechless(found: tuple[RailFacts, ...]) -> list[str]:
    """Interfaces that are up and have no rate, as those of many virtual machines."""
    names = [rail.name for rail in found if rail.state in UP and not rail.gbps]
    return [f"no file tells the rate of {', '.join(names[:8])}"] if names else []


def _rail_notes(rails: tuple[RailFacts, ...], others: tuple[RailFacts, ...]) -> list[str]:
    notes = []
    if others:
        shown = ", ".join(f"{one.name} ({one.title})" for one in others[:8])
        notes.append(f"other adapters are not counted: {shown}")
    double = [rail.name for rail in rails if rail.n_active_ports > 1]
    if double:
        notes.append(f"{', '.join(double[:8])}: several ports are active, one is counted")
    return notes
