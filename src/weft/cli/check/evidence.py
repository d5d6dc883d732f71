"""The external evidence of a check: its platform, and the files of its fabric."""

import json
import math
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from weft.check.external_evidence import fabric_marks as marks
from weft.check.external_evidence import platform_choice as machine
from weft.check.external_evidence.counter_places import doubts_of
from weft.check.external_evidence.event_marks import (
    CheckSpan,
    EventPlaces,
    logs_among,
    marks_of_logs,
)
from weft.check.external_evidence.fabric_marks import NO_MARKS, Marks, PortNames, marked
from weft.check.external_evidence.platform_choice import ExpectedPlatform
from weft.cli.backend.choice import BackendChoice
from weft.cli.check.plan import Setup
from weft.cli.fabric.files import open_subnet, refuse_named_pipes, say_problems
from weft.core.clock import system_clock
from weft.core.errors import InputError
from weft.topology.fabric import Fabric
from weft.topology.subnet.subnet import Subnet


@dataclass(frozen=True, slots=True)
class PlannedCheck:
    """A check's setup with the rates that its cables should have, the statements of the fabric's
    files, the named platform, and without one that of this machine."""

    setup: Setup
    marks: Marks
    named: ExpectedPlatform | None
    detected: ExpectedPlatform | None = None

    def keep_evidence(self, run_dir: Path) -> None:
        """Write the external evidence into the run directory, where the verdict finds it."""
        if self.named is not None:
            machine.keep(self.named, run_dir)
        if self.detected is not None:
            machine.keep(self.detected, run_dir, machine.DETECTED_FILE)
        if self.marks != NO_MARKS:
            marks.keep(self.marks, run_dir)


@dataclass(frozen=True, slots=True)
class EvidenceFiles:
    """The files of `--fabric`, the counters of `--counters`, and its logs with their form.
    OpenSM's log is among the counters as well: their readers know it."""

    fabric: tuple[str, ...]
    counters: tuple[str, ...]
    logs: Mapping[str, str]

    @classmethod
    def of_options(cls, fabric: tuple[str, ...], counters: tuple[str, ...]) -> "EvidenceFiles":
        """The files of both options, told apart by their content. Raises InputError."""
        refuse_named_pipes(counters, "--counters")
        logs = logs_among(counters)
        left = tuple(file for file in counters if logs.get(file) in (None, "opensm"))
        return cls(fabric, left, logs)

    @property
    def name_ports(self) -> bool:
        """Whether counters or a manager's log name ports: kernels' logs name hosts."""
        return bool(self.counters) or not {"kernel"}.issuperset(self.logs.values())

    def need_fabric(self, hint: str | None = None) -> InputError | None:
        """The error of ports without the fabric's files, which name them; None without one."""
        if self.fabric or not self.name_ports:
            return None
        return InputError(
            "--counters needs --fabric",
            expected="the files that say which cable is in which port (ibnetdiscover, iblinkinfo)",
            hint=hint,
        )


def with_evidence(
    platform: str | None, counters: tuple[str, ...], choice: BackendChoice, setup: Setup
) -> PlannedCheck:
    """Read the platform and the files that the options name. Raises InputError."""
    files = EvidenceFiles.of_options(choice.fabric, counters)
    named = machine.named(platform) if platform else None
    is_live = setup.backend.name == "live"
    detected = machine.detected(setup.nodes) if is_live and named is None else None
    if setup.fabric is None and (error := files.need_fabric()):
        raise error
    # Nothing was measured yet: all events of the logs are earlier.
    span = CheckSpan(system_clock(), math.inf)
    found, fabric = statements(files, setup.fabric, setup.nodes, span)
    return PlannedCheck(replace(setup, fabric=fabric), found, named, detected)


def statements(
    files: EvidenceFiles, fabric: Fabric | None, nodes: Sequence[str], span: CheckSpan
) -> tuple[Marks, Fabric | None]:
    """The statements of the files about a check of `nodes` that measured in `span`; and the fabric
    with its cables at their intended rates. Raises InputError."""
    if fabric is None or not (files.fabric or files.name_ports):
        places = EventPlaces(nodes, None if fabric is None else fabric.document)
        return marks_of_logs(files.logs, span, places), fabric
    cabled = fabric.document
    own, subnet = _subnets(files.counters, files.fabric, cabled)
    doubts = doubts_of(subnet, own, files.counters)
    found, meant = marked(subnet, cabled, own)
    if meant["links"] != cabled["links"]:
        fabric = Fabric.from_document(dict(meant))
    places = EventPlaces(nodes, cabled, subnet, PortNames(subnet, cabled, own))
    of_logs = marks_of_logs(files.logs, span, places)
    return found.joined(of_logs).joined(Marks(doubts=doubts)), fabric


def _subnets(
    counters: tuple[str, ...], fabric: tuple[str, ...], document: Mapping[str, Any]
) -> tuple[frozenset[int], Subnet]:
    """The GUIDs of the fabric's files, or of the twin, and their subnet with the counters."""
    from weft.cli.fabric.audit import WITHOUT_NODES

    if not fabric:
        with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
            json.dump(dict(document), file)
            file.flush()
            alone = open_subnet((file.name,))
            subnet = open_subnet((file.name, *counters)) if counters else alone
    else:
        subnet = alone = open_subnet(fabric)
        if counters:
            # Problems of the fabric files were printed when they were read for the twin.
            sources = subnet.description["sources"]
            names = [it["name"] for it in sources if it["format"] not in WITHOUT_NODES]
            subnet = open_subnet((*names, *counters))
    if counters:
        _refuse_unknown(subnet, counters)
        say_problems(subnet)
    return frozenset(node.guid for node in alone.nodes), subnet


def _refuse_unknown(subnet: Subnet, counters: tuple[str, ...]) -> None:
    """Refuse a file that no reader knows. Raises InputError."""
    for source in subnet.description["sources"]:
        if source["name"] in counters and not source["format"]:
            raise InputError(
                "weft cannot read this format",
                where=source["name"],
                expected="counters or link states, as their tool prints them",
                hint="'weft fabric --help' lists the known files",
            )
