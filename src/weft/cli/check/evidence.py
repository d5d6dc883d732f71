"""The external evidence of a check: its platform, and the files of its fabric."""

import json
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from weft.check.external_evidence import fabric_marks as marks
from weft.check.external_evidence import platform_choice as machine
from weft.check.external_evidence.fabric_marks import NO_MARKS, Marks, marked
from weft.check.external_evidence.platform_choice import ExpectedPlatform
from weft.cli.backend import BackendChoice
from weft.cli.check.plan import Setup
from weft.cli.fabric.files import open_subnet, refuse_named_pipes, say_problems
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
        if self.marks.marks or self.marks.counted:
            marks.keep(self.marks, run_dir)


def with_evidence(
    platform: str | None, counters: tuple[str, ...], choice: BackendChoice, setup: Setup
) -> PlannedCheck:
    """Read the platform and the files that the options name. Raises InputError."""
    refuse_named_pipes(counters, "--counters")
    named = machine.named(platform) if platform else None
    is_live = setup.backend.name == "live"
    detected = machine.detected(setup.nodes) if is_live and named is None else None
    if counters and setup.fabric is None:
        raise InputError(
            "--counters needs --fabric",
            expected="the files that say which cable is in which port (ibnetdiscover, iblinkinfo)",
        )
    if setup.fabric is None or not (choice.fabric or counters):
        return PlannedCheck(setup, NO_MARKS, named, detected)
    cabled = setup.fabric.document
    marks, meant = marked(_subnet(counters, choice.fabric, cabled), cabled)
    if meant["links"] != cabled["links"]:
        setup = replace(setup, fabric=Fabric.from_document(dict(meant)))
    return PlannedCheck(setup, marks, named, detected)


def _subnet(counters: tuple[str, ...], fabric: tuple[str, ...], document: Any) -> Subnet:
    """The subnet of the fabric's files, or of the twin, with the counters of others."""
    from weft.cli.fabric.audit import WITHOUT_NODES

    if not fabric:
        with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
            json.dump(dict(document), file)
            file.flush()
            subnet = open_subnet((file.name, *counters))
    else:
        subnet = open_subnet(fabric)
        if counters:
            # Problems of the fabric files were printed when they were read for the twin.
            sources = subnet.description["sources"]
            names = [it["name"] for it in sources if it["format"] not in WITHOUT_NODES]
            subnet = open_subnet((*names, *counters))
    if counters:
        _refuse_unknown(subnet, counters)
        say_problems(subnet)
    return subnet


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
