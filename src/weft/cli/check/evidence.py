"""What a check is told beside its measurements: the platform, and the files of the fabric."""

import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from weft.cli.backend import BackendChoice
from weft.cli.check.plan import Setup
from weft.cli.fabric.files import refuse_named_pipes
from weft.cli.option_group import options_as
from weft.core.errors import InputError

if TYPE_CHECKING:
    from weft.check.external_evidence.fabric_marks import Marks
    from weft.check.external_evidence.platform_choice import Machine
    from weft.check.verdict.verdict import Verdict
    from weft.study.run.store import StudyRun
    from weft.topology.subnet.subnet import Subnet


@dataclass(frozen=True, slots=True)
class EvidenceChoice:
    """What the options said."""

    platform: str | None
    counters: tuple[str, ...]


_OPTIONS = (
    click.option(
        "--platform",
        metavar="NAME",
        help="What the fabric should deliver: a platform ('weft platform list') or a .toml file. "
        "Default: the twin's, or what the hosts' names tell.",
    ),
    click.option(
        "--counters",
        multiple=True,
        metavar="FILE",
        help="Counters and link states of the fabric (perfquery, ibqueryerrors, ibdiagnet, "
        "iblinkinfo, mlxlink), beside what --fabric holds; once a file, an earlier one first.",
    ),
)


def evidence_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add these options; the command receives them as one `given: EvidenceChoice`."""
    return options_as("given", EvidenceChoice, _OPTIONS)(command)


@dataclass(frozen=True, slots=True)
class Evidence:
    """A check's setup with its fabric as it is meant to be, what the files say, and the platform
    that somebody named."""

    setup: Setup
    marks: "Marks"
    named: "Machine | None"

    def keep(self, run_dir: Path) -> None:
        """Write it into the run directory, so that the run is judged alike later."""
        from weft.check.external_evidence import fabric_marks as marks
        from weft.check.external_evidence import platform_choice as machine

        if self.named is not None:
            machine.keep(self.named, run_dir)
        if self.marks.marks or self.marks.counted:
            marks.keep(self.marks, run_dir)

    def verdict(self, run: "StudyRun") -> "Verdict":
        """What the run's samples say beside all of it. A check that goes on without the files is
        held against what they said before."""
        from weft.check.external_evidence import fabric_marks as marks
        from weft.check.external_evidence import platform_choice as machine
        from weft.check.verdict.lost_hosts import with_lost
        from weft.check.verdict.verdict import judge_check

        verdict = judge_check(
            run.samples,
            self.setup.fabric,
            adaptive=self.setup.adaptive,
            machine=self.named or machine.of_run(run.directory, run.samples),
            marks=self.marks if self.marks.marks else marks.of_run(run.directory),
        )
        return with_lost(verdict, run.lost, [one.trial for one in run.failed_for_lost])


def gather(given: EvidenceChoice, choice: BackendChoice, setup: Setup) -> Evidence:
    """Read all of it. Raises InputError."""
    from weft.check.external_evidence import platform_choice as machine
    from weft.check.external_evidence.fabric_marks import NO_MARKS

    refuse_named_pipes(given.counters, "--counters")
    named = machine.named(given.platform) if given.platform else None
    if given.counters and setup.fabric is None:
        raise InputError(
            "--counters needs --fabric",
            expected="the files that say which cable is in which port (ibnetdiscover, iblinkinfo)",
        )
    if setup.fabric is None or not (choice.fabric or given.counters):
        return Evidence(setup, NO_MARKS, named)
    meant, marks = _read(given.counters, choice.fabric, setup)
    return Evidence(meant, marks, named)


def _read(
    counters: tuple[str, ...], fabric: tuple[str, ...], setup: Setup
) -> "tuple[Setup, Marks]":
    from weft.audit.case import Case
    from weft.audit.counters.interval import interval_of
    from weft.check.external_evidence.fabric_marks import PortNames, as_meant, marks_of
    from weft.topology.fabric import Fabric

    assert setup.fabric is not None
    subnet = _subnet(counters, fabric, setup.fabric.document)
    case = Case(subnet, interval=interval_of(subnet, None, None))
    names = PortNames(subnet, setup.fabric.document)
    marks = marks_of(case, names)
    document = as_meant(setup.fabric.document, case, names, marks)
    if document["links"] == setup.fabric.document["links"]:
        return setup, marks
    return replace(setup, fabric=Fabric.from_document(document)), marks


def _subnet(counters: tuple[str, ...], fabric: tuple[str, ...], document: Any) -> "Subnet":
    """The subnet of the fabric's files, or of the twin, with the counters of others."""
    from weft.cli.fabric.audit import WITHOUT_NODES
    from weft.cli.fabric.files import open_subnet, say_problems

    if not fabric:
        with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
            json.dump(dict(document), file)
            file.flush()
            subnet = open_subnet((file.name, *counters))
    else:
        subnet = open_subnet(fabric)
        if counters:
            # What the fabric's files say that is odd was said when they were read for the twin.
            sources = subnet.description["sources"]
            names = [it["name"] for it in sources if it["format"] not in WITHOUT_NODES]
            subnet = open_subnet((*names, *counters))
    if counters:
        _refuse_unknown(subnet, counters)
        say_problems(subnet)
    return subnet


def _refuse_unknown(subnet: "Subnet", counters: tuple[str, ...]) -> None:
    """A file that no reader knows says nothing of a fabric. Raises InputError."""
    for source in subnet.description["sources"]:
        if source["name"] in counters and not source["format"]:
            raise InputError(
                "no reader knows this file",
                where=source["name"],
                expected="counters or link states, as their tool prints them",
                hint="'weft fabric --help' lists what is read",
            )
