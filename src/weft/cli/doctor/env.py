"""`weft doctor env [FILE...]`: a linter of the settings that a job is launched with."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from weft.cli.options import ANY_PATH
from weft.cli.output import emit, format_option_of, printable, talk
from weft.core.errors import ExitCode, InputError
from weft.core.finding import verdict_of
from weft.core.host import names_of_class
from weft.core.text_file import read_text_file
from weft.core.words import counted
from weft.doctor.job import Job, JobKind

if TYPE_CHECKING:
    from weft.catalog.libraries.launch_recipe import LaunchRecipe
    from weft.doctor.case import DoctorCase
    from weft.doctor.lint import Complaint

SYSTEM_CONF = Path("/etc/nccl.conf")
KINDS = ("script", "nccl.conf", "edf", "kubernetes", "modulefile")


@click.command("env")
@click.argument("files", metavar="[FILE]...", nargs=-1)
@click.option("--platform", metavar="P", help="The machine: a recipe of the catalogue, or a .toml.")
@click.option(
    "--nccl", metavar="VERSION", help="The version of NCCL that will run; else the newest."
)
@click.option(
    "--libnccl",
    type=ANY_PATH,
    metavar="FILE",
    help="A libnccl.so: its own version and variables are used.",
)
@click.option(
    "--topology",
    type=ANY_PATH,
    metavar="FILE",
    help="A topology file, for CPU masks: each must be near its GPU. Default: the platform's.",
)
@click.option("--nodes", type=click.IntRange(1), help="Nodes of the job, if the file does not say.")
@click.option(
    "--kind", type=click.Choice(KINDS), help="What the files are, if their names do not show it."
)
@click.option(
    "--check-files", is_flag=True, help="Check that files named in settings are on this machine."
)
@click.option("--fix", "prints_fix", is_flag=True, help="Print the corrected file instead.")
@click.option("--notes", is_flag=True, help="Show notes, too.")
@click.option("--explain", "name", metavar="NAME", help="Explain one variable instead.")
@format_option_of(("text", "json", "csv", "sarif"))
def command(
    files: tuple[str, ...],
    platform: str | None,
    nccl: str | None,
    libnccl: Path | None,
    *,
    topology: Path | None,
    nodes: int | None,
    kind: str | None,
    check_files: bool,
    prints_fix: bool,
    notes: bool,
    name: str | None,
    format_: str,
) -> int:
    """Check the variables that FILES set; without FILES, those of this environment.

    A file is a command line, a job script, an nccl.conf, an EDF (.toml), Kubernetes manifests
    (.yaml) or a modulefile in Tcl; '-' is standard input. Nothing in it is run.

    Exit 1 if a setting is wrong.
    """
    from weft.doctor.lint import lint

    if name is not None:
        from weft.cli.doctor.env_variable import explain

        if format_ == "sarif":
            raise InputError("SARIF is for findings", expected="--format text, json or csv")
        explain(name, format_)
        return int(ExitCode.GOOD)
    jobs = _jobs(files, kind)
    asked = _Asked(platform, nccl, libnccl, nodes, topology, check_files=check_files)
    if prints_fix:
        return _print_fix(jobs, asked)
    reports = [(job, lint(asked.case(job))) for job in jobs]
    worst = verdict_of([one for _, complaints in reports for one in complaints])
    if format_ == "sarif":
        from weft.cli.doctor.complaints import print_sarif

        print_sarif([(job.name, complaints) for job, complaints in reports])
    else:
        emit(
            format_,
            text=lambda: _text(reports, asked, notes=notes),
            record=_record(reports, asked),
            rows=[row for job, complaints in reports for row in _rows(job, complaints)],
        )
    return int(ExitCode.VERDICT_BAD if worst.value == "bad" else ExitCode.GOOD)


class _Asked:
    """What the command line says about the machine and its libraries."""

    def __init__(
        self,
        platform: str | None,
        nccl: str | None,
        libnccl: Path | None,
        nodes: int | None,
        topology: Path | None,
        *,
        check_files: bool,
    ) -> None:
        from weft.catalog.load import launch_recipe, variable_lists

        self.recipe: LaunchRecipe | None = launch_recipe(platform) if platform else None
        self.lists = variable_lists()
        self.names: frozenset[str] | None = None
        self.nodes = nodes
        self.check_files = check_files
        self.gpu_cpus = self._cpus_of_gpus(topology)
        self.version = self.lists["nccl"].newest_of(nccl) if nccl else ""
        self.source = f"NCCL {self.version}" if nccl else ""
        if libnccl is not None:
            from weft.doctor.libnccl import read_libnccl

            library = read_libnccl(libnccl)
            self.names = library.names
            self.version = self.version or library.version
            self.source = f"{libnccl} (NCCL {library.version})"

    def _cpus_of_gpus(self, topology: Path | None) -> tuple[int, ...]:
        """Of the topology file, or else of the platform where it knows them."""
        from weft.catalog.load import platform, platform_names
        from weft.doctor.topo.node import node_of_platform, topology_text
        from weft.doctor.topo.processors import cpus_of_gpus
        from weft.doctor.topo.xml import read_topology, topology_file

        if topology is not None:
            return cpus_of_gpus(topology_file(topology))
        name = self.recipe.platform if self.recipe is not None else ""
        if name not in platform_names():
            return ()
        try:
            text = topology_text(node_of_platform(platform(name)))
        except InputError:
            return ()
        return cpus_of_gpus(read_topology(name, text))

    def case(self, job: Job) -> "DoctorCase":
        """The case of one job."""
        from weft.doctor.case import DoctorCase

        is_live = job.kind is JobKind.LIVE
        exists = Path.exists if self.check_files else None
        return DoctorCase(
            job,
            self.lists,
            self.recipe,
            self.version,
            self.names,
            self.nodes,
            exists=(lambda path: exists(Path(path))) if exists is not None else None,
            elsewhere=_elsewhere(job),
            interfaces=names_of_class("net") if is_live else (),
            adapters=names_of_class("infiniband") if is_live else (),
            gpu_cpus=self.gpu_cpus,
        )


def _elsewhere(job: Job) -> dict[str, tuple[str, str]]:
    """The settings of this machine's nccl.conf files; of the live environment only."""
    from weft.doctor.readers.conf import read_conf
    from weft.doctor.readers.file import MOST_BYTES

    if job.kind is not JobKind.LIVE:
        return {}
    own = os.environ.get("NCCL_CONF_FILE")
    values: dict[str, tuple[str, str]] = {}
    for path in (Path(own) if own else Path.home() / ".nccl.conf", SYSTEM_CONF):
        try:
            text = read_text_file(path, expected="an nccl.conf", most_bytes=MOST_BYTES)
        except InputError:
            continue
        for setting in read_conf(str(path), text).settings:
            values.setdefault(setting.name, (setting.value or "", str(path)))
    return values


def _jobs(files: Sequence[str], kind: str | None) -> list[Job]:
    from weft.doctor.readers.environment import read_environment
    from weft.doctor.readers.file import job_of, job_of_input

    kinds: dict[str, JobKind] = {
        "script": JobKind.SCRIPT,
        "nccl.conf": JobKind.CONF,
        "edf": JobKind.EDF,
        "kubernetes": JobKind.KUBERNETES,
        "modulefile": JobKind.MODULEFILE,
    }
    if not files:
        return [read_environment(os.environ)]
    given = kinds[kind] if kind is not None else None
    return [job_of_input(given) if name == "-" else job_of(Path(name), given) for name in files]


def _print_fix(jobs: Sequence[Job], asked: _Asked) -> int:
    from weft.doctor.edits import mended
    from weft.doctor.lint import lint
    from weft.doctor.readers.file import read_job

    if len(jobs) != 1:
        raise InputError(f"{len(jobs)} files", expected="one file with --fix")
    (job,) = jobs
    if job.kind is JobKind.LIVE:
        raise InputError("an environment is no file to correct", expected="one file with --fix")
    text, number, remaining = mended(
        job.text, lambda text: lint(asked.case(read_job(job.name, text, job.kind)))
    )
    left = sum(one.rule.severity == "bad" for one in remaining)
    click.echo(printable(text) if sys.stdout.isatty() else text, nl=False)
    talk(f"{number} mended, {left} left that only you can decide: weft doctor env {job.name}")
    return int(ExitCode.VERDICT_BAD if left else ExitCode.GOOD)


def _record(reports: "Sequence[tuple[Job, list[Complaint]]]", asked: _Asked) -> dict[str, Any]:
    from weft.doctor.lint import as_finding

    return {
        "schema": "weft.doctor-env/1",
        "platform": asked.recipe.name if asked.recipe is not None else None,
        "nccl": asked.version or None,
        "verdict": verdict_of([one for _, found in reports for one in found]).value,
        "files": [
            {
                "name": job.name,
                "kind": job.kind.value,
                "n_settings": len(job.settings),
                "findings": [as_finding(one, job.name).to_record() for one in complaints],
            }
            for job, complaints in reports
        ],
    }


def _rows(job: Job, complaints: "Sequence[Complaint]") -> list[dict[str, Any]]:
    return [
        {
            "file": job.name,
            "line": one.found.at.line,
            "severity": one.severity.value,
            "rule": one.rule.id,
            "name": one.found.setting.name if one.found.setting is not None else "",
            "happens": one.happens,
            "fix": one.fix,
            "source": one.source,
        }
        for one in complaints
    ]


def _text(reports: "Sequence[tuple[Job, list[Complaint]]]", asked: _Asked, *, notes: bool) -> str:
    lines: list[str] = []
    for job, complaints in reports:
        lines += [*_report(job, complaints, notes=notes), ""]
    judged = asked.source or f"NCCL {asked.lists['nccl'].versions[-1]}, the newest known (--nccl)"
    machine = asked.recipe.title if asked.recipe is not None else "unknown (--platform)"
    return "\n".join([*lines, f"judged   for {judged}; machine {machine}"])


def _report(job: Job, complaints: "Sequence[Complaint]", *, notes: bool) -> list[str]:
    from weft.cli.doctor.complaints import complaint_lines, counts_of

    worst = verdict_of(complaints).value
    mistakes, warnings = counts_of(complaints)
    known = sum(1 for setting in job.settings if setting.name.isupper())
    head = {
        "bad": f"BAD   {job.name}: {mistakes}, {warnings}",
        "warning": f"WARN  {job.name}: {warnings}",
    }.get(worst, f"GOOD  {job.name}: no mistake in {counted(known, 'variable')}")

    def place_of(one: "Complaint") -> str:
        place = f"{job.name}:{one.found.at.line}" if job.text else job.name
        return f"{place}  {one.found.setting.name if one.found.setting is not None else ''}"

    return [head, *complaint_lines(complaints, place_of, notes=notes)]
